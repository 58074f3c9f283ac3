"""The openai SDK's request types, through pydantic: the shape of each row."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from openai.types.chat import ChatCompletionMessageParam
from pydantic import TypeAdapter
from verdicts import assert_accepts_all, complaint
from wire import drain, openai_rows

ROWS: TypeAdapter[Any] = TypeAdapter(list[ChatCompletionMessageParam])


def judge_rows(rows: list[Any]) -> None:
    drain(ROWS.validate_python(rows, strict=True))


def judge(messages: list[Any]) -> None:
    judge_rows(openai_rows(messages))


def test_accepts_all(normalized: dict[str, list[Any]]) -> None:
    assert_accepts_all(judge, normalized)


CALL = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
ROW = {"role": "assistant", "content": "", "tool_calls": [CALL]}


def test_accepts_a_call() -> None:
    judge_rows([ROW])


@pytest.mark.parametrize(
    "row",
    [
        {"role": "tool", "content": "ok"},
        {"role": "tool", "content": None, "tool_call_id": "c1"},
        {"role": "user", "content": {"level": 2.1}},
        {"role": "operator", "content": "hi"},
        {**ROW, "tool_calls": [{"tool_call_id": "c1", "name": "search", "args": {}}]},
        {**ROW, "tool_calls": [{**CALL, "id": 1}]},
        {**ROW, "tool_calls": [{**CALL, "type": "tool_use"}]},
        {**ROW, "tool_calls": [{**CALL, "function": {"name": "search", "arguments": {}}}]},
        {**ROW, "tool_calls": [{**CALL, "function": {"arguments": "{}"}}]},
    ],
)
def test_refuses(row: dict[str, Any]) -> None:
    assert complaint(judge_rows, [row]) is not None


def test_refuses_the_last_of_many_calls() -> None:
    """The types hold lazy iterables: a fault at their very end is seen only if they are drained."""
    row = copy.deepcopy(ROW)
    row["tool_calls"] = [CALL] * 9 + [{"id": "c1", "type": "function"}]  # type: ignore[list-item]
    assert complaint(judge_rows, [row]) is not None
