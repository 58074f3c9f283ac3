"""The options, each by the sentences that promise it, and `check_conversation`."""

import enum
import json

import pytest
from checks import assert_same, assert_sendable, assert_unchanged, frozen
from hostile import Dict, List, RaisesWhenCompared, Row, Text
from rows import INTERRUPTED, interrupted, result, system, turn, user

from flowdrop_fast import check_conversation
from flowdrop_fast.openai import to_openai

VERBS = ("normalize_conversation", "repair_tool_pairing", "explain_conversation")
OF_REPAIR = ("ids", "pending", "interrupted")


def notes(explanation):
    return [(record.kind, record.index, record.id) for record in explanation.records]


def contents(messages, role="tool"):
    return [row["content"] for row in messages if row["role"] == role]


def called(messages):
    return [
        call.get("tool_call_id") or call.get("id")
        for row in messages
        for call in row.get("tool_calls", ())
    ]


def pairs(messages):
    """What each call got, as the rows stand: the call's id, its name and the result's text."""
    assert_sendable(messages)
    found = []
    for place, row in enumerate(messages):
        for offset, call in enumerate(row.get("tool_calls", ()), 1):
            answer = messages[place + offset]
            found.append((answer["tool_call_id"], call.get("name"), answer["content"]))
    return found


def call(id, name="search"):
    return {"id": id, "name": name}


# ---- ids="rescue": nothing that was executed is lost on account of its id ------------------------


def exchanges(id_of, n=20, key="id"):
    """Clean exchanges, each with its own answer; `id_of` gives the id of a number, or None."""
    rows = []
    for number in range(n):
        id = id_of(number)
        named = {} if id is None else {key: id}
        answered = {} if id is None else {"tool_call_id": id}
        rows += [
            user(f"question {number}"),
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{**named, "name": f"tool {number}", "args": {}}],
            },
            {"role": "tool", "content": f"answer {number}", **answered},
            {"role": "assistant", "content": f"done {number}"},
        ]
    return rows


def per_turn_counters():
    """Two calls a turn, counted from `call_0` in each."""
    rows = []
    for number in range(10):
        rows += [
            user(),
            turn(call("call_0", f"tool {2 * number}"), call("call_1", f"tool {2 * number + 1}")),
            result("call_0", f"answer {2 * number}"),
            result("call_1", f"answer {2 * number + 1}"),
        ]
    return rows


def parallel_calls_of_one_id():
    rows = []
    for number in range(10):
        rows += [
            user(),
            turn(call("c", f"tool {2 * number}"), call("c", f"tool {2 * number + 1}")),
            result("c", f"answer {2 * number}"),
            result("c", f"answer {2 * number + 1}"),
        ]
    return rows


FAULTS_OF_IDS = {
    "constant": (lambda: exchanges(lambda _: "call"), 1),
    "per-turn counters": (per_turn_counters, 2),
    "empty": (lambda: exchanges(lambda _: ""), 0),
    "zero": (lambda: exchanges(lambda _: 0, key="tool_call_id"), 0),
    "missing": (lambda: exchanges(lambda _: None), 0),
    "parallel calls of one id": (parallel_calls_of_one_id, 1),
}
every_fault = pytest.mark.parametrize(
    ("make", "kept_by_the_rule"), FAULTS_OF_IDS.values(), ids=FAULTS_OF_IDS
)


@every_fault
def test_twenty_of_twenty_results_are_kept(backend, make, kept_by_the_rule):
    history = make()
    answers = [f"answer {number}" for number in range(20)]
    assert contents(history) == answers
    strict = backend.normalize_conversation(history)
    assert len(contents(strict.messages)) == kept_by_the_rule

    messages, dropped, records = backend.explain_conversation(history, ids="rescue")
    assert dropped == 0
    assert len(messages) == len(history)
    assert [(name, text) for _, name, text in pairs(messages)] == [
        (f"tool {number}", f"answer {number}") for number in range(20)
    ]
    lost = 20 - kept_by_the_rule
    kinds = [record.kind for record in records]
    assert kinds.count("reidentified_call") == kinds.count("reidentified_result") == lost
    assert len(kinds) == 2 * lost


@every_fault
def test_the_repair_keeps_them_too(backend, make, kept_by_the_rule):  # noqa: ARG001
    history = make()
    before = frozen(history)
    repaired, dropped = backend.repair_tool_pairing(history, ids="rescue")
    assert dropped == 0
    assert repaired == backend.normalize_conversation(history, ids="rescue").messages
    assert_unchanged(before, history)


@every_fault
def test_ids_stay_as_they_were_while_a_history_grows(backend, make, kept_by_the_rule):  # noqa: ARG001
    """Deterministic: what was sent before is sent again, so that a prompt cache finds it."""
    history = make()
    whole = backend.normalize_conversation(history, ids="rescue").messages
    for end in range(len(history)):
        if history[end]["role"] == "user":
            part = backend.normalize_conversation(history[:end], ids="rescue").messages
            assert part == whole[:end]


@every_fault
def test_a_stored_output_goes_on(backend, make, kept_by_the_rule):  # noqa: ARG001
    """What came out was stored, the run went on, and all of it is normalized again."""
    stored = backend.normalize_conversation(make(), ids="rescue").messages
    messages, dropped = backend.normalize_conversation(stored + make(), ids="rescue")
    assert dropped == 0
    assert contents(messages) == contents(make()) * 2
    assert messages[: len(stored)] == stored


def recorded_run():
    """As agents are recorded that sample their ids: seldom, one is drawn a second time."""
    rows = [system("You help customers.")]
    for number, id in enumerate(["call_x1", "call_y2", "call_z3", "call_y2", "call_w4", "call_x1"]):
        function = {"name": f"tool_{number}", "arguments": json.dumps({"order": number})}
        rows += [
            user(f"question {number}"),
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": id, "function": function, "type": "function"}],
            },
            {"role": "tool", "tool_call_id": id, "name": function["name"], "content": f"{number}"},
            {"role": "assistant", "content": f"done {number}"},
        ]
    return rows


