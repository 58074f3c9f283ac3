"""One conversation: found in a JSON value, normalized, put back. Knows no files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flowdrop_fast import Record, explain_conversation

from .errors import UnreadableError


@dataclass(frozen=True, slots=True)
class Treated:
    """A conversation and what normalization made of it.

    Attributes:
        before: the messages as they were stored.
        after: the messages as they leave.
        records: all that was dropped, made or moved.
        value: the whole value, with the messages put back in their place.
    """

    before: list[Any]
    after: list[Any]
    records: list[Record]
    value: Any

    @property
    def changed(self) -> bool:
        """Whether it has to be written anew."""
        return bool(self.records) or self.before != self.after


def treat(value: Any) -> Treated:
    """Normalize the conversation that a JSON value holds: a list, or an object with one.

    Raises:
        UnreadableError: if it holds none.

    >>> treated = treat({"id": 7, "messages": [{"role": "user", "content": "hi"}, None]})
    >>> treated.value
    {'id': 7, 'messages': [{'role': 'user', 'content': 'hi'}]}
    """
    if isinstance(value, list):
        explanation = explain_conversation(value)
        return Treated(value, explanation.messages, explanation.records, explanation.messages)
    if not isinstance(value, dict):
        raise UnreadableError(f"no conversation: {describe(value)}, not a list or an object")
    if "messages" not in value:
        raise UnreadableError("no conversation: an object without the key 'messages'")
    before = value["messages"]
    if not isinstance(before, list):
        raise UnreadableError(f"no conversation: 'messages' is {describe(before)}, not a list")
    explanation = explain_conversation(before)
    whole = {**value, "messages": explanation.messages}
    return Treated(before, explanation.messages, explanation.records, whole)


def describe(value: Any) -> str:
    """What JSON calls a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "a list" if isinstance(value, list) else "an object"
