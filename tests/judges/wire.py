"""From normalized rows to what a judge reads: OpenAI rows, and as little else as can be.

What a conversation normalizer cannot know is filled in here, the same for every judge: a name for
calls that carry none, and `user` for roles that no provider defines. What is judged is the rest.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

from flowdrop_fast.openai import to_openai

Row = dict[str, Any]

PROVIDER_ROLES = frozenset(("system", "user", "assistant", "tool"))
FILLER: Row = {"role": "user", "content": "Go on."}


def openai_rows(messages: Iterable[Mapping[str, Any]]) -> list[Row]:
    """OpenAI chat rows, with what is missing filled in."""
    return to_openai([_filled(row) for row in messages], repair_arguments=True)


def _filled(message: Mapping[str, Any]) -> Row:
    row = dict(message)
    if row["role"] not in PROVIDER_ROLES:
        row["role"] = "user"
    if row.get("tool_calls"):
        row["tool_calls"] = [_named(call) for call in row["tool_calls"]]
    return row


def _named(call: Mapping[str, Any]) -> Mapping[str, Any]:
    function = call.get("function")
    if isinstance(function, Mapping):
        return {**call, "function": {**function, "name": function.get("name") or "unnamed"}}
    return call if function or call.get("name") else {**call, "name": "unnamed"}


def request_rows(messages: Iterable[Mapping[str, Any]]) -> list[Row]:
    """OpenAI rows as a request: they start with a user turn, and end where a model may answer.

    Many a judge refuses what starts with the assistant, which OpenAI takes, or never looks at the
    first row. With a user turn in front, all of what was there is looked at.
    """
    rows = openai_rows(messages)
    lead = sum(row["role"] == "system" for row in rows)
    if rows[lead:] == [] or rows[lead]["role"] != "user":
        rows.insert(lead, FILLER)
    if rows[-1]["role"] == "assistant":
        rows.append(FILLER)
    return rows


def without_blank_users(rows: Iterable[Row]) -> list[Row]:
    """Rows in which no user turn is blank, which no provider but OpenAI takes as a turn."""
    return [
        {**row, "content": FILLER["content"]}
        if row["role"] == "user" and not row["content"].strip()
        else row
        for row in rows
    ]


def renamed_ids(rows: Iterable[Row], only: Container[str] | None = None) -> list[Row]:
    """Rows with each call id replaced by one of nine alphanumerics, equal where they were equal.

    Given `only`, ids that are not in it stay as they are.
    """
    names: dict[str, str] = {}

    def name(id: str) -> str:
        if only is not None and id not in only:
            return id
        return names.setdefault(id, f"id{len(names):07}")

    renamed = []
    for row in rows:
        copy = dict(row)
        if "tool_call_id" in row:
            copy["tool_call_id"] = name(row["tool_call_id"])
        if "tool_calls" in row:
            copy["tool_calls"] = [{**call, "id": name(call["id"])} for call in row["tool_calls"]]
        renamed.append(copy)
    return renamed


def drain(value: Any) -> Any:
    """Walk a validated value to its end: pydantic validates iterables only as they are read."""
    if isinstance(value, Mapping):
        return {key: drain(item) for key, item in value.items()}
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        return value
    return [drain(item) for item in value]
