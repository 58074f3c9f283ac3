"""Asking a judge: about everything that was normalized, and about what it has to refuse."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from faults import FAULTS, without_one_result

from flowdrop_fast import normalize_conversation

# A judge takes flat rows, and raises if it refuses them.
Judge = Callable[[list[Any]], None]


def complaint(judge: Judge, messages: list[Any]) -> str | None:
    """Why a judge refuses these rows, or `None` if it accepts them."""
    try:
        judge(messages)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def assert_accepts_all(judge: Judge, normalized: dict[str, list[Any]]) -> None:
    """The judge accepts every normalized history."""
    refused = [
        f"{name}: {why}"
        for name, messages in normalized.items()
        if (why := complaint(judge, messages)) is not None
    ]
    assert not refused, f"{len(refused)} of {len(normalized)} refused:\n" + "\n".join(refused[:9])


def assert_cured(judge: Judge, fault: str) -> None:
    """The judge refuses a broken history, and accepts it once it is normalized."""
    broken = FAULTS[fault]
    assert complaint(judge, broken) is not None, f"{fault}: accepted as it was"
    assert complaint(judge, list(normalize_conversation(broken).messages)) is None


def assert_misses_no_result(judge: Judge, normalized: dict[str, list[Any]]) -> None:
    """The judge refuses what it accepted, each time that another result is taken out of it."""
    damaged = [
        (name, rows)
        for name, messages in normalized.items()
        for rows in without_one_result(messages)
    ]
    assert len(damaged) > 1000
    unseen = [name for name, rows in islice(damaged, 1000) if complaint(judge, rows) is None]
    assert not unseen, f"{len(unseen)} of 1000 accepted without a result: {unseen[:9]}"
