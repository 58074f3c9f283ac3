"""Our own table of rules: each check can fail, and normalization adds no breach of its own.

What litellm makes of normalized rows is held against them in `test_litellm`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from histories import generated, vectors
from own_rules import RULES, Rule, long_id_breaches
from wire import openai_rows

from flowdrop_fast import coerce_content, normalize_conversation

DOCS = Path(__file__).parent.parent.parent / "docs" / "judges.md"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.breaches.__name__)
def test_each_rule_sees_its_smallest_breach(rule: Rule) -> None:
    assert len(list(rule.breaches(rule.smallest))) == 1
    assert list(rule.breaches([])) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.breaches.__name__)
def test_each_rule_is_in_the_docs_with_its_source(rule: Rule) -> None:
    assert rule.source in DOCS.read_text(encoding="utf-8")


def test_ids_are_never_longer_than_they_were(normalized: dict[str, list[Any]]) -> None:
    """OpenAI's limit is broken only where the input breaks it."""
    inputs = {**vectors(), **generated()}
    broken = 0
    for name, messages in normalized.items():
        if list(long_id_breaches(openai_rows(messages))):
            broken += 1
            assert "a" * 41 in str(inputs[name])
    assert broken > 10


def test_no_text_is_blank_that_was_not(normalized: dict[str, list[Any]]) -> None:
    inputs = {**vectors(), **generated()}
    blank = 0
    for name, messages in normalized.items():
        before = Counter(
            coerce_content(entry.get("content"))
            for entry in inputs[name]
            if isinstance(entry, dict)
        )
        after = Counter(row["content"] for row in messages if not row["content"].strip())
        blank += after.total()
        assert after <= before, name
    assert blank > 1000


def test_an_interrupted_call_gets_text() -> None:
    turn = {"role": "assistant", "content": "", "tool_calls": [{"id": "c1"}]}
    [_, result] = normalize_conversation([turn]).messages
    assert result["content"].strip()
