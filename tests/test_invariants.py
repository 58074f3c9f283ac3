"""What always holds: each line of that part of the specification, for any conversation at all."""

import pytest
from checks import assert_sendable, assert_unchanged, containers, frozen
from hypothesis import given, settings
from oracle import oracle
from rows import CALL_DROPS, DROPS
from strategies import SEEDED, nasty_histories, plain_histories

anything = given(nasty_histories())


@anything
def test_sendable(backend, case):
    """**Sendable:** only the four keys; `role` and `content` are exact `str`; …"""
    assert_sendable(backend.normalize_conversation(case.messages).messages)


@anything
def test_idempotent(backend, case):
    """**Idempotent:** normalizing an output gives it back, equal, with `dropped == 0`."""
    once = backend.normalize_conversation(case.messages).messages
    again = backend.explain_conversation(once)
    assert again.messages == once
    assert again.dropped == 0
    assert again.records == []


@anything
def test_accounted(backend, case):
    """`len(output) == len(input) - (dropped - dropped calls) + synthetic results`."""
    messages, dropped, records = backend.explain_conversation(case.messages)
    kinds = [record.kind for record in records]
    assert dropped == sum(kind in DROPS for kind in kinds)
    dropped_calls = sum(kind in CALL_DROPS for kind in kinds)
    made = kinds.count("interrupted_result")
    assert len(messages) == len(case.messages) - (dropped - dropped_calls) + made


@anything
def test_one_pass_counts(backend, case):
    """`dropped` is the number of those records. Nothing counts a second time."""
    normalized = backend.normalize_conversation(case.messages)
    explanation = backend.explain_conversation(case.messages)
    assert normalized.dropped == explanation.dropped
    assert normalized.messages == explanation.messages


@anything
@pytest.mark.parametrize("verb", ["normalize_conversation", "repair_tool_pairing"])
def test_pure(backend, verb, case):
    """**Pure:** the input list, its rows and everything below them are never mutated."""
    before = frozen(case.messages)
    getattr(backend, verb)(case.messages)
    assert_unchanged(before, case.messages)


@anything
def test_fresh(backend, case):
    """**Pure:** … output rows and lists are fresh objects (calls inside are shared)."""
    of_input = containers(frozen(case.messages))
    messages = backend.normalize_conversation(case.messages).messages
    made = [messages, *messages, *(row["tool_calls"] for row in messages if "tool_calls" in row)]
    assert of_input.isdisjoint(map(id, made))
    assert len(set(map(id, made))) == len(made)


@anything
def test_records_are_in_order(backend, case):
    """Records … come in the order of the input index; those of one turn, calls first, …"""
    records = backend.explain_conversation(case.messages).records
    order = {"unusable_call": 0, "duplicate_call": 0, "emptied_turn": 1}
    places = [(record.index, order.get(record.kind, 2)) for record in records]
    assert places == sorted(places)
    for record in records:
        assert 0 <= record.index < len(case.messages)
        assert record.kind in DROPS | {"interrupted_result", "moved_result", "moved_system"}
        assert f"Entry {record.index} " in record.sentence or (
            record.kind == "unusable_call" and f" entry {record.index} " in record.sentence
        )
        if record.id is not None:
            assert repr(record.id) in record.sentence


@anything
def test_repair_pairs(backend, case):
    """What the repair leaves needs no repair: it comes back by reference."""
    repaired = backend.repair_tool_pairing(case.messages)
    again = backend.repair_tool_pairing(repaired.messages)
    assert again.dropped == 0
    assert list(map(id, again.messages)) == list(map(id, repaired.messages))


@anything
def test_repair_drops_the_same(backend, case):
    """The repair alone … is the same procedure (one piece of code, …)."""
    repaired = backend.repair_tool_pairing(case.messages)
    assert repaired.dropped == backend.normalize_conversation(case.messages).dropped
    assert backend.normalize_conversation(repaired.messages).dropped == 0


@anything
def test_repair_and_normalization_agree(backend, case):
    """For flat rows with system rows in front, repair and normalization agree."""
    flat = backend.normalize_conversation(case.messages).messages
    results = [row for row in flat if row["role"] == "tool"]
    others = [row for row in flat if row["role"] != "tool"]
    broken = [row for row in others if row["role"] == "system"] + results[::2]
    broken += [row for row in others if row["role"] != "system"] * 2 + results[::-1]
    repaired = backend.repair_tool_pairing(broken)
    normalized = backend.normalize_conversation(broken)
    assert repaired == normalized


def assert_agrees_with_the_oracle(backend, case):
    messages, notes = oracle(case.messages)
    explanation = backend.explain_conversation(case.messages)
    assert explanation.messages == messages
    assert [(r.kind, r.index, r.id) for r in explanation.records] == notes
    assert backend.normalize_conversation(case.messages) == (messages, explanation.dropped)


@given(plain_histories())
def test_agrees_with_the_oracle(backend, case):
    """Messages, counts, kinds and their order: against MEM-5 written a second time."""
    assert_agrees_with_the_oracle(backend, case)


@settings(max_examples=20 * settings().max_examples)
@given(plain_histories(SEEDED))
def test_agrees_with_the_oracle_many_times(backend, case):
    assert_agrees_with_the_oracle(backend, case)
