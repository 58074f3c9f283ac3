"""litellm's requests to Anthropic, Gemini and Bedrock, judged again: the way real programs send.

Their shape is judged beside this (`test_anthropic_types`, `test_google_genai_types`,
`test_bedrock_model`); here it is pairing, by the validators that read Anthropic's shape, and by
rules of our own where no one else's code checks them (see `own_rules`).
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest
import toolrepair
import turnsafe
from faults import PAIRING_FAULTS
from litellm_wire import anthropic_request, bedrock_request, gemini_request
from mcp.server.validation import validate_tool_use_result_messages
from mcp.types import SamplingMessage
from own_rules import (
    blank_text_breaches,
    gemini_order_breaches,
    gemini_pairing_breaches,
    odd_id_breaches,
    role_breaches,
)
from verdicts import assert_accepts_all, assert_cured, assert_misses_no_result, complaint
from wire import renamed_ids, request_rows, without_blank_users


def anthropic_messages(messages: list[Any]) -> list[dict[str, Any]]:
    return list(anthropic_request(request_rows(messages))["messages"])


def judge_turnsafe(messages: list[Any]) -> None:
    turnsafe.validate(anthropic_messages(messages), provider="anthropic").raise_for_errors()


def judge_tool_call_repair(messages: list[Any]) -> None:
    violations = toolrepair.validate(anthropic_messages(messages), format="anthropic")
    assert not violations, "; ".join(map(str, violations))


def judge_mcp(messages: list[Any]) -> None:
    """With results and other blocks of a turn in two, as MCP has it; Anthropic has them in one."""
    whole = [
        {**message, "content": list(blocks)}
        for message in anthropic_messages(messages)
        for _, blocks in groupby(message["content"], lambda block: block["type"] == "tool_result")
    ]
    found = [SamplingMessage.model_validate(_spelled_for_mcp(message)) for message in whole]
    for end in range(1, len(found) + 1):
        validate_tool_use_result_messages(found[:end])


def _spelled_for_mcp(message: dict[str, Any]) -> dict[str, Any]:
    content = [
        {
            "type": "tool_result",
            "toolUseId": block["tool_use_id"],
            "content": [{"type": "text", "text": block["content"]}],
        }
        if block["type"] == "tool_result"
        else block
        for block in message["content"]
    ]
    return {**message, "content": content}


def judge_anthropic_rules(messages: list[Any]) -> None:
    sent = anthropic_messages(messages)
    breaches = [*role_breaches(sent), *odd_id_breaches(sent), *blank_text_breaches(sent)]
    assert not breaches, "; ".join(breaches)


def judge_bedrock_rules(messages: list[Any]) -> None:
    """Without blank user turns: litellm leaves those out, so the turns around them meet."""
    sent = bedrock_request(without_blank_users(request_rows(messages)))["messages"]
    breaches = list(role_breaches(sent))
    assert not breaches, "; ".join(breaches)


def judge_gemini_rules(messages: list[Any]) -> None:
    sent = gemini_request(request_rows(messages))["contents"]
    breaches = [*gemini_pairing_breaches(sent), *gemini_order_breaches(sent)]
    assert not breaches, "; ".join(breaches)


PAIRING = pytest.mark.parametrize(
    "judge", [judge_turnsafe, judge_tool_call_repair, judge_mcp, judge_gemini_rules]
)


@pytest.mark.parametrize(
    "judge",
    [
        judge_turnsafe,
        judge_tool_call_repair,
        judge_mcp,
        judge_anthropic_rules,
        judge_bedrock_rules,
        judge_gemini_rules,
    ],
)
def test_accepts_all(judge: Any, normalized: dict[str, list[Any]]) -> None:
    assert_accepts_all(judge, normalized)


@PAIRING
def test_misses_no_result(judge: Any, normalized: dict[str, list[Any]]) -> None:
    assert_misses_no_result(judge, normalized)


@PAIRING
@pytest.mark.parametrize("fault", PAIRING_FAULTS)
def test_cured(judge: Any, fault: str) -> None:
    assert_cured(judge, fault)


def test_known_wrong_about_equal_parallel_calls_for_gemini_2() -> None:
    """Older Gemini models get no ids, and litellm takes one of two equal calls for a repetition."""
    calls = [{"id": id, "name": "search", "args": {"q": "x"}} for id in ("c1", "c2")]
    rows = request_rows(
        [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "", "tool_calls": calls},
            {"role": "tool", "content": "ok", "tool_call_id": "c1"},
            {"role": "tool", "content": "ok", "tool_call_id": "c2"},
        ]
    )
    older = gemini_request(rows, "gemini-2.5-flash")["contents"]
    assert list(gemini_pairing_breaches(older)) == [
        "contents[2]: responses [None, None] to calls [None]"
    ]
    assert not list(gemini_pairing_breaches(gemini_request(rows)["contents"]))


def test_known_wrong_about_ids_that_differ_in_odd_characters() -> None:
    """For Anthropic each character it does not take becomes `_`, so two ids may become one."""
    calls = [{"id": id, "name": "search"} for id in ("c.1", "c:1")]
    rows = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "content": "ok", "tool_call_id": "c.1"},
        {"role": "tool", "content": "ok", "tool_call_id": "c:1"},
    ]
    assert complaint(judge_turnsafe, rows) is not None
    assert complaint(judge_turnsafe, renamed_ids(request_rows(rows))) is None


def test_known_wrong_about_blank_user_turns_for_bedrock() -> None:
    rows = [{"role": "user", "content": ""}, {"role": "assistant", "content": "hello"}]
    sent = bedrock_request(request_rows(rows))["messages"]
    assert list(role_breaches(sent)) == ["messages[0]: assistant where user was due"]
    judge_bedrock_rules(rows)


def test_cured_of_an_id_that_is_declared_twice() -> None:
    """Only turnsafe, over Anthropic's shape, asks for ids that are unique in a whole request."""
    assert_cured(judge_turnsafe, "id twice")
