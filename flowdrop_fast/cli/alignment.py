"""Pairs the rows of a stored conversation with the rows that normalization made of them.

The records say what happened to which entry; what is left to find out is where it went. How the
pairs are drawn is the views' business.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from flowdrop_fast import Record, explain_conversation
from flowdrop_fast._results import (
    DROP_KINDS,
    DUPLICATE_CALL,
    INTERRUPTED_RESULT,
    MERGED_SYSTEM,
    MOVED_RESULT,
    MOVED_SYSTEM,
    UNUSABLE_CALL,
)

from .conversations import Options, Treated

KEPT = "kept"
DROPPED = "dropped"
MADE = "made"
MOVED_AWAY = "moved away"
MOVED_HERE = "moved here"

_DROPPED_CALLS = (UNUSABLE_CALL, DUPLICATE_CALL)
_MOVED = (MOVED_RESULT, MOVED_SYSTEM, MERGED_SYSTEM)


@dataclass(slots=True)
class Pair:
    """One line of the side-by-side view.

    Attributes:
        fate: what happened: kept, dropped, made, moved away or moved here.
        source: index of the entry in the input; None for a made row.
        before: the entry; None if nothing stands on this side.
        after: the row that leaves; None if nothing stands on this side.
        records: the records to tell here.
    """

    fate: str
    source: int | None
    before: Any = None
    after: Any = None
    records: list[Record] = field(default_factory=list)


def align(treated: Treated, options: Options) -> list[Pair]:
    """Pair every entry and every row that leaves, in the order they are read from the top.

    Args:
        treated: a conversation, before and after.
        options: those that it was normalized with.

    Returns:
        Pairs in which each entry stands once, or twice if it moved, and so does each row.
    """
    before, after = treated.before, treated.after
    told: dict[int, list[Record]] = {}
    made: dict[tuple[int, str | None], Record] = {}
    dropped: set[int] = set()
    moved: set[int] = set()
    for record in treated.records:
        if record.kind == INTERRUPTED_RESULT:
            made[record.index, record.id] = record
            continue
        told.setdefault(record.index, []).append(record)
        if record.kind in DROP_KINDS and record.kind not in _DROPPED_CALLS:
            dropped.add(record.index)
        elif record.kind in _MOVED:
            moved.add(record.index)

    front: list[Pair] = []
    lines: dict[int, list[Pair]] = {}  # a kept entry, and the rows made or moved to behind it
    behind = front
    last = turn = -1
    for row, source in zip(after, _find_sources(before, options), strict=True):
        if source is None:
            why = made.pop((turn, row.get("tool_call_id")), None)
            behind.append(Pair(MADE, None, None, row, [] if why is None else [why]))
            continue
        if row["role"] != "tool":
            turn = source
        if source in moved or source < last:
            moved.add(source)
            behind.append(Pair(MOVED_HERE, source, None, row))
        else:
            last = source
            behind = lines[source] = [Pair(KEPT, source, before[source], row)]
    pairs = front
    for index, entry in enumerate(before):
        if index in lines and index not in moved:
            lines[index][0].records = told.get(index, [])
            pairs += lines[index]
        else:
            fate = DROPPED if index in dropped else MOVED_AWAY
            pairs.append(Pair(fate, index, entry, None, told.get(index, [])))
    return pairs


def _find_sources(before: list[Any], options: Options) -> list[int | None]:
    """The entry that each row was made of; None for rows that were made of none.

    The conversation is normalized once more with a mark on each entry that is kept on the rows.
    """
    mark = "source"
    while any(isinstance(entry, dict) and mark in entry for entry in before):
        mark += "_"
    marked = [
        {**entry, mark: index} if isinstance(entry, dict) else entry
        for index, entry in enumerate(before)
    ]
    keep = (*options.get("keep", ()), mark)
    rows: list[Any] = explain_conversation(marked, **{**options, "keep": keep}).messages
    return [row.get(mark) for row in rows]  # a merged row has the mark of the first
