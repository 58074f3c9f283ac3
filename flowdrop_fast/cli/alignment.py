"""Pairs the rows of a stored conversation with the rows that normalization made of them.

The records say what happened to which entry; what is left to find out is where it went, and a
tool result is found by the call that it answers. How the pairs are drawn is the views' business.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from flowdrop_fast import Record
from flowdrop_fast._reading import lookup, read_mapping, read_metadata, read_role, usable_id
from flowdrop_fast._results import (
    DROP_KINDS,
    DUPLICATE_CALL,
    INTERRUPTED_RESULT,
    MOVED_RESULT,
    MOVED_SYSTEM,
    UNUSABLE_CALL,
)

KEPT = "kept"
DROPPED = "dropped"
MADE = "made"
MOVED_AWAY = "moved away"
MOVED_HERE = "moved here"

_DROPPED_CALLS = (UNUSABLE_CALL, DUPLICATE_CALL)
_MOVED = (MOVED_RESULT, MOVED_SYSTEM)


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


def align(before: list[Any], after: list[Any], records: list[Record]) -> list[Pair]:
    """Pair every entry and every row that leaves, in the order they are read from the top.

    Args:
        before: the stored entries.
        after: the rows that normalization made of them.
        records: its records.

    Returns:
        Pairs in which each entry stands once, or twice if it moved, and so does each row.
    """
    records_of: dict[int, list[Record]] = {}
    made: dict[str, Record] = {}
    dropped: set[int] = set()
    moved: set[int] = set()
    for record in records:
        if record.kind == INTERRUPTED_RESULT and record.id is not None:
            made[record.id] = record
            continue
        records_of.setdefault(record.index, []).append(record)
        if record.kind in DROP_KINDS and record.kind not in _DROPPED_CALLS:
            dropped.add(record.index)
        elif record.kind in _MOVED:
            moved.add(record.index)

    sources = _find_sources(before, after, dropped, made)
    front: list[Pair] = []
    lines: dict[int, list[Pair]] = {}  # a kept entry, and the rows made or moved to behind it
    behind = front
    last = -1
    for row, source in zip(after, sources, strict=True):
        if source is None:
            behind.append(Pair(MADE, None, None, row, [made[row["tool_call_id"]]]))
        elif source in moved or source < last:
            moved.add(source)
            behind.append(Pair(MOVED_HERE, source, None, row))
        else:
            last = source
            behind = lines[source] = [Pair(KEPT, source, before[source], row)]
    pairs = front
    for index, entry in enumerate(before):
        told = records_of.get(index, [])
        if index in dropped:
            pairs.append(Pair(DROPPED, index, entry, None, told))
        elif index in moved:
            pairs.append(Pair(MOVED_AWAY, index, entry, None, told))
        else:
            lines[index][0].records = told
            pairs += lines[index]
    return pairs


def _find_sources(
    before: list[Any], after: list[Any], dropped: set[int], made: dict[str, Record]
) -> list[int | None]:
    """The entry that each row was made of; None for results that were made."""
    results: dict[str, int] = {}
    system: list[int] = []
    others: list[int] = []
    for index, entry in enumerate(before):
        if index in dropped:
            continue
        fields = read_mapping(entry)
        role = read_role(lookup(fields, "role"))
        if role == "tool":
            metadata = read_metadata(lookup(fields, "metadata"))
            id = usable_id(lookup(fields, "tool_call_id"))
            results[id or usable_id(lookup(metadata, "tool_call_id")) or ""] = index
        else:
            (system if role == "system" else others).append(index)
    rest = iter(system + others)
    return [
        (None if row["tool_call_id"] in made else results[row["tool_call_id"]])
        if row["role"] == "tool"
        else next(rest)
        for row in after
    ]
