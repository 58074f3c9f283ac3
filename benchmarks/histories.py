"""Agent histories to measure with: the one generator, the hostile shapes, and real runs.

A history is made as JSON *bytes* and decoded when it is wanted, because what a JSON decoder hands
out is what programs normalize: ids that nobody hashed yet, and key objects that rows share. Nothing
here imports flowdrop_fast, so the generator cannot inherit its mistakes.
"""

from __future__ import annotations

import gzip
import itertools
import json
import lzma
import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Row = Any  # what a JSON document may hold where a message should be, faults included

try:
    import orjson
except ImportError:  # the standard decoder shares keys within a document just the same
    decode: Callable[[bytes], Any] = json.loads
    DECODER = "json"
else:
    decode = orjson.loads
    DECODER = "orjson"

SHAPES = ("flat", "stored", "provider")
SYNTHETIC = "Tool call was interrupted; no result."

_ID_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_TOOLS = ("search_orders", "read_file", "run_query", "http_get", "list_tickets", "send_mail")
_PROSE = """
the order was shipped on Monday and the customer asked for a refund of the second item
{"status": "ok", "rows": [1, 2, 3], "next": null} error: connection reset by peer, retrying
def total(items): return sum(item.price for item in items) | 2024-05-15T15:00:00Z | 42.50 EUR
"""
_WORDS = _PROSE.split()
_FOREIGN_WORDS = ["Zürich", "déjà", "vu", "—", "“quoted”", "東京", "naïve", "✓"]
_FOREIGN_SHARE = 0.06  # of texts: model prose is mostly ASCII, with a dash or a name now and then


# --- the generator ------------------------------------------------------------------------------


def encoded(
    messages: int,
    shape: str = "flat",
    *,
    broken: float = 0.0,
    faults: tuple[str, ...] | None = None,
    seed: int = 0,
) -> bytes:
    """Return one agent history as JSON bytes, the same for the same arguments.

    A turn is a user's question, one to four rounds of one to three tool calls with their results
    (200 to 4,000 characters), and an answer; about 1.35 kB of JSON a message.

    Args:
        messages: rows to make, exact for a clean history; faults add and remove some.
        shape: ``"flat"``, ``"stored"`` (metadata and timestamp) or ``"provider"`` (OpenAI chat).
        broken: faults for each row, 0.05 for the usual 5 %.
        faults: kinds to mix, from `FAULTS`; all of them by default, in equal parts.
        seed: of the one random generator used.

    Returns:
        A JSON array of rows. `decode` gives the list.

    Raises:
        ValueError: for an unknown shape or kind of fault.
    """
    if shape not in SHAPES:
        raise ValueError(f"unknown shape {shape!r}: one of {', '.join(SHAPES)}")
    unknown = set(faults or ()) - set(FAULTS)
    if unknown:
        raise ValueError(f"unknown faults: {', '.join(sorted(unknown))}")
    rng = random.Random(f"{seed}/{messages}")
    blocks = list(_clean_blocks(rng, messages))
    if broken:
        blocks = _break(rng, blocks, round(broken * messages), faults or tuple(FAULTS))
    rows = itertools.chain.from_iterable(blocks)
    reshape = _RESHAPERS[shape]
    return json.dumps([reshape(i, row) for i, row in enumerate(rows)], ensure_ascii=False).encode()


def fresh(data: bytes, copies: int) -> list[list[Row]]:
    """Decode `data` into `copies` lists that share nothing and whose ids were never hashed."""
    return [decode(data) for _ in range(copies)]


def _clean_blocks(rng: random.Random, messages: int) -> Iterator[list[Row]]:
    """Yield the history in blocks that belong together: one row, or a calling turn and results."""
    texts = _Texts(rng)
    left = messages
    if left:
        yield [{"role": "system", "content": texts.between(600, 2000)}]
        left -= 1
    while left:
        yield [{"role": "user", "content": texts.between(20, 400)}]
        left -= 1
        for _ in range(rng.randint(1, 4)):
            if left < 2:
                break
            wanted = rng.choice((1, 1, 1, 2, 2, 3))
            calls = [_call(rng, texts) for _ in range(min(wanted, left - 1))]
            thought = texts.between(30, 300) if rng.random() < 0.4 else ""
            turn = {"role": "assistant", "content": thought, "tool_calls": calls}
            yield [turn, *(_result(call, texts.between(200, 4000)) for call in calls)]
            left -= 1 + len(calls)
        if left:
            yield [{"role": "assistant", "content": texts.between(100, 1600)}]
            left -= 1