def test_a_recorded_run_that_drew_two_ids_twice(backend):
    run = recorded_run()
    assert backend.normalize_conversation(run).dropped == 6
    messages, dropped, records = backend.explain_conversation(run, ids="rescue")
    assert dropped == 0
    assert contents(messages) == [str(number) for number in range(6)]
    assert [row["role"] for row in messages] == [row["role"] for row in run]
    assert called(messages) == [
        "call_x1",
        "call_y2",
        "call_z3",
        "call_y2~2",
        "call_w4",
        "call_x1~2",
    ]
    functions = [c["function"] for row in run for c in row.get("tool_calls", ())]
    assert [c["function"] for row in messages for c in row.get("tool_calls", ())] == functions
    sentences = [record.sentence.partition(", so ") for record in records[:2]]
    assert sentences == [
        (
            "Entry 14 makes a tool call whose id is taken or unusable",
            ", so ",
            "the call is now 'call_y2~2'.",
        ),
        (
            "Entry 15 answers a tool call that was given an id of its own",
            ", so ",
            "it now answers 'call_y2~2'.",
        ),
    ]
    assert [(record.kind, record.index, record.id) for record in records[2:]] == [
        ("reidentified_call", 22, "call_x1~2"),
        ("reidentified_result", 23, "call_x1~2"),
    ]


def rescued(backend, *entries):
    return backend.normalize_conversation(list(entries), ids="rescue").messages


def test_off_by_default(backend):
    history = [turn("c1"), result("c1"), turn("c1", content="x"), result("c1")]
    assert backend.normalize_conversation(history, ids="strict") == (
        backend.normalize_conversation(history)
    )
    assert backend.normalize_conversation(history).dropped == 2


def test_a_taken_id_gets_the_next_free_number(backend):
    """`X~2`, `X~3`, …: deterministic"""
    messages = rescued(backend, turn("c", "c"), turn("c", "d", "d"))
    assert called(messages) == ["c", "c~2", "c~3", "d", "d~2"]


def test_a_missing_id_gets_a_number(backend):
    """a call without a usable id gets `call_1`, `call_2`, …"""
    messages = rescued(
        backend, turn({"name": "a"}, call(""), call("0")), turn(call(None), call(" "), call(True))
    )
    assert called(messages) == [f"call_{number}" for number in range(1, 7)]


@pytest.mark.parametrize(
    "occurring",
    [
        [turn("c~2", "call_1")],
        [turn({"tool_call_id": "c~2"}, {"tool_call_id": "call_1"})],
        [turn(call(" c~2 "), call("call_1\n"))],
        [{"role": "assistant", "metadata": {"tool_calls": [call("c~2"), call("call_1")]}}],
        [{"role": "assistant", "tool_calls": json.dumps([call("c~2"), call("call_1")])}],
        [result("c~2"), result("call_1")],
        [{"role": "tool", "metadata": {"tool_call_id": id}} for id in ("c~2", "call_1")],
    ],
)
@pytest.mark.parametrize("behind", [False, True])
def test_a_fresh_id_occurs_nowhere(backend, occurring, behind):
    """never one that occurs in the input: before it, behind it, on a call or on a result"""
    history = [turn("c", "c", call(""))]
    history = history + occurring if behind else occurring + history
    messages = rescued(backend, *history)
    assert_sendable(messages)
    made = [id for id in called(messages) if id not in ("c", "c~2", "call_1")]
    assert made == ["c~3", "call_2"]


def test_a_fresh_id_that_looks_fresh_is_taken_twice(backend):
    messages = rescued(backend, turn("c", "c~2", "c~2", "c", "c~2~2"))
    assert called(messages) == ["c", "c~2", "c~2~3", "c~3", "c~2~2"]


def test_an_int_is_an_id_like_its_text(backend):
    messages = rescued(backend, turn(call(7)), result("7", "a"), turn(call("7")), result(7, "b"))
    assert pairs(messages) == [("7", "search", "a"), ("7~2", "search", "b")]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"tool_call_id": "c"}, {"tool_call_id": "c~2"}),
        ({"id": "c"}, {"id": "c~2"}),
        ({"id": "c", "tool_call_id": "c"}, {"id": "c~2", "tool_call_id": "c~2"}),
        ({"id": " c ", "tool_call_id": ""}, {"id": "c~2", "tool_call_id": ""}),
        ({"id": "e", "tool_call_id": "c"}, {"id": "e", "tool_call_id": "c~2"}),
        ({"name": "x"}, {"name": "x", "tool_call_id": "call_1"}),
        ({"id": ""}, {"id": "call_1"}),
        ({"id": None, "tool_call_id": None}, {"id": None, "tool_call_id": "call_1"}),
        ({"function": {"name": "x"}}, {"function": {"name": "x"}, "id": "call_1"}),
    ],
)
def test_the_new_id_stands_where_the_old_one_stood(backend, before, after):
    """… or where calls of that shape have theirs; all other keys stay."""
    history = [turn(call("c")), turn({**before, "index": 0, "args": {"q": 1}})]
    messages = rescued(backend, *history)
    assert messages[2]["tool_calls"] == [{**after, "index": 0, "args": {"q": 1}}]
    assert_sendable(messages)


def test_a_call_keeps_its_other_values_by_reference(backend):
    state = {"signature": object()}
    messages = rescued(backend, turn("c"), turn({"id": "c", "state": state}))
    assert messages[2]["tool_calls"][0]["state"] is state


def test_what_is_no_call_is_still_dropped(backend):
    explanation = backend.explain_conversation([turn("c", None, "c", 5)], ids="rescue")
    assert called(explanation.messages) == ["c", "c~2"]
    kinds = [record.kind for record in explanation.records]
    assert kinds == ["unusable_call"] * 2 + ["reidentified_call"] + ["interrupted_result"] * 2


def test_other_faults_are_treated_as_ever(backend):
    explanation = backend.explain_conversation(
        [result("c"), None, turn("c"), result("d"), result("c"), result("c"), {"role": ""}],
        ids="rescue",
    )
    assert notes(explanation) == [
        ("early_result", 0, "c"),
        ("not_a_message", 1, None),
        ("orphan_result", 3, "d"),
        ("duplicate_result", 5, "c"),
        ("no_role", 6, None),
    ]


# ---- … a result belongs to an open declaration of its id ahead of it ----------------------------


def test_the_earliest_since_the_last_user_turn(backend):
    messages = rescued(
        backend,
        turn(call("c", "old")),
        user(),
        turn(call("c", "first")),
        turn(call("c", "second")),
        result("c", "1"),
        result("c", "2"),
    )
    assert pairs(messages) == [
        ("c", "old", INTERRUPTED),
        ("c~2", "first", "1"),
        ("c~3", "second", "2"),
    ]


