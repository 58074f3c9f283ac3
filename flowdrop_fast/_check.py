"""Checking whether a list is sendable as it is, with the eyes of the repair pass itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ._options import NORMALIZE, is_unchanged
from ._pure import run_pass
from ._reading import snapshot
from ._results import RESHAPED_MESSAGE, Finding, Note, make_findings


def check_conversation(messages: Iterable[object]) -> list[Finding]:
    """Tell why a list is not sendable as it is (MEM-5); nothing to tell, nothing to change.

    Args:
        messages: the entries, as for `normalize_conversation`.

    Returns:
        A finding for every record that normalization would make, and one for every row that is
        not yet flat, in the order of the input. None exactly when normalization of the rows
        would give them back.

    Raises:
        TypeError: if `messages` is a `str`, `bytes`, `bytearray`, a mapping or not iterable.

    >>> [finding] = check_conversation([{"role": "tool", "content": "ok", "tool_call_id": "c1"}])
    >>> finding.sentence, finding.cure
    ("Entry 0 is a result that answers 'c1', which no message calls.", 'drop it')
    """
    entries = snapshot(messages)
    reshaped: list[Note] = []

    def finish(index: int, fields: dict[Any, Any], row: Any) -> Any:
        if type(entries[index]) is not dict or not is_unchanged(fields, row):
            reshaped.append((RESHAPED_MESSAGE, index, None))
        return row

    drops: list[Note] = []
    changes: list[Note] = []
    run_pass(entries, NORMALIZE._replace(finish=finish), drops, changes)
    already_told = {index for _, index, _ in drops}  # a turn that loses calls is not the same row
    changes += [note for note in reshaped if note[1] not in already_told]
    return make_findings(drops, changes)
