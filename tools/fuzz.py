"""Fuzzing: compiled backend against reference, on whatever a mutated text decodes to.

    python tools/fuzz.py [libFuzzer options]

Needs atheris. Coverage of the reference leads the fuzzer; a difference between the two backends, in
what is returned, raised or left of the input, is a crash that it reports.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import atheris

with atheris.instrument_imports(include=["flowdrop_fast"]):
    from flowdrop_fast import _native, _pure

WORDS = [
    *("role", "content", "tool_calls", "tool_call_id", "metadata", "healed", "id", "name"),
    *("user", "assistant", "tool", "system", "c1", " c1 ", "c2", "0", "", " ", "\ud83d", "\u00e9"),
    *("Tool call was interrupted; no result.", '[{"id": "c1"}]', '{"tool_call_id": "c1"}'),
    *(None, True, False, 0, 1, 7, 0.5, float("nan"), 10**30, b"c1", (), [], {}),
]
VERBS = ["normalize_conversation", "repair_tool_pairing", "explain_conversation"]


class Text(str):
    """A str that is not exactly one."""

    __slots__ = ()


def value(data: atheris.FuzzedDataProvider, depth: int) -> Any:
    """Return a value: a word of ours, a text of the fuzzer's, or a container of values."""
    choice = data.ConsumeIntInRange(0, 11 if depth else 7)
    if choice < 6:
        return WORDS[data.ConsumeIntInRange(0, len(WORDS) - 1)]
    if choice == 6:
        return data.ConsumeUnicode(6)
    if choice == 7:
        return Text(data.ConsumeUnicode(3))
    if choice == 8:
        return [value(data, depth - 1) for _ in range(data.ConsumeIntInRange(0, 3))]
    if choice == 9:
        return tuple(value(data, depth - 1) for _ in range(data.ConsumeIntInRange(0, 2)))
    return row(data, depth - 1)


def row(data: atheris.FuzzedDataProvider, depth: int) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    for _ in range(data.ConsumeIntInRange(0, 5)):
        key = WORDS[data.ConsumeIntInRange(0, 7)]
        if data.ConsumeIntInRange(0, 9) == 0:
            key = Text(key)
        made[key] = value(data, depth)
    return made


def conversation(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        data = atheris.FuzzedDataProvider(raw)
        return [value(data, 3) for _ in range(data.ConsumeIntInRange(0, 12))]


def outcome(function: Any, messages: Any) -> tuple[str, str]:
    """Return all that can be seen of a call: what it returns or raises, and what it left."""
    try:
        answer = repr(function(messages))
    except (TypeError, ValueError, RecursionError) as error:
        answer = f"{type(error).__name__}: {error}"
    return answer, repr(messages)


def compare(raw: bytes) -> None:
    for verb in VERBS:
        reference = outcome(getattr(_pure, verb), conversation(raw))
        compiled = outcome(getattr(_native, verb), conversation(raw))
        if reference != compiled:
            raise AssertionError(f"{verb}: {reference} is not {compiled}")
    messages = conversation(raw)
    one = outcome(_pure.coerce_content, messages)
    if one != outcome(_native.coerce_content, messages):
        raise AssertionError(f"coerce_content: {one}")


def seeds(place: Path) -> None:
    """Write what the fuzzer begins with: the test vectors, where they are."""
    vectors = Path(__file__).resolve().parent.parent / "tests" / "data"
    histories: list[Any] = [[{"role": "user", "content": "hi"}]]
    for path in sorted(vectors.rglob("*.json")):
        histories += inputs(json.loads(path.read_text(encoding="utf-8")))
    for number, history in enumerate(histories):
        (place / str(number)).write_text(json.dumps(history))


def inputs(found: Any) -> list[Any]:
    """Return every list of messages in a vector file."""
    if isinstance(found, list):
        if found and all(isinstance(row, dict) and "role" in row for row in found):
            return [found]
        return [history for part in found for history in inputs(part)]
    if isinstance(found, dict):
        return [history for part in found.values() for history in inputs(part)]
    return []


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as corpus:
        seeds(Path(corpus))
        atheris.Setup([*sys.argv, corpus], compare)
        atheris.Fuzz()
