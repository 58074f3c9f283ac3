"""Uses of the public names, for type checkers: `mypy --strict` must agree with every line.

Where a use is wrong on purpose, the error that it must give is named; an unused one is an error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import flowdrop_fast
from flowdrop_fast import (
    BACKEND,
    Explanation,
    MaybeMessage,
    Message,
    Normalized,
    Record,
    TextMessage,
    ToolCall,
    assemble_messages,
    coerce_content,
    explain_conversation,
    normalize_conversation,
    repair_tool_pairing,
    text_to_message,
)
from flowdrop_fast.nodes import ConversationNormalize, MessageAssemble, TextToMessage

if sys.version_info >= (3, 11):
    from typing import assert_type
else:
    from typing_extensions import assert_type


def use_normalize(history: list[dict[str, Any]], stored: Iterator[Mapping[str, object]]) -> None:
    messages, dropped = normalize_conversation(history)
    assert_type(messages, list[Message])
    assert_type(dropped, int)
    assert_type(normalize_conversation(stored), Normalized)
    assert_type(normalize_conversation(messages=()).dropped, int)
    assert_type(normalize_conversation(normalize_conversation(history).messages), Normalized)
    normalize_conversation(None)  # type: ignore[arg-type]
    normalize_conversation(5)  # type: ignore[arg-type]
    normalize_conversation()  # type: ignore[call-arg]


def use_repair(history: list[dict[str, Any]]) -> None:
    assert_type(repair_tool_pairing(history), Normalized)
    assert_type(repair_tool_pairing(messages=history)[1], int)


def use_explain(history: tuple[object, ...]) -> None:
    explanation = explain_conversation(history)
    assert_type(explanation, Explanation)
    messages, dropped, records = explanation
    assert_type(messages, list[Message])
    assert_type(dropped, int)
    assert_type(records, list[Record])
    for record in records:
        assert_type(record.kind, str)
        assert_type(record.index, int)
        assert_type(record.id, "str | None")
        assert_type(record.sentence, str)
        record.kind = "other"  # type: ignore[misc]
    explanation.records = []  # type: ignore[misc]


def use_rows(message: Message) -> None:
    assert_type(message["role"], str)
    assert_type(message["content"], str)
    if "tool_calls" in message:
        assert_type(message["tool_calls"], list[ToolCall])
    assert_type(message.get("tool_call_id"), "str | None")
    message["name"]  # type: ignore[typeddict-item]
    made: Message = {"role": "user", "content": "hi"}
    without_content: Message = {"role": "user"}  # type: ignore[typeddict-item]
    normalize_conversation([made, without_content])


def use_text(value: object) -> None:
    assert_type(coerce_content(value), str)
    made = text_to_message(value, role="tool", tool_call_id=7)
    assert_type(made, TextMessage)
    assert_type(made.messages, list[Message])
    assert_type(made.message, MaybeMessage)
    assert_type(made.message.get("content"), "str | None")
    text_to_message()  # type: ignore[call-arg]


def use_assemble(message: Message) -> None:
    assert_type(assemble_messages({"history": [message]}), list[Any])
    assert_type(assemble_messages([("history", [message]), ("system", None)]), list[Any])
    assemble_messages([message])  # type: ignore[list-item]
    assemble_messages(None)  # type: ignore[arg-type]


def use_nodes(inputs: Mapping[str, Any]) -> None:
    nodes = [ConversationNormalize(), TextToMessage(), MessageAssemble(["a"])]
    assert_type(ConversationNormalize.id, str)
    assert_type(ConversationNormalize().process(inputs), dict[str, Any])
    assert_type(TextToMessage.input_schema, dict[str, Any])
    assert_type(MessageAssemble(["a", "b"]).process(inputs), dict[str, Any])
    assert len(nodes) == 3


def use_module() -> None:
    assert_type(BACKEND, str)
    assert_type(flowdrop_fast.__version__, str)


def use_backends() -> None:
    from flowdrop_fast import _native, _pure

    pure: Callable[[list[object]], Normalized] = _pure.normalize_conversation
    native: Callable[[list[object]], Normalized] = _native.normalize_conversation
    assert_type(_native.normalize_conversation([]), Normalized)
    assert_type(_native.repair_tool_pairing([]), Normalized)
    assert_type(_native.explain_conversation([]), Explanation)
    assert_type(_native.coerce_content(1), str)
    assert_type(_native.text_to_message("x", role=None), TextMessage)
    assert [pure, native]