def test_if_none_is_open_there_the_latest_before(backend):
    messages = rescued(
        backend,
        turn(call("c", "first")),
        turn(call("c", "second")),
        user(),
        turn(call("c", "third")),
        user(),
        result("c", "3"),
        result("c", "2"),
        result("c", "1"),
        result("c", "too many"),
    )
    assert pairs(messages) == [
        ("c", "first", "1"),
        ("c~2", "second", "2"),
        ("c~3", "third", "3"),
    ]


def test_only_ahead_of_it(backend):
    explanation = backend.explain_conversation(
        [turn("c"), result("c", "a"), result("c", "b"), turn("c")], ids="rescue"
    )
    assert notes(explanation) == [
        ("duplicate_result", 2, "c"),
        ("reidentified_call", 3, "c~2"),
        ("interrupted_result", 3, "c~2"),
    ]


def test_other_roles_begin_no_user_turn(backend):
    """A system row, or a role that nobody knows, is no user turn."""
    for role in ("system", "developer", "User", "assistant"):
        messages = rescued(
            backend, turn("c"), {"role": role, "content": "x"}, turn("c"), result("c")
        )
        assert pairs(messages)[0] == ("c", "search", "ok")


def test_a_user_turn_that_is_dropped_is_none(backend):
    """What cannot be read as a message separates nothing."""
    broken = {RaisesWhenCompared("content"): 1, "role": "user"}
    messages = rescued(backend, turn("c"), broken, turn("c"), result("c"))
    assert pairs(messages)[0] == ("c", "search", "ok")


def test_results_of_new_ids_are_moved_to_their_calls(backend):
    explanation = backend.explain_conversation(
        [turn("c"), user("and?"), turn("c"), result("c", "b"), result("c", "a")], ids="rescue"
    )
    assert [row["content"] for row in explanation.messages] == ["", "a", "and?", "", "b"]
    assert notes(explanation) == [
        ("reidentified_call", 2, "c~2"),
        ("reidentified_result", 3, "c~2"),
        ("moved_result", 4, "c"),
    ]


# ---- … a result without a usable id -----------------------------------------------------------


def nameless(content, name=None):
    return {"role": "tool", "content": content, **({"name": name} if name else {})}


def test_the_earliest_open_call_without_an_id(backend):
    messages = rescued(
        backend,
        turn(call("", "a"), call("c", "b"), call(None, "d")),
        nameless("1"),
        nameless("2"),
        result("c", "3"),
    )
    assert pairs(messages) == [("call_1", "a", "1"), ("c", "b", "3"), ("call_2", "d", "2")]


def test_with_an_equal_name_where_both_carry_one(backend):
    messages = rescued(
        backend,
        turn(call("", "tide"), call("", "wind"), {"id": ""}, call("", "tide")),
        nameless("4 kn", "wind"),
        nameless("2.1 m", "tide"),
        nameless("0.3 m", "tide"),
        nameless("1.7 m", "tide"),
    )
    assert [text for _, _, text in pairs(messages)] == ["2.1 m", "4 kn", "0.3 m", "1.7 m"]


@pytest.mark.parametrize(
    "named",
    [
        {"function": {"name": "wind"}},
        {"function": "wind"},
        {"function": Dict(name="wind")},
        {"name": "wind", "function": {"name": "tide"}},
    ],
)
def test_names_are_read_in_every_shape(backend, named):
    messages = rescued(
        backend, turn({"name": "tide"}, named, content="x"), nameless("4 kn", "wind")
    )
    assert contents(messages) == [INTERRUPTED, "4 kn"]


def test_a_name_that_is_no_text_is_none(backend):
    messages = rescued(backend, turn({"name": 5}, {"name": "b"}), {**nameless("1"), "name": ["b"]})
    assert contents(messages) == ["1", INTERRUPTED]


def test_calls_before_the_last_user_turn_are_not_guessed_at(backend):
    explanation = backend.explain_conversation(
        [turn(call("")), turn("d", "e"), user(), nameless("1")], ids="rescue"
    )
    assert contents(explanation.messages) == [INTERRUPTED] * 3
    assert ("orphan_result", 3, None) in notes(explanation)


def test_the_only_open_call_of_the_nearest_turn(backend):
    messages = rescued(
        backend, turn("a"), turn("b", "c", "d"), result("d"), result("b"), user(), nameless("late")
    )
    assert pairs(messages) == [
        ("a", "search", INTERRUPTED),
        ("b", "search", "ok"),
        ("c", "search", "late"),
        ("d", "search", "ok"),
    ]


def test_of_two_open_calls_none_is_guessed_at(backend):
    explanation = backend.explain_conversation([turn("a", "b"), nameless("1")], ids="rescue")
    assert ("orphan_result", 1, None) in notes(explanation)


def test_a_turn_that_calls_nothing_is_not_the_nearest(backend):
    for between in (turn(content="text"), turn(None, content="text"), system()):
        messages = rescued(backend, turn("a"), between, nameless("1"))
        assert ("a", "search", "1") in pairs(messages)


@pytest.mark.parametrize("metadata", ["text", "{}", '{"tool_call_id": ""}', 5, {}, [1]])
def test_metadata_in_which_there_is_no_id(backend, metadata):
    messages = rescued(backend, turn("a"), {**nameless("1"), "metadata": metadata})
    assert pairs(messages) == [("a", "search", "1")]


def test_a_usable_id_that_no_call_has_is_no_missing_id(backend):
    explanation = backend.explain_conversation([turn("a"), result("x")], ids="rescue")
    assert notes(explanation) == [("interrupted_result", 0, "a"), ("orphan_result", 1, "x")]


# ---- … placeholders -----------------------------------------------------------------------------


def healed(id, content="gone"):
    return {"role": "tool", "content": content, "metadata": {"tool_call_id": id, "healed": True}}


def test_a_guess_never_outlives_the_answer(backend):
    """An answer to an id that only placeholders answered takes the place of one of them."""
    messages = rescued(
        backend,
        turn("c"),
        healed("c"),
        turn("c"),
        interrupted("c"),
        result("c", "1"),
        result("c", "2"),
    )
    assert pairs(messages) == [("c", "search", "1"), ("c~2", "search", "2")]


