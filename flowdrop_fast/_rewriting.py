"""Shallow copies of rows whose calls or ids the repair has to change (MEM-5, rules 3 and 4).

Shared by both backends. What has to change is decided there; here it is written back where it
was read: in the entry, or in its metadata.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

Fields = dict[Any, Any]


def with_calls(fields: Fields, metadata: Fields | None, kept: list[Any], lifted: bool) -> Fields:
    """A turn with the calls it keeps; without the key, in both places, when it keeps none.

    Args:
        fields: the entry.
        metadata: its metadata, as far as it can be read.
        kept: the calls it keeps.
        lifted: whether they were read from the metadata.
    """
    if not kept:
        row = _without_calls(fields)
        if metadata is not None:
            rest = _without_calls(metadata)
            if len(rest) < len(metadata):
                row["metadata"] = rest
        return row
    if lifted:
        return {**fields, "metadata": {**(metadata or {}), "tool_calls": kept}}
    return {**fields, "tool_calls": kept}


def with_id(fields: Fields, metadata: Fields | None, id: str) -> Fields:
    """A tool result with its id cleaned; `metadata` is given if the id was read from there."""
    if metadata is not None:
        return {**fields, "metadata": {**metadata, "tool_call_id": id}}
    return {**fields, "tool_call_id": id}


def _without_calls(mapping: Fields) -> Fields:
    copy = dict(mapping)
    with suppress(Exception):  # a stored key's own __eq__ may raise
        copy.pop("tool_calls", None)
    return copy
