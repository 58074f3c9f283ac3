"""litellm's requests to Anthropic, Gemini and Bedrock, made from OpenAI rows.

litellm mends things on its way: it merges turns that stand together, puts a placeholder where a
text is blank, and rewrites ids that a provider does not take. That is the hand-over our docs
recommend, so it is what is judged. It is never asked to repair pairing (`modify_params` is off).
"""

from __future__ import annotations

import copy
import logging
import os
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else importing it asks the network for prices

import litellm
from litellm.llms.anthropic.chat.transformation import AnthropicConfig
from litellm.llms.bedrock.chat.converse_transformation import AmazonConverseConfig
from litellm.llms.vertex_ai.gemini.transformation import sync_transform_request_body

logging.getLogger("LiteLLM").setLevel(logging.ERROR)  # it tells of each turn that it merges

Row = dict[str, Any]

CLAUDE = "claude-sonnet-4-5"
BEDROCK = "anthropic.claude-3-5-sonnet-20240620-v1:0"
GEMINI = "gemini-3-pro-preview"


def tools_for(rows: list[Row]) -> list[Row]:
    """A declaration for each function that the rows call: without any, calls become plain text."""
    names = {call["function"]["name"] for row in rows for call in row.get("tool_calls", ())}
    return [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
        for name in sorted(names | {"noop"})
    ]


def anthropic_request(rows: list[Row]) -> dict[str, Any]:
    assert litellm.modify_params is False
    config = AnthropicConfig()
    options = config.map_openai_params({"tools": tools_for(rows)}, {"max_tokens": 1}, CLAUDE, False)
    return config.transform_request(CLAUDE, copy.deepcopy(rows), options, {}, {})


def bedrock_request(rows: list[Row]) -> dict[str, Any]:
    assert litellm.modify_params is False
    config = AmazonConverseConfig()
    options = config.map_openai_params({"tools": tools_for(rows)}, {}, BEDROCK, False)
    body = config._transform_request(BEDROCK, copy.deepcopy(rows), options, {}, {})
    return {"modelId": BEDROCK, **body}


def gemini_request(rows: list[Row], model: str = GEMINI) -> dict[str, Any]:
    assert litellm.modify_params is False
    body = sync_transform_request_body(
        messages=copy.deepcopy(rows),
        model=model,
        optional_params={},
        litellm_params={},
        custom_llm_provider="gemini",
        gemini_api_key=None,
        api_base=None,
        client=None,
        timeout=None,
        extra_headers=None,
        logging_obj=None,
        vertex_project=None,
        vertex_location=None,
        vertex_auth_header=None,
    )
    return dict(body)
