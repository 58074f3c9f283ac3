"""The anthropic SDK's request types, through pydantic: the shape of what litellm sends."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.types import MessageParam
from litellm_wire import anthropic_request
from pydantic import TypeAdapter
from verdicts import assert_accepts_all, complaint
from wire import drain, request_rows

MESSAGES: TypeAdapter[Any] = TypeAdapter(list[MessageParam])


def judge_messages(messages: list[Any]) -> None:
    drain(MESSAGES.validate_python(messages, strict=True))


def judge(messages: list[Any]) -> None:
    judge_messages(anthropic_request(request_rows(messages))["messages"])


def test_accepts_all(normalized: dict[str, list[Any]]) -> None:
    assert_accepts_all(judge, normalized)


USE = {"type": "tool_use", "id": "c1", "name": "search", "input": {}}


def test_accepts_a_tool_use() -> None:
    judge_messages([{"role": "assistant", "content": [USE]}])


@pytest.mark.parametrize(
    "message",
    [
        {"role": "tool", "content": "ok"},
        {"role": "user", "content": None},
        {"role": "user", "content": [{"type": "tool_result", "content": "ok"}]},
        {"role": "assistant", "content": [{**USE, "id": None}]},
        {"role": "assistant", "content": [USE, {"type": "tool_use", "id": "c2"}]},
    ],
)
def test_refuses(message: dict[str, Any]) -> None:
    assert complaint(judge_messages, [message]) is not None
