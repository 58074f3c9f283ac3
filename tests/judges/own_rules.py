"""Rules of providers that no installable code checks: a table of our own, each with its source.

Normalization promises pairing, order and shape. It promises none of these: they depend on the
provider, and the hand-over to it (litellm, or the caller's own) sees to them. So of our own rows it
is checked that normalization breaks none that the input kept, and of what litellm makes of
them that it keeps those it is in charge of.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple


class Rule(NamedTuple):
    """A provider's rule, its own words for a breach, and where those were seen."""

    name: str
    provider: str
    error: str
    source: str


RULES: tuple[Rule, ...] = ()


def long_id_breaches(rows: list[dict[str, Any]]) -> Iterator[str]:
    """OpenAI takes ids of 40 characters and no more."""
    for index, row in enumerate(rows):
        ids = [call["id"] for call in row.get("tool_calls", ())]
        for id in [*ids, row.get("tool_call_id", "")]:
            if len(id) > 40:
                yield f"messages[{index}]: an id of {len(id)} characters"


def blank_text_breaches(messages: list[dict[str, Any]]) -> Iterator[str]:
    """Anthropic takes no text block that is empty or blank."""
    for index, message in enumerate(messages):
        for block in message["content"]:
            if block["type"] == "text" and not block["text"].strip():
                yield f"messages[{index}]: a blank text block"


def anthropic_id_breaches(messages: list[dict[str, Any]]) -> Iterator[str]:
    """Anthropic takes ids of letters, digits, `_` and `-`, each once in a request."""
    seen: set[str] = set()
    for index, message in enumerate(messages):
        for block in message["content"]:
            if block["type"] == "tool_use":
                if not re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"]):
                    yield f"messages[{index}]: the id {block['id']!r}"
                if block["id"] in seen:
                    yield f"messages[{index}]: the id {block['id']!r} a second time"
                seen.add(block["id"])


def role_breaches(messages: list[dict[str, Any]], assistant: str) -> Iterator[str]:
    """Bedrock takes turns that start with the user and alternate."""
    expected = ["user", assistant]
    for index, message in enumerate(messages):
        if message["role"] != expected[index % 2]:
            yield f"messages[{index}]: {message['role']} where {expected[index % 2]} was due"
            return


def gemini_pairing_breaches(contents: list[dict[str, Any]]) -> Iterator[str]:
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
