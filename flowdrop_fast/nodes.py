"""The three workflow nodes: port names, JSON Schemas, and `process`. The rules live elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from ._assemble import assemble_messages
from ._backend import backend
from ._reading import type_name

JsonSchema = dict[str, Any]

_FLAT_ROW: JsonSchema = {
    "type": "object",
    "properties": {
        "role": {"type": "string"},
        "content": {"type": "string"},
        "tool_calls": {"type": "array", "items": {"type": "object"}, "minItems": 1},
        "tool_call_id": {"type": "string"},
    },
    "required": ["role", "content"],
    "additionalProperties": False,
}


def _object_schema(properties: JsonSchema, required: list[str]) -> JsonSchema:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": properties,
        "required": required,
    }


class ConversationNormalize:
    """`conversation_normalize`: one message list in, a sendable one and the drops out (MEM-5).

    >>> ConversationNormalize().process({"messages": [{"role": "user", "content": 7}, None]})
    {'messages': [{'role': 'user', 'content': '7'}], 'dropped': 1}
    """

    id: ClassVar[str] = "conversation_normalize"
    input_schema: ClassVar[JsonSchema] = _object_schema(
        {"messages": {"type": ["array", "null"], "description": "Entries in any stored shape."}}, []
    )
    output_schema: ClassVar[JsonSchema] = _object_schema(
        {
            "messages": {"type": "array", "items": _FLAT_ROW},
            "dropped": {"type": "integer", "minimum": 0},
        },
        ["messages", "dropped"],
    )

    def process(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Normalize what stands on `messages`; an unwired or `None` input is an empty list.

        Raises:
            TypeError: if `messages` is text, bytes, a mapping or not iterable.
        """
        messages = inputs.get("messages")
        normalized = backend.normalize_conversation([] if messages is None else messages)
        return normalized._asdict()


class TextToMessage:
    """`text_to_message`: a text and a role in, one well-formed message or none out (MEM-16).

    >>> TextToMessage().process({"text": "hello", "role": "operator"})["message"]
    {'role': 'user', 'content': 'hello'}
    """

    id: ClassVar[str] = "text_to_message"
    input_schema: ClassVar[JsonSchema] = _object_schema(
        {
            "text": {"description": "Text, or any value to be coerced to text."},
            "role": {"description": "user, assistant, system or tool; anything else is user."},
            "tool_call_id": {"description": "The call that a tool message answers."},
        },
        [],
    )
    output_schema: ClassVar[JsonSchema] = _object_schema(
        {
            "messages": {"type": "array", "items": _FLAT_ROW, "maxItems": 1},
            "message": {"anyOf": [_FLAT_ROW, {"type": "object", "maxProperties": 0}]},
        },
        ["messages", "message"],
    )

    def process(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Make a message of `text`; absent text makes none."""
        made = backend.text_to_message(
            inputs.get("text"), inputs.get("role"), inputs.get("tool_call_id")
        )
        return made._asdict()


class MessageAssemble:
    """`message_assemble`: the messages of the author's ports, in declared order (MEM-4).

    Args:
        ports: the names of the ports, in order; without them, the inputs declare themselves.

    >>> node = MessageAssemble(["system", "history"])
    >>> node.process({"history": [{"role": "user"}], "system": {"role": "system"}})
    {'messages': [{'role': 'system'}, {'role': 'user'}]}
    """

    id: ClassVar[str] = "message_assemble"
    output_schema: ClassVar[JsonSchema] = _object_schema(
        {"messages": {"type": "array", "items": {"type": "object"}}}, ["messages"]
    )

    def __init__(self, ports: Iterable[str] | None = None) -> None:
        """Declare the ports.

        Raises:
            TypeError: if a name is no text, or `ports` is one text.
            ValueError: if two ports have one name.
        """
        if isinstance(ports, str):
            raise TypeError("ports must be names, not one name")
        self.ports = None if ports is None else tuple(ports)
        declared: tuple[str, ...] = self.ports or ()
        for name in declared:
            if not isinstance(name, str):
                raise TypeError(f"a port's name must be a str, not {type_name(name)}")
        assemble_messages([(name, None) for name in declared])
        self.input_schema: JsonSchema = _object_schema(
            {name: {"description": "A list of messages, or one message."} for name in declared}, []
        )

    def process(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Assemble what the ports carry; inputs that no port declares are not read."""
        names = inputs if self.ports is None else self.ports
        return {"messages": assemble_messages([(name, inputs.get(name)) for name in names])}
