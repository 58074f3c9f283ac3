"""turnsafe's validator, over OpenAI rows: pairing, adjacency, uniqueness.

Its repair is not used.
"""

from __future__ import annotations

from typing import Any

import pytest
import turnsafe
from verdicts import assert_accepts_all, assert_cured, assert_misses_no_result
from wire import openai_rows


def judge(messages: list[Any]) -> None:
    turnsafe.validate(openai_rows(messages), provider="openai").raise_for_errors()


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
