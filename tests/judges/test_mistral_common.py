"""mistral-common's request validators: roles, their order, pairing, ids.

Known to be wrong about the first message: they never look at its calls, and so refuse the results
of a history that starts with an assistant call. `request_rows` puts a user turn in front of such.
"""

from __future__ import annotations

from typing import Any

import pytest
from faults import PAIRING_FAULTS
from mistral_common.protocol.instruct.converters import convert_openai_messages
from mistral_common.protocol.instruct.validator import ValidationMode, get_validator
from mistral_common.tokens.tokenizers.base import TokenizerVersion
from verdicts import assert_accepts_all, assert_cured, assert_misses_no_result, complaint
from wire import openai_rows, renamed_ids, request_rows

V11 = get_validator(TokenizerVersion.v11, ValidationMode.serving)
V13 = get_validator(TokenizerVersion.v13, ValidationMode.serving)
V15 = get_validator(TokenizerVersion.v15, ValidationMode.serving)


def judge_v11(messages: list[Any]) -> None:
    """With ids of nine alphanumerics, which is all that this version takes."""
    V11.validate_messages(convert_openai_messages(renamed_ids(request_rows(messages))))


def judge_v13(messages: list[Any]) -> None:
    """With the ids as they are, but for `null`, which this version takes for no id."""
    V13.validate_messages(convert_openai_messages(renamed_ids(request_rows(messages), {"null"})))


def judge_v15(messages: list[Any]) -> None:
    V15.validate_messages(convert_openai_messages(renamed_ids(request_rows(messages), {"null"})))


JUDGES = pytest.mark.parametrize("judge", [judge_v11, judge_v13, judge_v15])


@JUDGES
def test_accepts_all(judge: Any, normalized: dict[str, list[Any]]) -> None:
    assert_accepts_all(judge, normalized)


@JUDGES
def test_misses_no_result(judge: Any, normalized: dict[str, list[Any]]) -> None:
    assert_misses_no_result(judge, normalized)


@JUDGES
@pytest.mark.parametrize(
    "fault", [*PAIRING_FAULTS, "result twice", "id twice in a turn", "system inside"]
)
def test_cured(judge: Any, fault: str) -> None:
    assert_cured(judge, fault)


def test_v11_takes_only_ids_of_nine_alphanumerics() -> None:
    rows = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "tool_calls": [{"id": "c1", "name": "search"}]},
        {"role": "tool", "content": "ok", "tool_call_id": "c1"},
    ]
    with pytest.raises(Exception, match="must be a-z, A-Z, 0-9, with a length of 9"):
        V11.validate_messages(convert_openai_messages(openai_rows(rows)))
    judge_v11(rows)


def test_v13_takes_null_for_no_id() -> None:
    rows = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "tool_calls": [{"id": "null", "name": "search"}]},
        {"role": "tool", "content": "ok", "tool_call_id": "null"},
    ]
    with pytest.raises(Exception, match="non-empty string other than 'null'"):
        V13.validate_messages(convert_openai_messages(openai_rows(rows)))
    judge_v13(rows)


def test_known_wrong_about_a_first_message_that_calls() -> None:
    rows = [
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "search"}]},
        {"role": "tool", "content": "ok", "tool_call_id": "c1"},
    ]

    def unnarrowed(messages: list[Any]) -> None:
        V13.validate_messages(convert_openai_messages(openai_rows(messages)))

    assert "Unexpected tool call id c1" in str(complaint(unnarrowed, rows))
    assert complaint(judge_v13, rows) is None


@pytest.mark.parametrize(
    "rows", [[], [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]]
)
def test_takes_a_request_alone(rows: list[Any]) -> None:
    def unnarrowed(messages: list[Any]) -> None:
        V13.validate_messages(convert_openai_messages(openai_rows(messages)))

    assert complaint(unnarrowed, rows) is not None
    assert complaint(judge_v13, rows) is None
