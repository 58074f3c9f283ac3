"""What always holds, under every combination of options, adjusted only as an option itself says.

And `check_conversation`, which tells of exactly what normalization would change.
"""

import json

from checks import assert_same, assert_sendable, assert_unchanged, containers, frozen
from hypothesis import given
from hypothesis import strategies as st
from oracle import oracle
from rescue_oracle import ids_of, rescued
from rows import CALL_DROPS, DROPS, INTERRUPTED
from strategies import SEEDED, SHRINKING, Case, Maker

from flowdrop_fast import check_conversation

KEPT = ("name", "reasoning_content", "timestamp", "healed")
DEFAULTS = {
    "ids": "strict",
    "pending": "interrupt",
    "interrupted": INTERRUPTED,
    "system": "keep",
    "keep": (),
    "content": "text",
    "copy": True,
}
OF_REPAIR = ("ids", "pending", "interrupted")
VERBS = ("normalize_conversation", "repair_tool_pairing", "explain_conversation")

CHOICES = {
    "ids": st.sampled_from(("strict", "rescue", "rescue")),
    "pending": st.sampled_from(("interrupt", "keep")),
    "interrupted": st.sampled_from(
        (
            INTERRUPTED,
            "never ran",
            "ok",
            "ünï",
            "\U0001f600",
            "a\udc00b",
            '{"error":"cancelled"}',
            "[]",
        )
    ),
    "system": st.sampled_from(("keep", "merge")),
    "keep": st.lists(st.sampled_from(KEPT), unique=True).map(tuple),
    "content": st.sampled_from(("text", "parts")),
    "copy": st.booleans(),
}
options = st.fixed_dictionaries(CHOICES)


class OptionMaker(Maker):
    """Conversations in which every option finds something to do."""

    def id(self):
        choice = self.random.randrange(6)
        if choice == 0:
            return self.random.choice(("c1~2", "c1~3", "c1~2~2", "c2~2", "call_1", "call_3"))
        return self.random.choice(("c1", "c2", "", None)) if choice < 4 else super().id()

    def content(self, depth=3):
        choice = self.random.randrange(12)
        if choice == 0:
            return [{"type": "text", "text": self.text()}, {"type": "image", "url": "x"}]
        if choice == 1:
            return self.random.choice(([{"type": None}], {"error": "cancelled"}, [], [{}]))
        return super().content(depth)

    def call(self):
        call = super().call()
        if type(call) is not dict or self.random.randrange(2):
            return call
        name = self.random.choice(("wind", "tide"))
        named = ({"name": name}, {"function": {"name": name}}, {"function": name})
        return {**without(call, "name"), **self.random.choice(named)}

    def history(self):
        rows = super().history()
        for place, row in enumerate(rows):
            if type(row) is dict and all(type(key) is str for key in row):
                rows[place] = self.dressed(row)
        return rows

    def dressed(self, row):
        keys = [key for key in KEPT if self.random.randrange(4) == 0]
        values = ("search", "tide", "wind", None, ["thought"], True)
        return {**row, **{key: self.random.choice(values) for key in keys}}


@st.composite
def option_histories(draw, randoms=SHRINKING, plain=False):
    random = draw(randoms)
    oddness = random.choice((0.0, 0.05, 0.05, 0.25))
    return Case(OptionMaker(random, oddness, plain).history())


anything = given(option_histories(), options)
much = given(option_histories(SEEDED), options)
in_json = given(option_histories(SEEDED, plain=True))


def without(mapping, *keys):
    return {key: value for key, value in mapping.items() if key not in keys}


def of_repair(chosen):
    return {name: chosen[name] for name in OF_REPAIR}


def as_default(messages, chosen):
    """The rows as they have to be without options, once each option's own change is undone."""
    rows = []
    for message in messages:
        assert all(type(key) is str for key in message)
        row = without(message, *chosen["keep"])
        if type(row["content"]) is list:
            assert chosen["content"] == "parts"
            assert row["content"]
            assert all(isinstance(part["type"], str) for part in map(dict.copy, row["content"]))
            row["content"] = "parts"
        rows.append(row)
    if chosen["system"] == "merge":
        assert [row["role"] for row in rows].count("system") <= 1
    if chosen["pending"] == "keep":
        with_pending_answered(rows)
    return rows


