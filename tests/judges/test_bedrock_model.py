"""botocore's model of Bedrock Converse: shape, patterns and bounds of what litellm sends.

botocore's own validator checks types, required members and lower bounds. The model says more than
that: patterns, upper bounds and enums, which only the service looks at. Those are walked here.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator
from litellm_wire import bedrock_request
from verdicts import assert_accepts_all, complaint
from wire import request_rows

SERVICE = botocore.session.get_session().get_service_model("bedrock-runtime")
CONVERSE = SERVICE.operation_model("Converse").input_shape


def judge_request(request: dict[str, Any]) -> None:
    report = ParamValidator().validate(request, CONVERSE)
    assert not report.has_errors(), report.generate_report()
    breaches = list(walk(request, CONVERSE, "request"))
    assert not breaches, "; ".join(breaches)


def walk(value: Any, shape: Any, where: str) -> Iterator[str]:
    """Every pattern, bound and enum of the model that a request breaks."""
    said = shape.metadata
    if shape.type_name == "structure":
        if not shape.is_document_type:
            for key, member in value.items():
                yield from walk(member, shape.members[key], f"{where}.{key}")
    elif shape.type_name == "list":
        for index, member in enumerate(value):
            yield from walk(member, shape.member, f"{where}[{index}]")
    if shape.type_name == "string":
        if "pattern" in said and not re.fullmatch(said["pattern"], value):
            yield f"{where}: {value!r} does not match {said['pattern']}"
        if said.get("enum") and value not in said["enum"]:
            yield f"{where}: {value!r} is none of {said['enum']}"
    if shape.type_name in ("string", "list") and not (
        said.get("min", 0) <= len(value) <= said.get("max", len(value))
    ):
        yield f"{where}: {len(value)} long, not {said.get('min')} to {said.get('max')}"


def judge(messages: list[Any]) -> None:
    judge_request(bedrock_request(request_rows(messages)))


def test_accepts_all(normalized: dict[str, list[Any]]) -> None:
    assert_accepts_all(judge, normalized)


ROWS = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "search"}]},
    {"role": "tool", "content": "ok", "tool_call_id": "c1"},
]


def test_calls_and_results_are_sent_as_such() -> None:
    blocks = [
        kind
        for message in bedrock_request(request_rows(ROWS))["messages"]
        for block in message["content"]
        for kind in block
    ]
    assert blocks == ["text", "toolUse", "toolResult"]


@pytest.mark.parametrize("id", ["", "c 1", "c1" * 40, 7, None])
def test_refuses_an_id(id: object) -> None:
    request = copy.deepcopy(bedrock_request(request_rows(ROWS)))
    judge_request(request)
    request["messages"][1]["content"][0]["toolUse"]["toolUseId"] = id
    assert complaint(judge_request, request) is not None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "tool", "content": [{"text": "ok"}]},
        {"role": "user", "content": "hi"},
        {"role": "user", "content": [{"toolResult": {"content": [{"text": "ok"}]}}]},
        {"role": "user"},
    ],
)
def test_refuses_a_message(message: dict[str, Any]) -> None:
    request = {"modelId": "m", "messages": [message]}
    assert complaint(judge_request, request) is not None  # type: ignore[arg-type]
