"""The lines that tell of changed conversations and of their records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from flowdrop_fast import Record
from flowdrop_fast._results import DROP_KINDS, INTERRUPTED_RESULT


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


def verb_of(kind: str) -> str:
    """Whether a kind of record tells of something dropped, made or moved."""
    if kind in DROP_KINDS:
        return "dropped"
    return "made" if kind == INTERRUPTED_RESULT else "moved"