def test_an_open_call_goes_before_a_guess(backend):
    messages = rescued(backend, turn("c"), interrupted("c"), user(), turn("c"), result("c", "1"))
    assert pairs(messages) == [("c", "search", INTERRUPTED), ("c~2", "search", "1")]


def test_the_latest_guess_is_replaced_behind_a_user_turn(backend):
    messages = rescued(
        backend, turn("c"), healed("c"), turn("c"), healed("c"), user(), result("c", "late")
    )
    assert pairs(messages) == [("c", "search", "gone"), ("c~2", "search", "late")]


def test_a_guess_does_not_replace_a_guess_or_an_answer(backend):
    explanation = backend.explain_conversation(
        [turn("c"), healed("c"), healed("c"), result("c"), healed("c")], ids="rescue"
    )
    assert contents(explanation.messages) == ["ok"]
    assert notes(explanation) == [
        ("duplicate_result", 1, "c"),
        ("duplicate_result", 2, "c"),
        ("duplicate_result", 4, "c"),
    ]


def test_a_guess_that_answers_nothing_keeps_its_id(backend):
    explanation = backend.explain_conversation(
        [turn("c"), healed("c"), turn("c"), healed("c"), user(), healed("c")], ids="rescue"
    )
    assert notes(explanation) == [
        ("reidentified_call", 2, "c~2"),
        ("reidentified_result", 3, "c~2"),
        ("duplicate_result", 5, "c"),
    ]


def test_guesses_without_an_id_are_replaced(backend):
    for calls in ([call("")], [call("c")]):
        messages = rescued(backend, turn(*calls), nameless(INTERRUPTED), nameless("1"))
        assert contents(messages) == ["1"]
    two = turn(call("", "a"), call("", "b"))
    messages = rescued(
        backend, two, nameless(INTERRUPTED, "b"), nameless(INTERRUPTED, "a"), nameless("1", "a")
    )
    assert contents(messages) == ["1", INTERRUPTED]


def test_of_two_guesses_in_the_nearest_turn_none_is_guessed_at(backend):
    explanation = backend.explain_conversation(
        [turn("a", "b"), healed("a"), healed("b"), nameless("1")], ids="rescue"
    )
    assert notes(explanation) == [("orphan_result", 3, None)]


# ---- … entries of any shape ---------------------------------------------------------------------


def test_the_repair_rewrites_ids_where_it_read_them(backend):
    """Rows whose id is new leave as shallow copies, all others by reference."""
    stored_turn = {
        "role": "assistant",
        "content": None,
        "metadata": {"tool_calls": [call("c")], "model": "m"},
        "timestamp": 5,
    }
    stored_result = {"role": "tool", "metadata": {"tool_call_id": "c", "n": 1}, "content": [1]}
    mixed = {**result("c"), "metadata": {"n": 2}}
    history = [user(), turn("c", name="x"), result("c"), stored_turn, stored_result]
    history += [turn("c"), mixed]
    before = frozen(history)
    repaired, dropped = backend.repair_tool_pairing(history, ids="rescue")
    assert dropped == 0
    assert all(map(is_same, repaired[:3], history[:3]))
    assert repaired[3:] == [
        {**stored_turn, "metadata": {"tool_calls": [call("c~2")], "model": "m"}},
        {**stored_result, "metadata": {"tool_call_id": "c~2", "n": 1}},
        turn("c~3"),
        {**mixed, "tool_call_id": "c~3"},
    ]
    assert_unchanged(before, history)


def is_same(one, other):
    return one is other


def test_calls_in_every_shape(backend):
    shapes = (
        json.dumps([call("c")]),
        {"0": call("c"), "5": call("")},
        call("c"),
        (call("c"),),
        List([call("c")]),
        [Dict(call("c"))],
    )
    for shape in shapes:
        history = [
            turn("c"),
            {"role": "assistant", "content": "", "tool_calls": shape},
            result("c"),
        ]
        messages = rescued(backend, *history)
        assert_sendable(messages)
        assert called(messages)[:2] == ["c", "c~2"]
        assert contents(messages)[0] == "ok"


class Roles(enum.Enum):
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


def test_rows_of_any_type(backend):
    """Roles that are enum members, rows that are objects."""
    history = [
        turn("c"),
        Row(Text("user"), "hi"),
        {**turn("c"), "role": Roles.ASSISTANT},
        Dict({**result("c", "1"), "role": Roles.TOOL}),
        {"role": Roles.USER},
        result("c", "2"),
    ]
    messages = rescued(backend, *history)
    assert pairs(messages) == [("c", "search", "2"), ("c~2", "search", "1")]


@pytest.mark.parametrize("key", ["role", "content", "metadata", "tool_calls"])
def test_a_turn_that_cannot_be_read_declares_nothing(backend, key):
    broken = {RaisesWhenCompared(key): 1, **{k: v for k, v in turn("c").items() if k != key}}
    messages, dropped = backend.normalize_conversation(
        [broken, turn("c"), result("c")], ids="rescue"
    )
    assert pairs(messages) == [("c", "search", "ok")]
    assert dropped == 1


@pytest.mark.parametrize("key", ["role", "content", "metadata", "tool_call_id", "healed"])
def test_a_result_that_cannot_be_read_answers_nothing(backend, key):
    broken = {RaisesWhenCompared(key): 1, **{k: v for k, v in result("c").items() if k != key}}
    messages, dropped = backend.normalize_conversation(
        [turn("c"), broken, result("c", "real")], ids="rescue"
    )
    assert pairs(messages) == [("c", "search", "real")]
    assert dropped == 1


@pytest.mark.parametrize("key", ["tool_call_id", "id", "function", "name"])
def test_calls_whose_keys_raise(backend, key):
    """A call that no id can be written into is dropped, as it is without the option."""
    odd = {RaisesWhenCompared(key): 1, "args": {}}
    messages = rescued(backend, turn("c", odd, content="x"), result("c"))
    assert_sendable(messages)
    assert called(messages) == (["c", "call_1"] if key == "name" else ["c"])


def test_a_call_with_an_id_beside_a_key_that_raises(backend):
    odd = {RaisesWhenCompared("tool_call_id"): 1, "id": "c"}
    messages = rescued(backend, turn("c", odd, odd), *[result("c", text) for text in "123"])
    assert [(row["tool_call_id"], row["content"]) for row in messages[1:]] == [
        ("c", "1"),
        ("c~2", "2"),
        ("c~3", "3"),
    ]


