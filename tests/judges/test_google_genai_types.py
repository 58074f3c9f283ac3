"""google-genai's request types: the shape of what litellm sends to Gemini."""

from __future__ import annotations

from typing import Any

import pytest
from google.genai.types import Content
from litellm_wire import gemini_request
from pydantic import TypeAdapter
from verdicts import assert_accepts_all, complaint
from wire import request_rows

CONTENTS: TypeAdapter[Any] = TypeAdapter(list[Content])


def judge_contents(contents: list[Any]) -> None:
    CONTENTS.validate_python(contents)


def judge(messages: list[Any]) -> None:
    request = gemini_request(request_rows(messages))
    judge_contents(request["contents"])
    if "system_instruction" in request:
        judge_contents([request["system_instruction"]])


def test_accepts_all(normalized: dict[str, list[Any]]) -> None:
    assert_accepts_all(judge, normalized)


@pytest.mark.parametrize(
    "part",
    [
        {"text": 1},
        {"function_call": {"name": "search", "args": "{}"}},
        {"function_call": {"name": "search", "arguments": {}}},
        {"function_response": {"name": "search", "response": "ok"}},
        {"tool_call_id": "c1"},
    ],
)
def test_refuses(part: dict[str, Any]) -> None:
    assert complaint(judge_contents, [{"role": "model", "parts": [part]}]) is not None
