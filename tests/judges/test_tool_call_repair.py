"""tool-call-repair's validator, over OpenAI rows: pairing, one result a call.

Its repair is not used.
"""

from __future__ import annotations

from typing import Any

import pytest
import toolrepair
from verdicts import assert_accepts_all, assert_cured, assert_misses_no_result
from wire import openai_rows


def judge(messages: list[Any]) -> None:
    violations = toolrepair.validate(openai_rows(messages), format="openai")
    assert not violations, "; ".join(map(str, violations))


def test_accepts_all(normalized: dict[str, list[Any]]) -> None:
    assert_accepts_all(judge, normalized)


def test_misses_no_result(normalized: dict[str, list[Any]]) -> None:
    assert_misses_no_result(judge, normalized)


@pytest.mark.parametrize(
    "fault",
    [
        "unanswered",
        "one of two unanswered",
        "orphan result",
        "result first",
        "result late",
        "result twice",
        "result of another call",
        "id twice in a turn",
    ],
)
def test_cured(fault: str) -> None:
    assert_cured(judge, fault)
