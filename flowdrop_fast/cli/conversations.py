"""One conversation: found in a JSON value, normalized, put back. Knows no files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from flowdrop_fast import Explanation, Record, check_conversation, explain_conversation
from flowdrop_fast._json import describe

from .errors import UnreadableError

Path = tuple[str, ...]

# Keyword options of normalization.
Options = dict[str, Any]

# Where `auto` looks in an object, in this order; the second is a batch request's place.
AUTO_PATHS: tuple[Path, ...] = (("messages",), ("body", "messages"))


@dataclass(frozen=True, slots=True)
class Treated:
    """A conversation and what normalization made of it.

    Attributes:
        before: the messages as they were stored.
        after: the messages as they leave.
        records: all that was dropped, made or moved.
        value: the whole value, with the messages that leave in their place.
    """

    before: list[Any]
    after: list[Any]
    records: list[Record]
    value: Any

    @property
    def changed(self) -> bool:
        """Whether it has to be written anew."""
        return bool(self.records) or self.before != self.after


def treat(value: Any, path: Path | None = None, options: Options | None = None) -> Treated:
    """Normalize the conversation that a JSON value holds.

    Args:
        value: what was read; the messages in it are replaced.
        path: the keys that lead to the messages; None to look where they usually are.
        options: those of normalization.

    Raises:
        UnreadableError: if there is no list of messages.

    >>> treated = treat({"id": 7, "messages": [{"role": "user", "content": "hi"}, None]})
    >>> treated.value
    {'id': 7, 'messages': [{'role': 'user', 'content': 'hi'}]}
    """
    before, holder, key = find_messages(value, path)
    explanation = explain_conversation(before, **(options or {}))
    if holder is None:
        value = explanation.messages
    else:
        holder[key] = explanation.messages
    return Treated(before, explanation.messages, explanation.records, value)


def find_messages(value: Any, path: Path | None) -> tuple[list[Any], Any, Any]:
    """The list of messages in a value, and what holds it, under which key.

    Returns:
        The list, the dict or list that it stands in, and its key or index there. The holder is
        None if the value itself is the list.

    Raises:
        UnreadableError: if there is no list of messages.
    """
    if path is not None:
        return _follow(value, path)
    if isinstance(value, list):
        if value and all(map(_is_conversation, value)):
            raise UnreadableError(
                "a list of conversations, not of messages: write one a line (jq -c '.[]')"
            )
        return value, None, None
    if not isinstance(value, dict):
        raise UnreadableError(f"no conversation: {describe(value)}, not a list or an object")
    for keys in AUTO_PATHS:
        try:
            return _follow(value, keys)
        except UnreadableError:
            continue
    if "messages" in value:
        found = describe(value["messages"])
        raise UnreadableError(f"no conversation: 'messages' is {found}, not a list")
    raise UnreadableError("no conversation: an object without the key 'messages'")


def _is_conversation(value: Any) -> bool:
    return (
        isinstance(value, dict) and "role" not in value and isinstance(value.get("messages"), list)
    )


def _follow(value: Any, path: Path) -> tuple[list[Any], Any, Any]:
    holder: Any = None
    key: Any = None
    for name in path:
        holder = value
        if isinstance(holder, dict):
            key = name
        elif isinstance(holder, list) and re.fullmatch("0|[1-9][0-9]{0,17}", name):
            key = int(name)
        else:
            raise UnreadableError(f"no conversation at {_pointer(path)}: it leads nowhere")
        try:
            value = holder[key]
        except LookupError:
            raise UnreadableError(f"no conversation at {_pointer(path)}: no {name!r}") from None
    if not isinstance(value, list):
        found = describe(value)
        raise UnreadableError(f"no conversation at {_pointer(path)}: {found}, not a list")
    return value, holder, key


def parse_pointer(text: str) -> Path:
    """A JSON pointer (RFC 6901) as the keys that it names.

    Raises:
        ValueError: if it is none.

    >>> parse_pointer("/data/a~1b/0")
    ('data', 'a/b', '0')
    """
    if text and not text.startswith("/"):
        raise ValueError(f"{text!r} is no JSON pointer: it must be empty or start with '/'")
    if re.search("~(?![01])", text):
        raise ValueError(f"{text!r} is no JSON pointer: '~' must be spelled '~0'")
    return tuple(key.replace("~1", "/").replace("~0", "~") for key in text.split("/")[1:])


def _pointer(path: Path) -> str:
    return "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in path) or "the top"


def explain_strictly(messages: list[Any]) -> Explanation:
    """What `explain_conversation` says, and a record for each row that is not flat yet.

    >>> explain_strictly([{"role": "user", "content": None}]).records[0].sentence
    'Entry 0 is not a flat row of text, normalization would lift it to that shape.'
    """
    explanation = explain_conversation(messages)
    told = {(record.kind, record.index) for record in explanation.records}
    reshaped = [
        Record(
            finding.kind,
            finding.index,
            None,
            f"{finding.sentence[:-1]}, normalization would {finding.cure}.",
        )
        for finding in check_conversation(messages)
        if (finding.kind, finding.index) not in told
    ]
    records = sorted(explanation.records + reshaped, key=_index_of)
    return explanation._replace(records=records)


def _index_of(record: Record) -> int:
    return record.index
