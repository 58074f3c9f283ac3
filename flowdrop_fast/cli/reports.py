"""The lines that tell of changed conversations and of their records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from flowdrop_fast import Record
from flowdrop_fast._results import (
    DROP_KINDS,
    INTERRUPTED_RESULT,
    MERGED_SYSTEM,
    MOVED_RESULT,
    MOVED_SYSTEM,
    REIDENTIFIED_CALL,
    REIDENTIFIED_RESULT,
    RESHAPED_MESSAGE,
)

if TYPE_CHECKING:
    from .work import Totals


_VERBS = {
    INTERRUPTED_RESULT: "made",
    MOVED_RESULT: "moved",
    MOVED_SYSTEM: "moved",
    MERGED_SYSTEM: "merged",
    REIDENTIFIED_CALL: "renamed",
    REIDENTIFIED_RESULT: "renamed",
    RESHAPED_MESSAGE: "not flat",
}


def summarize(records: Iterable[Record]) -> str:
    """What was done to one conversation, in a few words.

    >>> from flowdrop_fast import explain_conversation
    >>> summarize(explain_conversation([None, {"role": "user"}, {}]).records)
    '2 dropped (1 not_a_message, 1 no_role)'
    """
    kinds = Counter(record.kind for record in records)
    groups: dict[str, list[str]] = {}
    totals: Counter[str] = Counter()
    for kind, count in kinds.items():
        verb = verb_of(kind)
        totals[verb] += count
        groups.setdefault(verb, []).append(f"{count} {kind}")
    parts = [f"{totals[verb]} {verb} ({', '.join(kinds)})" for verb, kinds in groups.items()]
    return "; ".join(parts) or "rows made flat, nothing dropped, made or moved"


def summary_rows(totals: Totals, set_aside: bool) -> list[tuple[str, str]]:
    """The rows of the summary: what was counted, and how often.

    Args:
        totals: the counts.
        set_aside: whether lines that cannot be read were set aside.
    """
    rows = [("conversations", totals.conversations), ("changed", totals.changed)]
    for verb in ("dropped", "made", "moved", "merged", "renamed", "not flat"):
        counts = [(f"  {kind}", n) for kind, n in totals.kinds.items() if verb_of(kind) == verb]
        if counts:
            rows.append((verb, sum(n for _, n in counts)))
            rows += sorted(counts)
    if totals.unreadable:
        rows.append(("set aside" if set_aside else "not readable", totals.unreadable))
    return [(name, f"{count:,}") for name, count in rows]


def verb_of(kind: str) -> str:
    """What was done where a kind of record is told: dropped, made, moved and so on.

    >>> verb_of("orphan_result"), verb_of("moved_system"), verb_of("reidentified_call")
    ('dropped', 'moved', 'renamed')
    """
    if kind in DROP_KINDS:
        return "dropped"
    return _VERBS[kind]


def counted(count: int, one: str, several: str) -> str:
    """A count with its noun.

    >>> counted(1, "entry", "entries"), counted(2, "entry", "entries")
    ('1 entry', '2 entries')
    """
    return f"{count} {one if count == 1 else several}"


def counts_of(before: list[object], after: list[object]) -> tuple[str, str]:
    """How many entries a conversation had, and how many messages leave.

    >>> counts_of([None, {}], [{}])
    ('2 stored entries', '1 message to send')
    """
    return (
        counted(len(before), "stored entry", "stored entries"),
        counted(len(after), "message to send", "messages to send"),
    )


def printable(text: str) -> str:
    r"""Text in which nothing can steer a terminal: what is not printable becomes an escape.

    >>> printable("red\x1b[31m")
    'red\\x1b[31m'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
