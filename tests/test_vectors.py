"""The shared vectors: histories with their right answers, 50 of them seen in public."""

import copy
import json
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"
MADE_OR_MOVED = {"interrupted_result", "moved_result", "moved_system"}


def load(name):
    return json.loads((DATA / name).read_text(encoding="utf-8"))


def vectors(*names):
    cases = [case for name in names for case in load(name)]
    return pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in cases])


def as_text(value):
    """JSON text, in which the order of keys and the difference of 1, 1.0 and true show."""
    return json.dumps(value)


def test_all_vectors_are_here():
    sizes = {path.name: len(load(path.name)) for path in DATA.glob("*.json")}
    assert sizes == {"normalize.json": 46, "normalize_seen.json": 50, "text_to_message.json": 20}


@vectors("normalize.json", "normalize_seen.json")
def test_normalize(backend, case):
    given = copy.deepcopy(case["input"])
    messages, dropped = backend.normalize_conversation(given)
    assert as_text(messages) == as_text(case["messages"])
    assert dropped == case["dropped"]
    assert as_text(given) == as_text(case["input"])


@vectors("normalize.json", "normalize_seen.json")
def test_explain(backend, case):
    explanation = backend.explain_conversation(case["input"])
    assert as_text(explanation.messages) == as_text(case["messages"])
    drops = [r.kind for r in explanation.records if r.kind not in MADE_OR_MOVED]
    assert sorted(drops) == case["kinds"]
    assert explanation.dropped == case["dropped"]


@vectors("normalize.json", "normalize_seen.json")
def test_repair_then_normalize(backend, case):
    """The repair does not coerce; what it leaves, normalization takes to the same answer."""
    repaired = backend.repair_tool_pairing(case["input"])
    messages, dropped = backend.normalize_conversation(repaired.messages)
    assert as_text(messages) == as_text(case["messages"])
    assert (repaired.dropped, dropped) == (case["dropped"], 0)


@vectors("text_to_message.json")
def test_text_to_message(backend, case):
    ports = {"text": None, **case["input"]}
    messages, message = backend.text_to_message(**ports)
    assert as_text(messages) == as_text(case["messages"])
    assert as_text(message) == as_text(case["message"])
