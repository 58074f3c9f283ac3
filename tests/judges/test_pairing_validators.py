"""turnsafe's and tool-call-repair's validators, over OpenAI rows: pairing, one result a call.

Their repairs are not used.
"""

from __future__ import annotations

from typing import Any

import pytest
import toolrepair
import turnsafe
from faults import PAIRING_FAULTS
from verdicts import Judge, assert_accepts_all, assert_cured, assert_misses_no_result
from wire import openai_rows


def judge_turnsafe(messages: list[Any]) -> None:
    turnsafe.validate(openai_rows(messages), provider="openai").raise_for_errors()


def judge_tool_call_repair(messages: list[Any]) -> None:
    violations = toolrepair.validate(openai_rows(messages), format="openai")
    assert not violations, "; ".join(map(str, violations))


JUDGES = pytest.mark.parametrize("judge", [judge_turnsafe, judge_tool_call_repair])


@JUDGES
def test_accepts_all(judge: Judge, normalized: dict[str, list[Any]]) -> None:
    assert_accepts_all(judge, normalized)


@JUDGES
def test_misses_no_result(judge: Judge, normalized: dict[str, list[Any]]) -> None:
    assert_misses_no_result(judge, normalized)


@JUDGES
@pytest.mark.parametrize("fault", [*PAIRING_FAULTS, "result twice", "id twice in a turn"])
def test_cured(judge: Judge, fault: str) -> None:
    assert_cured(judge, fault)