def test_a_row_that_stands_in_the_list_twice(backend):
    calls, answer = turn("c"), result("c")
    messages = rescued(backend, calls, answer, calls, answer)
    assert pairs(messages) == [("c", "search", "ok"), ("c~2", "search", "ok")]
    assert calls == turn("c")


# ---- pending="keep" -----------------------------------------------------------------------------


def pending(backend, *entries, **more):
    return backend.normalize_conversation(list(entries), pending="keep", **more).messages


def test_calls_of_the_last_turn_stay_unanswered(backend):
    """… that nothing but their own results follows"""
    history = [user(), turn("a", "b", "c")]
    assert pending(backend, *history) == history
    assert backend.explain_conversation(history, pending="keep") == (history, 0, [])
    assert backend.repair_tool_pairing(history, pending="keep").messages == history
    assert contents(backend.normalize_conversation(history).messages) == [INTERRUPTED] * 3


def test_partly_answered(backend):
    """Results stand in the order of the calls, as ever."""
    history = [user(), turn("a", "b", "c"), result("c"), result("a")]
    assert pending(backend, *history) == [user(), turn("a", "b", "c"), result("a"), result("c")]
    explanation = backend.explain_conversation(history, pending="keep")
    assert notes(explanation) == [("moved_result", 3, "a")]


@pytest.mark.parametrize(
    "behind", [user(), turn(content="never mind"), turn("z"), {"role": "developer"}]
)
def test_whatever_else_follows_ends_it(backend, behind):
    messages = pending(backend, turn("a", "b"), result("b"), behind)
    assert messages[:3] == [turn("a", "b"), interrupted("a"), result("b")]


def test_only_the_last_turn_that_calls(backend):
    messages = pending(backend, turn("a"), turn("b"))
    assert messages == [turn("a"), interrupted("a"), turn("b")]
    messages = pending(backend, turn("a"), turn("b"), result("b"))
    assert messages == [turn("a"), interrupted("a"), turn("b"), result("b")]


def test_a_late_result_of_an_earlier_turn_ends_nothing(backend):
    """It leaves at its own call, so that nothing but their own results follows."""
    assert pending(backend, turn("a"), turn("b"), result("a")) == [
        turn("a"),
        result("a"),
        turn("b"),
    ]


@pytest.mark.parametrize(
    "dropped",
    [None, {"role": " "}, result("x"), result(""), turn("a"), turn(None), result("b", "again")],
)
def test_what_is_dropped_behind_ends_nothing(backend, dropped):
    assert pending(backend, turn("a", "b"), result("b"), dropped) == [turn("a", "b"), result("b")]


def test_a_system_row_behind_ends_nothing_where_it_moves(backend):
    """Normalization puts it in front; the repair leaves it where it is."""
    history = [turn("a"), system()]
    assert pending(backend, *history) == [system(), turn("a")]
    assert pending(backend, *history, system="merge") == [system(), turn("a")]
    repaired = backend.repair_tool_pairing(history, pending="keep").messages
    assert repaired == [turn("a"), interrupted("a"), system()]


def test_a_placeholder_is_an_answer(backend):
    assert pending(backend, turn("a"), healed("a")) == [turn("a"), result("a", "gone")]


def test_nothing_to_keep(backend):
    for history in ([], [user()], [turn("a"), result("a")], [result("a")]):
        asked = backend.normalize_conversation(history, pending="keep")
        assert asked == backend.normalize_conversation(history)


# ---- interrupted="…" ----------------------------------------------------------------------------


def test_the_text_of_synthetic_results(backend):
    text = "The outcome is unknown."
    messages = backend.normalize_conversation([turn("a")], interrupted=text).messages
    assert messages == [turn("a"), result("a", text)]
    repaired = backend.repair_tool_pairing([turn("a")], interrupted=text).messages
    assert repaired == messages


@pytest.mark.parametrize(
    "text",
    [
        "never ran",
        " padded ",
        "ünï 𝄞",
        "a\ud800",
        "\ud83d\ude00",
        '{"error":"cancelled"}',
        "[]",
        "5",
    ],
)
def test_a_custom_text_is_recognized_as_a_placeholder(backend, text):
    """Through a round trip: made, stored, and then the answer comes."""
    made = backend.normalize_conversation([turn("a")], interrupted=text).messages
    made[1]["content"].encode()
    for stored in (made, json.loads(json.dumps(made)), [turn("a"), result("a", text)]):
        for verb in VERBS:
            repair = getattr(backend, verb)
            again = repair(stored, interrupted=text)
            assert contents(again.messages) == contents(stored if "pair" in verb else made)
            answered = repair([*stored, result("a", "real")], interrupted=text)
            assert contents(answered.messages) == ["real"]
            assert answered.dropped == 1
            rescue = repair([*stored, result("a", "real")], interrupted=text, ids="rescue")
            assert rescue == answered


def test_the_standard_text_is_still_recognized(backend):
    history = [turn("a"), interrupted("a"), result("a", "real")]
    for text in (INTERRUPTED, Text(INTERRUPTED)):
        history[1]["content"] = text
        for verb in VERBS:
            messages = getattr(backend, verb)(history, interrupted="never ran").messages
            assert contents(messages) == ["real"]
    asked = {"interrupted": "never ran", "ids": "rescue"}
    history = [turn("c"), interrupted("c"), turn("c"), result("c", "never ran")]
    history += [result("c", "1"), result("c", "2")]
    assert contents(backend.normalize_conversation(history, **asked).messages) == ["1", "2"]


def test_a_custom_text_is_none_without_the_option(backend):
    """To one who does not know it, it is what the tool said."""
    history = [turn("a"), result("a", "never ran"), result("a", "real")]
    assert contents(backend.normalize_conversation(history).messages) == ["never ran"]


def test_the_same_text_in_a_structure(backend):
    """Content counts as the text it becomes, in every verb."""
    text = '{"error":"cancelled"}'
    history = [turn("a"), result("a", {"error": "cancelled"}), result("a", "real")]
    for verb in VERBS:
        answered = getattr(backend, verb)(history, interrupted=text)
        assert contents(answered.messages) == ["real"]


