"""The shapes of messages, for type checkers. Nothing lives here that runs."""

from __future__ import annotations

from typing import Any, TypeAlias, TypedDict

ToolCall: TypeAlias = dict[str, Any]
"""One tool call; its id stands under `"tool_call_id"` or `"id"`, other keys are the provider's."""


class _RoleAndContent(TypedDict):
    role: str
    content: str


class Message(_RoleAndContent, total=False):
    """A flat row, the only thing that leaves normalization.

    `tool_calls` stands on an assistant turn that makes calls, `tool_call_id` on a tool result.
    """

    tool_calls: list[ToolCall]
    tool_call_id: str


class MaybeMessage(TypedDict, total=False):
    """A flat row, or `{}` where there is no text to make one of."""

    role: str
    content: str
    tool_call_id: str
