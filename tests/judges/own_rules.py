"""Rules of providers that no installable code checks: a table of our own, each with its source.

Normalization promises pairing, order and shape. It promises none of these: they depend on the
provider, and the hand-over to it (litellm, or the caller's own) sees to them. So of our own rows it
is checked that normalization breaks none that the input kept, and of what litellm makes of
them that it keeps those it is in charge of.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

Breaches = Iterator[str]
Messages = list[dict[str, Any]]


def long_id_breaches(rows: Messages) -> Breaches:
    """OpenAI takes ids of 40 characters and no more."""
    for index, row in enumerate(rows):
        ids = [call["id"] for call in row.get("tool_calls", ())]
        for id in [*ids, row.get("tool_call_id", "")]:
            if len(id) > 40:
                yield f"messages[{index}]: an id of {len(id)} characters"


def blank_text_breaches(messages: Messages) -> Breaches:
    """Anthropic takes no text block that is empty or blank."""
    for index, message in enumerate(messages):
        for block in message["content"]:
            if block["type"] == "text" and not block["text"].strip():
                yield f"messages[{index}]: a blank text block"


def odd_id_breaches(messages: Messages) -> Breaches:
    """Anthropic takes ids of letters, digits, `_` and `-`."""
    for index, message in enumerate(messages):
        for block in message["content"]:
            if block["type"] == "tool_use" and not re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"]):
                yield f"messages[{index}]: the id {block['id']!r}"


def role_breaches(messages: Messages) -> Breaches:
    """Bedrock takes turns that start with the user and alternate."""
    expected = ["user", "assistant"]
    for index, message in enumerate(messages):
        if message["role"] != expected[index % 2]:
            yield f"messages[{index}]: {message['role']} where {expected[index % 2]} was due"
            return


def gemini_pairing_breaches(contents: Messages) -> Breaches:
    """Gemini takes, right after a turn that calls, as many responses as there were calls."""
    open_calls: list[Any] = []
    for index, content in enumerate([*contents, {"parts": []}]):
        responses = [
            part["function_response"].get("id")
            for part in content["parts"]
            if "function_response" in part
        ]
        if Counter(responses) != Counter(open_calls):
            yield f"contents[{index}]: responses {responses} to calls {open_calls}"
        open_calls = [
            part["function_call"].get("id") for part in content["parts"] if "function_call" in part
        ]


def gemini_order_breaches(contents: Messages) -> Breaches:
    """Gemini takes a turn that calls only right after a user turn or a turn of responses."""
    for index, content in enumerate(contents):
        calls = any("function_call" in part for part in content["parts"])
        if calls and (index == 0 or contents[index - 1]["role"] != "user"):
            yield f"contents[{index}]: a call without a user turn before it"


class Rule(NamedTuple):
    """A provider's rule: its check, the provider's words for a breach, and where to see them."""

    breaches: Callable[[Messages], Breaches]
    error: str
    source: str
    smallest: Messages


RULES = (
    Rule(
        long_id_breaches,
        "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum "
        "length 40, but got a string with length 43 instead.",
        "https://github.com/vercel/ai/issues/5171",
        [{"role": "assistant", "tool_calls": [{"id": "x" * 41}]}],
    ),
    Rule(
        blank_text_breaches,
        "messages: text content blocks must be non-empty",
        "https://github.com/anthropics/claude-code/issues/59812",
        [{"role": "user", "content": [{"type": "text", "text": " "}]}],
    ),
    Rule(
        odd_id_breaches,
        "messages.1.content.1.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        "https://github.com/RooCodeInc/Roo-Code/pull/10649",
        [{"role": "assistant", "content": [{"type": "tool_use", "id": "functions.f:0"}]}],
    ),
    Rule(
        role_breaches,
        "A conversation must alternate between user and assistant roles.",
        "https://github.com/langchain-ai/langchain-aws/issues/130",
        [{"role": "user"}, {"role": "user"}],
    ),
    Rule(
        gemini_pairing_breaches,
        "Please ensure that the number of function response parts is equal to the number of "
        "function call parts of the function call turn.",
        "https://github.com/google-gemini/gemini-cli/issues/16437",
        [{"role": "model", "parts": [{"function_call": {"name": "f"}}]}],
    ),
    Rule(
        gemini_order_breaches,
        "Please ensure that function call turn comes immediately after a user turn or after a "
        "function response turn.",
        "https://github.com/google-gemini/gemini-cli/issues/26486",
        [
            {"role": "model", "parts": [{"text": "hello"}]},
            {"role": "model", "parts": [{"function_call": {"name": "f"}}]},
        ],
    ),
)