def test_a_str_subclass_leaves_as_the_text_it_holds(backend):
    class Reason(str, enum.Enum):
        CANCELLED = "cancelled"

    (_, row) = backend.normalize_conversation([turn("a")], interrupted=Reason.CANCELLED).messages
    assert type(row["content"]) is str
    assert row["content"] == "cancelled"


# ---- system="merge" -----------------------------------------------------------------------------


def merged(backend, *entries, **more):
    return backend.normalize_conversation(list(entries), system="merge", **more).messages


def test_all_system_rows_become_one(backend):
    """texts joined by a blank line"""
    history = [system("a"), user(), system("b\n"), turn("c"), system(" c")]
    assert merged(backend, *history) == [
        system("a\n\nb\n\n\n c"),
        user(),
        turn("c"),
        interrupted("c"),
    ]
    explanation = backend.explain_conversation(history, system="merge")
    assert explanation.dropped == 0
    assert notes(explanation) == [
        ("merged_system", 2, None),
        ("interrupted_result", 3, "c"),
        ("merged_system", 4, None),
    ]
    assert explanation.records[0].sentence == (
        "Entry 2 is one more system message, so its text was joined to the first."
    )


def test_one_system_row_stays_as_it_is(backend):
    assert merged(backend, system(""), user()) == [system(""), user()]
    assert merged(backend, user(), system("x")) == [system("x"), user()]
    assert notes(backend.explain_conversation([user(), system("x")], system="merge")) == [
        ("moved_system", 1, None)
    ]


def test_the_first_is_moved_and_the_others_join_it(backend):
    explanation = backend.explain_conversation([user(), system("a"), system("b")], system="merge")
    assert explanation.messages == [system("a\n\nb"), user()]
    assert notes(explanation) == [("moved_system", 1, None), ("merged_system", 2, None)]


@pytest.mark.parametrize(
    ("texts", "text"),
    [
        (["", ""], ""),
        (["", "a", "", "b", None], "a\n\nb"),
        (["a", " ", "\n"], "a"),
        ([" ", "", "\n"], " "),
        ([{"a": 1}, 5], '{"a":1}\n\n5'),
    ],
)
def test_blank_texts_add_no_blank_lines(backend, texts, text):
    assert merged(backend, *map(system, texts)) == [system(text)]


def test_merging_parts(backend):
    """Texts become parts where one of the rows has some."""
    image, text = {"type": "image_url", "image_url": {"url": "x"}}, {"type": "text", "text": "b"}
    history = [system("a"), system([image]), system(""), system([text])]
    (row,) = merged(backend, *history, content="parts")
    assert row == system([{"type": "text", "text": "a"}, image, text])
    assert row["content"][1] is image
    assert merged(backend, *history[:1], *history[2:3], content="parts") == [system("a")]


def test_merging_keys_that_are_kept(backend):
    """The first that has one says what it is."""
    history = [system("a", name="x"), user(), system("b", name="y", cache=1), system("c", cache=2)]
    (row, _) = merged(backend, *history, keep=("name", "cache"))
    assert row == system("a\n\nb\n\nc", name="x", cache=1)
    keys = [f"key_{number}" for number in range(9)]
    history = [system(**{key: 1}) for key in reversed(keys)]
    (row,) = merged(backend, *history, keep=keys)
    assert list(row) == ["role", "content", *keys]


def test_merging_shares_no_row(backend):
    history = [system("a", name="x"), system("b")]
    for copy in (True, False):
        (row,) = merged(backend, *history, copy=copy, keep=("name",))
        assert row is not history[0]
    assert history == [system("a", name="x"), system("b")]


# ---- keep=(…) -----------------------------------------------------------------------------------


def test_keys_that_survive_on_the_row(backend):
    """… on every role, and no other key; those that are made have none"""
    kept = {"name": "n", "reasoning_content": ["thought"]}
    history = [
        system(**kept, other=1),
        user(**kept, other=1),
        {**turn("a", "b", **kept), "metadata": {"name": "no"}},
        {"role": "tool", "metadata": {"tool_call_id": "a"}, "content": None, **kept},
    ]
    messages = backend.normalize_conversation(history, keep=tuple(kept)).messages
    assert messages == [
        system(**kept),
        user(**kept),
        turn("a", "b", **kept),
        result("a", "", **kept),
        interrupted("b"),
    ]
    assert messages[0]["reasoning_content"] is kept["reasoning_content"]
    plain = backend.normalize_conversation(history).messages
    assert {key for row in plain for key in row}.isdisjoint(kept)


def test_a_key_that_holds_nothing_stays_behind(backend):
    history = [user(name=None, cache=False, note="")]
    (row,) = backend.normalize_conversation(history, keep=("name", "cache", "note")).messages
    assert row == user(cache=False, note="")


def test_kept_keys_follow_the_rows_own_in_a_fixed_order(backend):
    history = [{"b": 1, "content": "hi", "a": 2, "role": "user"}]
    for keep in (("b", "a"), ["a", "b"], {"a", "b"}, frozenset("ab"), iter("ba"), {"b": 0, "a": 0}):
        (row,) = backend.normalize_conversation(history, keep=keep).messages
        assert list(row) == ["role", "content", "a", "b"]


def test_keys_given_as_subclasses_of_str(backend):
    class Key(str, enum.Enum):
        NAME = "name"

    (row,) = backend.normalize_conversation([user(name="n")], keep=[Key.NAME]).messages
    assert {type(key) for key in row} == {str}


def test_a_key_that_raises_when_it_is_looked_up(backend):
    history = [{**user(), RaisesWhenCompared("name"): 1}]
    assert backend.normalize_conversation(history, keep=("name",)).messages == [user()]


def test_objects_that_hold_the_key(backend):
    (row,) = backend.normalize_conversation([Dict(user(name="n"))], keep=("name",)).messages
    assert row == user(name="n")


# ---- content="parts" ----------------------------------------------------------------------------

TEXT_PART = {"type": "text", "text": "what is this?"}
IMAGE_PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def content_with_parts(backend, content):
    (row,) = backend.normalize_conversation([user(content)], content="parts").messages
    return row["content"]


