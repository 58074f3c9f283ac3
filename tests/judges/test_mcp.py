"""mcp's validation of tool use and tool results (SEP-1577): adjacency, and equal sets of ids.

It looks at the last two messages only, so it is asked about every prefix of a history.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from faults import PAIRING_FAULTS
from mcp.server.validation import validate_tool_use_result_messages
from mcp.types import SamplingMessage
from verdicts import assert_accepts_all, assert_cured, assert_misses_no_result, complaint
from wire import openai_rows


def sampling_messages(messages: list[Any]) -> list[SamplingMessage]:
    """MCP messages: results that stand together are one message, as the specification has it."""
    found: list[dict[str, Any]] = []
    for row in openai_rows(messages):
        text = [{"type": "text", "text": row["content"]}]
        if row["role"] == "tool":
            result = {"type": "tool_result", "toolUseId": row["tool_call_id"], "content": text}
            if found and found[-1]["content"][0]["type"] == "tool_result":
                found[-1]["content"].append(result)
            else:
                found.append({"role": "user", "content": [result]})
            continue
        uses = [
            {
                "type": "tool_use",
                "id": call["id"],
                "name": call["function"]["name"],
                "input": json.loads(call["function"]["arguments"]),
            }
            for call in row.get("tool_calls", ())
        ]
        role = "assistant" if row["role"] == "assistant" else "user"
        found.append({"role": role, "content": text + uses})
    return [SamplingMessage.model_validate(message) for message in found]


def judge(messages: list[Any]) -> None:
    whole = sampling_messages(messages)
    for end in range(1, len(whole) + 1):
        validate_tool_use_result_messages(whole[:end])


def test_accepts_all(normalized: dict[str, list[Any]]) -> None:
    assert_accepts_all(judge, normalized)


def test_misses_no_result(normalized: dict[str, list[Any]]) -> None:
    # A call that nothing follows is no fault to this judge: it may be answered yet.
    followed = {
        name: [*messages, {"role": "user", "content": "and?"}]
        for name, messages in normalized.items()
    }
    assert_misses_no_result(judge, followed)


@pytest.mark.parametrize("fault", PAIRING_FAULTS)
def test_cured(fault: str) -> None:
    assert_cured(judge, fault)


CALLING = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "search"}]},
]


def test_known_lenient_about_a_call_at_the_end() -> None:
    assert complaint(judge, CALLING) is None
    assert complaint(judge, [*CALLING, {"role": "user", "content": "and?"}]) is not None


def test_takes_no_text_beside_results() -> None:
    messages = sampling_messages([*CALLING, {"role": "tool", "content": "", "tool_call_id": "c1"}])
    validate_tool_use_result_messages(messages)
    text = sampling_messages([{"role": "user", "content": "and?"}])[0].content_as_list
    results = messages[-1].content_as_list
    messages[-1] = messages[-1].model_copy(update={"content": [*results, *text]})
    with pytest.raises(ValueError, match="must contain only tool_result content"):
        validate_tool_use_result_messages(messages)