def with_pending_answered(rows):
    """Answer what is open in the last turn, if nothing but results of its own follows it."""
    last = len(rows) - 1
    while last >= 0 and rows[last]["role"] == "tool":
        last -= 1
    calls = rows[last].get("tool_calls", ()) if last >= 0 else ()
    answers = {row["tool_call_id"]: row for row in rows[last + 1 :]}
    assert list(answers) == [id for id in map(id_of, calls) if id in answers]
    assert len(answers) == len(rows) - last - 1
    rows[last + 1 :] = [
        answers.get(id) or {"role": "tool", "content": "pending", "tool_call_id": id}
        for id in map(id_of, calls)
    ]


def id_of(call):
    for key in ("tool_call_id", "id"):
        if isinstance(call.get(key), str) and str.strip(call[key]) not in ("", "0"):
            return str.__str__(call[key])
    raise AssertionError(f"no usable id in {call}")


def notes(records):
    return [(record.kind, record.index, record.id) for record in records]


def assert_equal(backend_outcome, other):
    assert_same(backend_outcome, other, set())


# ---- What always holds ------------------------------------------------------------------------


@much
def test_sendable(backend, case, chosen):
    """**Sendable**, with the keys, parts and open calls that were asked for, and no others."""
    messages = backend.normalize_conversation(case.messages, **chosen).messages
    assert_sendable(as_default(messages, chosen))


@much
def test_idempotent(backend, case, chosen):
    """**Idempotent:** normalizing an output, with the same options, gives it back."""
    once = backend.normalize_conversation(case.messages, **chosen).messages
    again = backend.explain_conversation(once, **chosen)
    assert_equal(again.messages, once)
    assert again.dropped == 0
    assert again.records == []
    if not chosen["copy"]:
        assert all(map(is_same, again.messages, once))


def is_same(one, other):
    return one is other


@much
def test_accounted(backend, case, chosen):
    """… `+ synthetic results - merged system rows`; calls that stay pending make none."""
    messages, dropped, records = backend.explain_conversation(case.messages, **chosen)
    kinds = [record.kind for record in records]
    assert dropped == sum(kind in DROPS for kind in kinds)
    dropped_calls = sum(kind in CALL_DROPS for kind in kinds)
    made, merged = kinds.count("interrupted_result"), kinds.count("merged_system")
    assert len(messages) == len(case.messages) - (dropped - dropped_calls) + made - merged


@anything
def test_one_pass_counts(backend, case, chosen):
    normalized = backend.normalize_conversation(case.messages, **chosen)
    explanation = backend.explain_conversation(case.messages, **chosen)
    assert normalized.dropped == explanation.dropped
    assert_equal(normalized.messages, explanation.messages)


@anything
def test_pure(backend, case, chosen):
    before = frozen(case.messages)
    backend.normalize_conversation(case.messages, **chosen)
    backend.repair_tool_pairing(case.messages, **of_repair(chosen))
    assert_unchanged(before, case.messages)


@anything
def test_fresh(backend, case, chosen):
    """Rows and lists are fresh, calls, parts and kept values shared; all may be by `copy=False`."""
    of_input = containers(frozen(case.messages))
    rows_of_input = {id(entry) for entry in case.messages}
    messages = backend.normalize_conversation(case.messages, **chosen).messages
    made = [messages]
    for row in messages:
        if id(row) in rows_of_input:
            assert not chosen["copy"]
            continue
        made.append(row)
        if chosen["copy"]:
            lists = [row.get("tool_calls"), row["content"]]
            made += [part for part in lists if type(part) is list]
    assert of_input.isdisjoint(map(id, made))
    assert len(set(map(id, made))) == len(made)


@much
def test_records_are_in_order(backend, case, chosen):
    """Records come in the order of the input; those of one entry, what it lost first."""
    records = backend.explain_conversation(case.messages, **chosen).records
    order = {"unusable_call": 0, "duplicate_call": 0, "emptied_turn": 1, "reidentified_call": 2}
    places = [(record.index, order.get(record.kind, 3)) for record in records]
    assert places == sorted(places)
    allowed = DROPS | {"interrupted_result", "moved_result", "moved_system"}
    if chosen["system"] == "merge":
        allowed |= {"merged_system"}
    if chosen["ids"] == "rescue":
        allowed = (allowed | {"reidentified_call", "reidentified_result"}) - {"duplicate_call"}
    assert {record.kind for record in records} <= allowed


@much
def test_same(both_backends, case, chosen):
    """**Same:** both backends, and what the one shares with the input, the other shares too."""
    shared = containers(frozen(case.messages))
    for verb in VERBS:
        asked = of_repair(chosen) if verb == "repair_tool_pairing" else chosen
        pure, native = (getattr(module, verb)(case.messages, **asked) for module in both_backends)
        assert_same(pure, native, shared)