def test_typed_parts_pass_as_they_are(backend):
    """images must not become text"""
    parts = [TEXT_PART, IMAGE_PART]
    found = content_with_parts(backend, parts)
    assert found == parts
    assert all(map(is_same, found, parts))
    assert found is not parts, "the list of an output row is its own"
    assert type(content_with_parts(backend, List(parts))) is list
    (row,) = backend.normalize_conversation([user(parts)]).messages
    assert row["content"] == json.dumps(parts, separators=(",", ":"))


@pytest.mark.parametrize(
    "content",
    [
        [],
        [TEXT_PART, "text"],
        [TEXT_PART, {"text": "no type"}],
        [TEXT_PART, {"type": None}],
        [TEXT_PART, {"type": 5}],
        [TEXT_PART, None],
        [[TEXT_PART]],
        (TEXT_PART,),
        TEXT_PART,
        {"parts": [TEXT_PART]},
        "text",
        None,
        5,
        "\ud800",
        json.dumps([TEXT_PART]),
    ],
)
def test_everything_else_as_before(backend, content):
    assert content_with_parts(backend, content) == backend.coerce_content(content)


def test_parts_of_any_mapping(backend):
    parts = [Dict(TEXT_PART), {RaisesWhenCompared("text"): 1, "type": Text("x")}]
    assert all(map(is_same, content_with_parts(backend, parts), parts))
    raising = [{RaisesWhenCompared("type"): 1}]
    assert content_with_parts(backend, raising) == backend.coerce_content(raising)


def test_parts_on_every_role(backend):
    parts = [TEXT_PART]
    history = [system(parts), user(parts), turn("a", content=parts), result("a", parts)]
    assert backend.normalize_conversation(history, content="parts") == (history, 0)
    assert to_openai(history)[3] == result("a", parts)


def test_a_turn_with_parts_is_not_emptied(backend):
    history = [turn("a"), result("a"), turn("a", content=[TEXT_PART])]
    messages, dropped = backend.normalize_conversation(history, content="parts")
    assert messages[2] == {"role": "assistant", "content": [TEXT_PART]}
    assert dropped == 1


# ---- copy=False ---------------------------------------------------------------------------------


def shared(backend, history):
    return backend.normalize_conversation(history, copy=False).messages


def test_flat_rows_are_shared(backend):
    history = [system(), user("ü"), turn("a", "b"), result("a"), result("b"), turn(content="x")]
    history[-1].pop("tool_calls")
    before = frozen(history)
    messages = shared(backend, history)
    assert messages is not history
    assert len(messages) == len(history)
    assert all(map(is_same, messages, history))
    assert_unchanged(before, history)
    copied = backend.normalize_conversation(history).messages
    assert not any(map(is_same, copied, history))


@pytest.mark.parametrize(
    "row",
    [
        {"content": "hi", "role": "user"},
        user(None),
        user("\ud800"),
        user(name="n"),
        user(metadata={}),
        {"role": "user"},
        {"role": Text("user"), "content": "hi"},
        user(Text("hi")),
        {**user(), 5: 1},
        Dict(user()),
        Row("user", "hi"),
        {"role": "assistant", "content": "", "tool_calls": []},
        {"role": "assistant", "content": "", "tool_calls": (call("c"),)},
        {"role": "assistant", "content": "", "tool_calls": List([call("c")])},
        turn(" c "),
        turn(call(5)),
        turn(Dict(call("c"))),
        turn("c", None),
        turn("c", "c"),
        {"role": "assistant", "content": "", "metadata": {"tool_calls": [call("c")]}},
    ],
    ids=lambda row: type(row).__name__,
)
def test_what_is_not_flat_leaves_as_a_row_of_its_own(both_backends, row):
    outputs = []
    for backend in both_backends:
        messages = shared(backend, [row])
        assert messages[0] is not row
        assert_same(messages, backend.normalize_conversation([row]).messages, set())
        assert_sendable(messages)
        outputs.append(messages)
    assert_same(*outputs, set())


def test_moved_and_made_rows_among_shared_ones(backend):
    """The list is new; rows that move are shared, rows that are made are fresh."""
    history = [user(), turn("a", "b"), user("and?"), result("b"), system()]
    messages = shared(backend, history)
    assert [next((n for n, e in enumerate(history) if e is row), None) for row in messages] == [
        4,
        0,
        1,
        None,
        3,
        2,
    ]
    assert messages[3] == interrupted("a")
    assert (
        backend.normalize_conversation(history, copy=False, system="merge").messages[0]
        is (history[4])
    )


def test_sharing_with_the_other_options(backend):
    parts = user([TEXT_PART])
    (row,) = backend.normalize_conversation([parts], copy=False, content="parts").messages
    assert row is parts
    named = user(name="n")
    (row,) = backend.normalize_conversation([named], copy=False, keep=("name",)).messages
    assert row is named
    history = [turn("c"), result("c"), turn("c"), result("c")]
    messages = backend.normalize_conversation(history, copy=False, ids="rescue").messages
    assert list(map(is_same, messages, history)) == [True, True, False, False]
    assert history == [turn("c"), result("c"), turn("c"), result("c")]


def test_options_of_every_verb(backend):
    """The repair leaves rows as they are anyway; what shapes rows is no option of it."""
    for name in ("system", "keep", "content", "copy"):
        with pytest.raises(TypeError, match=name):
            backend.repair_tool_pairing([], **{name: DEFAULTS[name]})


# ---- Wrong values -------------------------------------------------------------------------------