class _Texts:
    """Cuts texts of a wanted length out of two long ones, so that 100,000 rows are made quickly."""

    _LENGTH = 200_000

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._plain = " ".join(rng.choices(_WORDS, k=self._LENGTH // 4))[: self._LENGTH]
        mixed = rng.choices(_WORDS * 4 + _FOREIGN_WORDS, k=self._LENGTH // 4)
        self._foreign = " ".join(mixed)[: self._LENGTH]

    def between(self, low: int, high: int) -> str:
        length = self._rng.randint(low, high)
        start = self._rng.randrange(self._LENGTH // 2)
        source = self._foreign if self._rng.random() < _FOREIGN_SHARE else self._plain
        return source[start : start + length]


def _new_id(rng: random.Random) -> str:
    return "call_" + "".join(rng.choices(_ID_LETTERS, k=24))


def _call(rng: random.Random, texts: _Texts) -> dict[str, Any]:
    arguments = {"query": texts.between(10, 120), "limit": rng.randint(1, 50)}
    return {"tool_call_id": _new_id(rng), "name": rng.choice(_TOOLS), "arguments": arguments}


def _result(call: dict[str, Any], text: str) -> dict[str, Any]:
    return {"role": "tool", "content": text, "tool_call_id": call["tool_call_id"]}


# --- faults -------------------------------------------------------------------------------------
#
# Each takes a calling block (the turn and its results) and an id declared before it, and gives the
# rows that stand there instead. Named after the records that they chiefly cause.


def _not_a_message(block: list[Row], _earlier: str) -> list[Row]:
    return [*block, "a line of a log"]


def _no_role(block: list[Row], _earlier: str) -> list[Row]:
    return [*block, {"content": "whose is this?"}]


def _unusable_call(block: list[Row], _earlier: str) -> list[Row]:
    turn, result, *others = block
    first, *calls = turn["tool_calls"]
    turn = {**turn, "tool_calls": [{**first, "tool_call_id": "0"}, *calls]}
    return [turn, {**result, "tool_call_id": "0"}, *others]


def _duplicate_call(block: list[Row], earlier: str) -> list[Row]:
    turn, *results = block
    repeated = {**turn["tool_calls"][0], "tool_call_id": earlier}
    return [{**turn, "tool_calls": [*turn["tool_calls"], repeated]}, *results]


def _emptied_turn(block: list[Row], earlier: str) -> list[Row]:
    turn, result, *_ = block
    repeated = {**turn["tool_calls"][0], "tool_call_id": earlier}
    return [
        {**turn, "content": "", "tool_calls": [repeated]},
        {**result, "tool_call_id": earlier},
    ]


def _orphan_result(block: list[Row], _earlier: str) -> list[Row]:
    _, result, *_ = block
    return [*block, {**result, "tool_call_id": result["tool_call_id"] + "x"}]


def _early_result(block: list[Row], _earlier: str) -> list[Row]:
    turn, result, *others = block
    return [result, turn, *others]


def _duplicate_result(block: list[Row], _earlier: str) -> list[Row]:
    return [*block, dict(block[-1])]


def _interrupted_result(block: list[Row], _earlier: str) -> list[Row]:
    return block[:-1]


def _moved_result(block: list[Row], _earlier: str) -> list[Row]:
    turn, *results = block
    return [turn, {"role": "user", "content": "are you still there?"}, *results]


def _moved_system(block: list[Row], _earlier: str) -> list[Row]:
    return [*block, {"role": "system", "content": "The policy changed: refunds need approval."}]


FAULTS: dict[str, Callable[[list[Row], str], list[Row]]] = {
    fault.__name__[1:]: fault
    for fault in (
        _not_a_message,
        _no_role,
        _unusable_call,
        _duplicate_call,
        _emptied_turn,
        _orphan_result,
        _early_result,
        _duplicate_result,
        _interrupted_result,
        _moved_result,
        _moved_system,
    )
}

PAIRING_FAULTS = (
    "duplicate_call",
    "orphan_result",
    "early_result",
    "duplicate_result",
    "interrupted_result",
    "moved_result",
)
"""The faults that any repair of tool pairing claims to mend: readable rows, usable ids."""


def _break(
    rng: random.Random, blocks: list[list[Row]], count: int, kinds: tuple[str, ...]
) -> list[list[Row]]:
    """Put `count` faults into as many calling blocks, going round `kinds` in turn."""
    calling = [i for i, block in enumerate(blocks) if len(block) > 1]
    # The first calling block stays whole: the others repeat its id.
    earlier = blocks[calling[0]][0]["tool_calls"][0]["tool_call_id"] if calling else ""
    chosen = rng.sample(calling[1:], min(count, len(calling[1:])))
    broken = list(blocks)
    for place, kind in zip(chosen, itertools.cycle(kinds), strict=False):
        broken[place] = FAULTS[kind](blocks[place], earlier)
    return broken


# --- shapes -------------------------------------------------------------------------------------


def _as_flat(_index: int, row: Row) -> Row:
    return row


def _as_stored(index: int, row: Row) -> Row:
    """Pairing keys go below ``metadata``, as a chat store keeps them."""
    if not isinstance(row, dict):
        return row
    stored = {key: row[key] for key in ("role", "content") if key in row}
    metadata = {key: row[key] for key in ("tool_calls", "tool_call_id") if key in row}
    stored["metadata"] = metadata
    stored["timestamp"] = 1_700_000_000 + index
    return stored


def _as_provider(_index: int, row: Row) -> Row:
    """OpenAI chat rows: nested functions, JSON text for arguments, no content beside calls."""
    if not isinstance(row, dict) or "tool_calls" not in row:
        return row
    calls = [
        {
            "id": call["tool_call_id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
        }
        for call in row["tool_calls"]
    ]
    return {**row, "content": row["content"] or None, "tool_calls": calls}


_RESHAPERS: dict[str, Callable[[int, Row], Row]] = {
    "flat": _as_flat,
    "stored": _as_stored,
    "provider": _as_provider,
}


# --- hostile shapes -----------------------------------------------------------------------------


def _turn(*ids: str) -> Row:
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"tool_call_id": id_, "name": "search"} for id_ in ids],
    }


def _answer(id_: str, content: str = "done") -> Row:
    return {"role": "tool", "content": content, "tool_call_id": id_}


def _ids(n: int) -> list[str]:
    return [f"call_{i:024d}" for i in range(n)]


def _hostile_answered(n: int) -> list[Row]:
    return [_turn(*_ids(n)), *map(_answer, _ids(n))]


def _hostile_unanswered(n: int) -> list[Row]:
    return [_turn(*_ids(n))]


def _hostile_reversed(n: int) -> list[Row]:
    return [_turn(*_ids(n)), *map(_answer, reversed(_ids(n)))]


def _hostile_orphans(n: int) -> list[Row]:
    return [_answer(id_) for id_ in _ids(n)]


def _hostile_early(n: int) -> list[Row]:
    return [*map(_answer, _ids(n)), _turn(*_ids(n))]


def _hostile_equal_calls(n: int) -> list[Row]:
    return [_turn(*["call_same"] * n)]


def _hostile_equal_turns(n: int) -> list[Row]:
    return [row for _ in range(n // 2) for row in (_turn("call_same"), _answer("call_same"))]


def _hostile_user_rows(n: int) -> list[Row]:
    return [{"role": "user", "content": f"message {i}"} for i in range(n)]


def _hostile_alternating(n: int) -> list[Row]:
    """System and user rows in turn: every other row moves."""
    return [{"role": ("system", "user")[i % 2], "content": f"message {i}"} for i in range(n)]


def _hostile_user_between(n: int) -> list[Row]:
    """One turn of n/2 calls, a user row in front of each of its results."""
    rows = [_turn(*_ids(n // 2))]
    for id_ in _ids(n // 2):
        rows += [{"role": "user", "content": "still there?"}, _answer(id_)]
    return rows


def _hostile_placeholders(n: int) -> list[Row]:
    """One call answered by n placeholders, then by the real result."""
    return [_turn("call_same"), *[_answer("call_same", SYNTHETIC)] * n, _answer("call_same")]


def _hostile_replaced_placeholders(n: int) -> list[Row]:
    """One turn of n/2 calls: a placeholder for each, then the real result of each."""
    ids = _ids(n // 2)
    return [_turn(*ids), *[_answer(id_, SYNTHETIC) for id_ in ids], *map(_answer, ids)]


HOSTILE: dict[str, Callable[[int], list[Row]]] = {
    "one turn, n calls answered": _hostile_answered,
    "one turn, n calls unanswered": _hostile_unanswered,
    "one turn, n calls answered in reverse": _hostile_reversed,
    "one turn, n calls, a user before each result": _hostile_user_between,
    "n orphans": _hostile_orphans,
    "n results before their turn": _hostile_early,
    "n equal ids in one turn": _hostile_equal_calls,
    "n equal ids, a turn each": _hostile_equal_turns,
    "n user rows": _hostile_user_rows,
    "n system and user rows, alternating": _hostile_alternating,
    "n placeholders of one call": _hostile_placeholders,
    "n placeholders, then results": _hostile_replaced_placeholders,
}


def hostile(name: str, n: int) -> bytes:
    """Return the hostile shape `name` of `HOSTILE` for `n`, as JSON bytes."""
    return json.dumps(HOSTILE[name](n)).encode()


# --- real runs ----------------------------------------------------------------------------------


def real(path: Path) -> list[bytes]:
    """Load recorded runs, one JSON array of messages (as bytes) for each.

    Args:
        path: JSON Lines, plain or as ``.gz`` or ``.xz``; a line is a list of messages, or an object
            whose ``messages`` is one.

    Raises:
        ValueError: naming the line that holds no messages.
    """
    openers: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}
    opener = openers.get(path.suffix, open)
    runs = []
    with opener(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            document = json.loads(line)
            messages = document.get("messages") if isinstance(document, dict) else document
            if not isinstance(messages, list):
                raise ValueError(f"{path}, line {number}: no list of messages")
            runs.append(json.dumps(messages, ensure_ascii=False).encode())
    return runs
