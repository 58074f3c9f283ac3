"""What is put to the judges: every vector, and seeded random histories as nasty as stores hold.

The generated ones mix stored, flat and provider rows; reuse, repeat, blank out and scramble ids;
and cut, repeat and reorder what was once a sensible run. Names and arguments are always there and
always valid: no normalization could invent them, so no judge is asked about them.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent.parent / "data"
GENERATED = 2000
SEED = 20260517

Row = dict[str, Any]

_USABLE_IDS = ("c1", "c2", "c3", "call_4", "toolu_5", "functions.look:0", "a" * 45, "7 up", 8)
_UNUSABLE_IDS = ("", "0", "  ", None, 0, True, 1.5, ["c1"])
_TOOLS = ("search", "tide_level", "read-log")
_TEXTS = ("ok", "", "  ", "Grüße 🌊", "0", '{"level": 2.1}', "line\nline")
_ODD_CONTENT = (None, 0, True, 2.5, {"level": 2.1}, ["a", {"b": None}], {1, 2})
_ODD_ENTRIES = (None, "text", 7, [], {}, {"content": "no role"}, {"role": " "}, {"role": None})


def vectors() -> dict[str, Any]:
    """The inputs of all vectors, by name."""
    found = {}
    for name in ("normalize.json", "normalize_seen.json"):
        for vector in json.loads((DATA / name).read_text(encoding="utf-8")):
            found[vector["id"]] = vector["input"]
    return found


def generated(count: int = GENERATED, seed: int = SEED) -> dict[str, Any]:
    """Random histories, by name: the same ones in every run."""
    return {
        f"generated-{number}": _history(random.Random(seed * 100_000 + number))
        for number in range(count)
    }


def _history(rng: random.Random) -> list[Any]:
    """A run of exchanges in which everything goes wrong that can."""
    rows: list[Any] = []
    for _ in range(rng.randint(0, 6)):
        rows += _exchange(rng)
    for _ in range(rng.randint(0, 3)):
        rng.choice((_cut, _repeat, _swap, _insert_odd, _shuffle))(rng, rows)
    return rows


def _exchange(rng: random.Random) -> list[Any]:
    rows = []
    if rng.random() < 0.15:
        rows.append({"role": "system", "content": _content(rng)})
    if rng.random() < 0.7:
        rows.append({"role": "user", "content": _content(rng)})
    if rng.random() < 0.8:
        ids = [_id(rng) for _ in range(rng.choice((0, 1, 1, 1, 2, 3)))]
        rows.append(_assistant(rng, ids))
        answered = [id for id in ids if rng.random() < 0.8]
        rng.shuffle(answered)
        if rng.random() < 0.1:
            answered.append(_id(rng))
        rows += [_result(rng, id) for id in answered]
    if rng.random() < 0.5:
        rows.append({"role": "assistant", "content": _content(rng)})
    return rows


def _id(rng: random.Random) -> Any:
    return rng.choice(_UNUSABLE_IDS if rng.random() < 0.12 else _USABLE_IDS)


def _content(rng: random.Random) -> Any:
    return rng.choice(_ODD_CONTENT if rng.random() < 0.15 else _TEXTS)


def _call(rng: random.Random, id: Any) -> Any:
    name, arguments = rng.choice(_TOOLS), {"q": rng.choice(_TEXTS)}
    text = json.dumps(arguments)
    return rng.choice(
        (
            {"tool_call_id": id, "name": name, "args": arguments},
            {"id": id, "name": name, "args": arguments},
            {"id": id, "function": name, "arguments": arguments},
            {"id": id, "type": "function", "function": {"name": name, "arguments": text}},
        )
    )


def _assistant(rng: random.Random, ids: list[Any]) -> Row:
    calls = [_call(rng, id) for id in ids]
    row = {"role": "assistant", "content": rng.choice(("", None, "one moment", _content(rng)))}
    if rng.random() < 0.3:
        return {**row, "metadata": {"tool_calls": calls}, "timestamp": 1755000000}
    return {**row, "tool_calls": calls}


def _result(rng: random.Random, id: Any) -> Row:
    row = {"role": "tool", "content": _content(rng)}
    if rng.random() < 0.3:
        return {**row, "metadata": {"tool_call_id": id, "healed": rng.random() < 0.3}}
    return {**row, "tool_call_id": id}


def _cut(rng: random.Random, rows: list[Any]) -> None:
    """What a sliding window or a crash leaves."""
    start, end = sorted((rng.randint(0, len(rows)), rng.randint(0, len(rows))))
    rows[:] = rng.choice((rows[start:], rows[:end]))


def _repeat(rng: random.Random, rows: list[Any]) -> None:
    """What a replayed event or a second writer leaves."""
    if rows:
        rows.insert(rng.randint(0, len(rows)), rng.choice(rows))


def _swap(rng: random.Random, rows: list[Any]) -> None:
    if rows:
        one, other = rng.randrange(len(rows)), rng.randrange(len(rows))
        rows[one], rows[other] = rows[other], rows[one]


def _shuffle(rng: random.Random, rows: list[Any]) -> None:
    """What sorting by equal timestamps leaves."""
    start = rng.randint(0, len(rows))
    part = rows[start : start + 4]
    rng.shuffle(part)
    rows[start : start + 4] = part


def _insert_odd(rng: random.Random, rows: list[Any]) -> None:
    rows.insert(rng.randint(0, len(rows)), rng.choice(_ODD_ENTRIES))