DEFAULTS = {
    "ids": "strict",
    "pending": "interrupt",
    "interrupted": INTERRUPTED,
    "system": "keep",
    "keep": (),
    "content": "text",
    "copy": True,
}
WRONG = [
    ("ids", "Rescue", ValueError, "ids must be 'strict' or 'rescue', not 'Rescue'"),
    ("ids", None, TypeError, "ids must be a str, not NoneType"),
    ("ids", True, TypeError, "ids must be a str, not bool"),
    ("pending", "drop", ValueError, "pending must be 'interrupt' or 'keep', not 'drop'"),
    ("pending", [], TypeError, "pending must be a str, not list"),
    ("interrupted", None, TypeError, "interrupted must be a str, not NoneType"),
    ("interrupted", b"x", TypeError, "interrupted must be a str, not bytes"),
    ("interrupted", "", ValueError, "interrupted must not be blank: an empty result is a real one"),
    (
        "interrupted",
        " \n",
        ValueError,
        "interrupted must not be blank: an empty result is a real one",
    ),
    ("system", "first", ValueError, "system must be 'keep' or 'merge', not 'first'"),
    ("system", 1, TypeError, "system must be a str, not int"),
    ("keep", "name", TypeError, "keep must be an iterable of keys, not str"),
    ("keep", b"name", TypeError, "keep must be an iterable of keys, not bytes"),
    ("keep", None, TypeError, "keep must be an iterable of keys, not NoneType"),
    ("keep", 5, TypeError, "keep must be an iterable of keys, not int"),
    ("keep", ["name", 5], TypeError, "a key to keep must be a str, not int"),
    ("keep", [["name"]], TypeError, "a key to keep must be a str, not list"),
    *(
        (
            "keep",
            [key],
            ValueError,
            f"keep cannot name {key!r}, which normalization itself reads and writes",
        )
        for key in ("role", "content", "tool_calls", "tool_call_id", "metadata")
    ),
    ("content", "json", ValueError, "content must be 'text' or 'parts', not 'json'"),
    ("content", None, TypeError, "content must be a str, not NoneType"),
    ("copy", None, TypeError, "copy must be a bool, not NoneType"),
    ("copy", "no", TypeError, "copy must be a bool, not str"),
    ("copy", 2, TypeError, "copy must be a bool, not int"),
]


WRONG_OF_VERBS = [
    (verb, *case)
    for verb in VERBS
    for case in WRONG
    if verb != "repair_tool_pairing" or case[0] in OF_REPAIR
]


@pytest.mark.parametrize(("verb", "name", "value", "error", "message"), WRONG_OF_VERBS)
def test_wrong_values_are_refused(backend, verb, name, value, error, message):
    """… with the option's name, whatever the messages are, and beside any other option"""
    others = {"pending": "keep"} if name == "ids" else {"ids": "rescue"}
    for messages in ([], [user()]):
        for more in ({}, others):
            with pytest.raises(error) as raised:
                getattr(backend, verb)(messages, **{name: value}, **more)
            assert str(raised.value) == message


@pytest.mark.parametrize("verb", VERBS)
def test_wrong_messages_are_refused_with_options_too(backend, verb):
    for messages in ("text", None, {"role": "user"}, 5):
        with pytest.raises(TypeError, match="messages must be an iterable of entries"):
            getattr(backend, verb)(messages, ids="rescue")


def test_defaults_said_aloud(backend):
    history = [turn("c"), user([TEXT_PART], name="n"), turn("c"), system(), system()]
    for options in (DEFAULTS, {**DEFAULTS, "keep": []}, {**DEFAULTS, "copy": 1}):
        said = backend.explain_conversation(history, **options)
        assert said == backend.explain_conversation(history)
    texts = {name: "".join(list(value)) for name, value in DEFAULTS.items() if value and value != 1}
    assert backend.explain_conversation(history, **texts) == backend.explain_conversation(history)


def test_options_are_by_name_only(backend):
    for verb in VERBS:
        with pytest.raises(TypeError):
            getattr(backend, verb)([], "rescue")


def test_messages_are_read_once(backend):
    """An iterator serves, under every option."""
    history = [turn("c"), result("c"), turn("c"), result("c")]
    options = {"ids": "rescue", "pending": "keep", "system": "merge", "copy": False}
    assert backend.normalize_conversation(iter(history), **options) == (
        backend.normalize_conversation(history, **options)
    )


# ---- check_conversation --------------------------------------------------------------------------


def findings(*entries):
    return [(finding.kind, finding.index) for finding in check_conversation(list(entries))]


def test_what_is_sendable_has_no_findings():
    assert check_conversation([]) == []
    assert findings(system(), user(), turn("a", "b"), result("a"), result("b"), user("")) == []
    assert findings({"content": "keys in any order", "role": "user"}) == []


def test_each_fault_is_found_where_it_is():
    history = [
        None,
        {"content": "no role"},
        result("a"),
        turn("a", "b", None),
        user(),
        result("b"),
        result("x"),
        turn("a"),
        {"role": "tool", "metadata": {"tool_call_id": "b"}, "content": 5},
        system(),
        turn("c"),
    ]
    assert findings(*history) == [
        ("not_a_message", 0),
        ("no_role", 1),
        ("early_result", 2),
        ("unusable_call", 3),
        ("interrupted_result", 3),
        ("moved_result", 5),
        ("orphan_result", 6),
        ("duplicate_call", 7),
        ("emptied_turn", 7),
        ("duplicate_result", 8),
        ("moved_system", 9),
        ("interrupted_result", 10),
    ]


@pytest.mark.parametrize(
    "row",
    [
        user(None),
        user(5),
        user("\ud800"),
        user([TEXT_PART]),
        user(name="n"),
        user(timestamp=1),
        {"role": "user"},
        {"role": "user", "content": "x", "metadata": None},
        Row("user", "hi"),
        {"role": "assistant", "content": "", "tool_calls": []},
    ],
)
def test_rows_that_are_not_flat(row):
    (finding,) = check_conversation([user(), row])
    assert (finding.kind, finding.index) == ("reshaped_message", 1)
    assert finding.sentence == "Entry 1 is not a flat row of text."
    assert finding.cure == "lift it to that shape"


def test_findings_say_what_and_what_would_be_done():
    found = check_conversation([turn("a"), user(), system(), result("x")])
    assert [(finding.sentence, finding.cure) for finding in found] == [
        ("Entry 0 calls 'a' and nothing answers.", "make a result that says so"),
        ("Entry 2 is a system message behind other messages.", "move it to the front"),
        ("Entry 3 is a result that answers 'x', which no message calls.", "drop it"),
    ]


def test_what_the_options_leave_is_judged_by_the_rule():
    """Sendable is what the rule says: what an option keeps beyond it shows."""
    assert findings(user([TEXT_PART])) == [("reshaped_message", 0)]
    assert findings(turn("a")) == [("interrupted_result", 0)]


@pytest.mark.parametrize("messages", ["text", b"", None, 5, {"role": "user"}])
def test_check_refuses_what_is_no_list(messages):
    with pytest.raises(TypeError, match="messages must be an iterable of entries"):
        check_conversation(messages)


def test_check_reads_an_iterator():
    assert [finding.kind for finding in check_conversation(iter([None]))] == ["not_a_message"]
