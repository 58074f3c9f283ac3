"""What a view shows of one row: its role, its text, its calls. How it is drawn is not said here."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from flowdrop_fast import coerce_content
from flowdrop_fast._reading import (
    lookup,
    read_call,
    read_calls,
    read_mapping,
    read_metadata,
    usable_id,
)

_CALL_KEYS = {"id", "tool_call_id", "type", "function", "name", "arguments"}


@dataclass(frozen=True, slots=True)
class Cell:
    """One row as people read it.

    Attributes:
        title: the role, and what a tool result answers.
        text: the content as text.
        calls: one line each.
    """

    title: str
    text: str
    calls: list[str]


def make_cell(entry: Any) -> Cell:
    """Read an entry of any shape as far as it can be read.

    >>> make_cell({"role": "tool", "content": "21 C", "metadata": {"tool_call_id": "c1"}}).title
    'tool, answers c1 (in metadata)'
    """
    fields = read_mapping(entry)
    if fields is None:
        return Cell("not a message", _json(entry), [])
    role = fields.get("role")
    title = role if isinstance(role, str) and role.strip() else "no role"
    metadata = read_metadata(fields.get("metadata"))
    calls: list[str] = []
    if role == "tool":
        id = usable_id(fields.get("tool_call_id"))
        lifted = usable_id(lookup(metadata, "tool_call_id")) if id is None else None
        if id is not None:
            title += f", answers {id}"
        elif lifted is not None:
            title += f", answers {lifted} (in metadata)"
        else:
            title += ", answers nothing"
    elif role == "assistant":
        found = read_calls(fields.get("tool_calls"))
        if not found:
            found = read_calls(lookup(metadata, "tool_calls"))
            if found:
                title += " (calls in metadata)"
        calls = [_call_line(call) for call in found]
    return Cell(title, coerce_content(fields.get("content")), calls)


def _call_line(call: Any) -> str:
    usable = read_call(call)
    id = "no usable id" if usable is None else usable[0]
    mapping = read_mapping(call)
    if mapping is None:
        return f"calls {_json(call)} [{id}]"
    function = read_mapping(mapping.get("function")) or {}
    name = mapping.get("name") or function.get("name")
    arguments = mapping.get("arguments", function.get("arguments"))
    if arguments is None:
        rest = {key: value for key, value in mapping.items() if key not in _CALL_KEYS}
        arguments = rest or ""
    if not isinstance(arguments, str):
        arguments = _json(arguments)
    return f"calls {name if isinstance(name, str) else '?'} [{id}] {arguments}".rstrip()


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "(nested too deeply to be shown)"