@anything
def test_repair_pairs(backend, case, chosen):
    """What the repair leaves needs no repair: it comes back by reference."""
    asked = of_repair(chosen)
    repaired = backend.repair_tool_pairing(case.messages, **asked)
    again = backend.repair_tool_pairing(repaired.messages, **asked)
    assert again.dropped == 0
    assert list(map(id, again.messages)) == list(map(id, repaired.messages))


@much
def test_repair_drops_the_same(backend, case, chosen):
    asked = of_repair(chosen)
    repaired = backend.repair_tool_pairing(case.messages, **asked)
    assert repaired.dropped == backend.normalize_conversation(case.messages, **asked).dropped
    assert backend.normalize_conversation(repaired.messages, **asked).dropped == 0


@anything
def test_repair_and_normalization_agree(backend, case, chosen):
    """For flat rows with system rows in front, repair and normalization agree."""
    asked = of_repair(chosen)
    flat = backend.normalize_conversation(case.messages, **asked).messages
    results = [row for row in flat if row["role"] == "tool"]
    others = [row for row in flat if row["role"] != "tool"]
    broken = [row for row in others if row["role"] == "system"] + results[::2]
    broken += [row for row in others if row["role"] != "system"] * 2 + results[::-1]
    repaired = backend.repair_tool_pairing(broken, **asked)
    assert_equal(repaired, backend.normalize_conversation(broken, **asked))


# ---- Each option changes what it says, and nothing else -----------------------------------------


@anything
def test_copy_changes_no_value(backend, case, chosen):
    shared = backend.explain_conversation(case.messages, **{**chosen, "copy": False})
    assert_equal(backend.explain_conversation(case.messages, **{**chosen, "copy": True}), shared)


@anything
def test_keep_adds_keys_alone(backend, case, chosen):
    with_keys = backend.explain_conversation(case.messages, **chosen)
    plain = backend.explain_conversation(case.messages, **{**chosen, "keep": ()})
    rows = [without(row, *chosen["keep"]) for row in with_keys.messages]
    assert_equal((rows, *with_keys[1:]), tuple(plain))


@anything
def test_parts_are_the_text_they_would_be(backend, case, chosen):
    chosen = {**chosen, "system": "keep"}
    parts = backend.explain_conversation(case.messages, **{**chosen, "content": "parts"})
    plain = backend.explain_conversation(case.messages, **{**chosen, "content": "text"})
    rows = [{**row, "content": backend.coerce_content(row["content"])} for row in parts.messages]
    assert_equal((rows, *parts[1:]), tuple(plain))


@anything
def test_merge_joins_system_rows_alone(backend, case, chosen):
    merged = backend.normalize_conversation(case.messages, **{**chosen, "system": "merge"})
    apart = backend.normalize_conversation(case.messages, **{**chosen, "system": "keep"})
    assert merged.dropped == apart.dropped
    assert_equal(not_system(merged.messages), not_system(apart.messages))
    texts = [row["content"] for row in apart.messages if row["role"] == "system"]
    found = [row["content"] for row in merged.messages if row["role"] == "system"]
    assert len(found) == min(1, len(texts))
    if texts and all(type(text) is str for text in texts):
        said = [text for text in texts if text.strip()]
        assert found == ["\n\n".join(said) if said and len(texts) > 1 else texts[0]]


def not_system(messages):
    return [row for row in messages if row["role"] != "system"]


@anything
def test_pending_calls_are_answered_later(backend, case, chosen):
    """Normalizing again without the option answers what it left open, and nothing else."""
    pending = backend.normalize_conversation(case.messages, **{**chosen, "pending": "keep"})
    asked = {**chosen, "pending": "interrupt"}
    answered = backend.normalize_conversation(case.messages, **asked)
    assert pending.dropped == answered.dropped
    later = backend.normalize_conversation(pending.messages, **asked)
    assert later.dropped == 0
    assert_equal(later.messages, answered.messages)


@anything
def test_made_results_have_the_text(backend, case, chosen):
    text = "no outcome that any conversation here has"
    chosen = {**chosen, "interrupted": text}
    messages, _, records = backend.explain_conversation(case.messages, **chosen)
    made = [record.id for record in records if record.kind == "interrupted_result"]
    found = [row["tool_call_id"] for row in messages if row["content"] == text]
    assert sorted(made) == sorted(found)


@much
def test_rescue_loses_no_result(backend, case, chosen):
    """No fewer real results than the rule keeps, and no call lost that carries an id or can."""
    results = {}
    for ids in ("strict", "rescue"):
        asked = {**chosen, "ids": ids, "interrupted": "no result"}
        messages, _, records = backend.explain_conversation(case.messages, **asked)
        made = sum(record.kind == "interrupted_result" for record in records)
        results[ids] = sum(row["role"] == "tool" for row in messages) - made
    assert results["rescue"] >= results["strict"]


@in_json
def test_fresh_ids_occur_nowhere_in_the_input(backend, case):
    records = backend.explain_conversation(case.messages, ids="rescue").records
    made = [record.id for record in records if record.kind == "reidentified_call"]
    assert len(set(made)) == len(made)
    assert set(made).isdisjoint(ids_of(case.messages))


@in_json
def test_rescue_agrees_with_the_oracle(backend, case):
    """Ids, matches and records: against the option's own sentences, written a second time."""
    history, expected = rescued(case.messages)
    messages, more = oracle(history)
    explanation = backend.explain_conversation(case.messages, ids="rescue")
    assert as_json(explanation.messages) == as_json(messages)
    found = notes(explanation.records)
    assert [note for note in found if note[0].startswith("reidentified")] == expected
    assert [note for note in found if not note[0].startswith("reidentified")] == more


def as_json(value):
    return json.dumps(value, sort_keys=True)


# ---- check_conversation -------------------------------------------------------------------------

everything = given(option_histories(SEEDED))


@everything
def test_check_finds_what_normalization_records(backend, case):
    """Each finding is a record of normalization, or a row that is not yet flat."""
    findings = check_conversation(case.messages)
    explanation = backend.explain_conversation(case.messages)
    told = [(finding.kind, finding.index) for finding in findings]
    recorded = [(record.kind, record.index) for record in explanation.records]
    assert [note for note in told if note[0] != "reshaped_message"] == recorded
    assert [index for _, index in told] == sorted(index for _, index in told)
    reshaped = [index for kind, index in told if kind == "reshaped_message"]
    dropped_from = {record.index for record in explanation.records if record.kind in DROPS}
    not_flat = [place for place, entry in enumerate(case.messages) if not is_flat(entry)]
    assert reshaped == [index for index in not_flat if index not in dropped_from]


@everything
def test_check_is_empty_exactly_when_nothing_changes(backend, case):
    flat = backend.normalize_conversation(case.messages).messages
    assert check_conversation(flat) == []
    for messages in (case.messages, disturbed(flat)):
        normalized = backend.normalize_conversation(messages).messages
        assert (check_conversation(messages) == []) == same(messages, normalized)


def disturbed(flat):
    """The last row in front: often, but not always, a fault."""
    return flat[-1:] + flat[:-1]


def same(one, other):
    try:
        assert_same(one, other, set())
    except (AssertionError, ValueError):
        return False
    return True


@everything
def test_check_changes_nothing(case):
    before = frozen(case.messages)
    check_conversation(case.messages)
    assert_unchanged(before, case.messages)


def is_flat(entry):
    """Whether a row has the flat shape, whatever stands around it."""
    if type(entry) is not dict or not all(type(key) is str for key in entry):
        return False
    role, content = entry.get("role"), entry.get("content")
    if type(role) is not str or not role.strip() or type(content) is not str:
        return False
    if any(0xD800 <= ord(character) < 0xE000 for character in content):
        return False
    expected = {"role", "content"}
    if role == "tool":
        expected.add("tool_call_id")
    if role == "assistant" and "tool_calls" in entry:
        expected.add("tool_calls")
        calls = entry["tool_calls"]
        if type(calls) is not list or not calls or not all(map(is_clean_call, calls)):
            return False
    return set(entry) == expected and (role != "tool" or is_clean(entry["tool_call_id"]))


def is_clean_call(call):
    if type(call) is not dict:
        return False
    ids = [held(call[key]) for key in ("tool_call_id", "id") if key in call]
    return any(is_clean(id) for id in ids[:1]) or (
        len(ids) == 2 and is_none(ids[0]) and is_clean(ids[1])
    )


def held(id):
    """The text that an id of a `str` subclass holds; a call leaves by reference, with that id."""
    return str.__str__(id) if issubclass(type(id), str) else id


def is_none(id):
    return id is None or (type(id) is str and id in ("", "0"))


def is_clean(id):
    return type(id) is str and id == id.strip() and id not in ("", "0")
