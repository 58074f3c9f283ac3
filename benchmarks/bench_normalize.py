"""Both backends beside the floors: ``pytest benchmarks/bench_normalize.py``.

A group holds what may be compared: one history, warm or freshly decoded. Both backends are imported
by name, so a missing one is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from benchmarks import contenders
from benchmarks.histories import decode, encoded

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_benchmark.fixture import BenchmarkFixture

HISTORIES = {
    "flat": encoded(1_000, "flat"),
    "stored": encoded(1_000, "stored"),
    "provider": encoded(1_000, "provider"),
    "flat, 5 % broken": encoded(1_000, "flat", broken=0.05),
    "stored, 5 % broken": encoded(1_000, "stored", broken=0.05),
    "10 messages": encoded(10, "flat"),
}
FUNCTIONS = ("normalize_conversation", "repair_tool_pairing", "explain_conversation")


def row_copy(messages: list[Any]) -> list[Any]:
    """The floor: entries that are no dict are passed on."""
    return [m.copy() if type(m) is dict else m for m in messages]


def compare(
    benchmark: BenchmarkFixture, function: Callable[[Any], object], data: bytes, how: str
) -> None:
    """Benchmark `function` over one decoded list, or over a new one each round."""
    if how == "warm":
        benchmark(function, decode(data))
    else:
        benchmark.pedantic(function, setup=lambda: ((decode(data),), {}), rounds=200)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("how", ["warm", "fresh"])
@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("who", ["row copy", *contenders.BACKENDS])
def test_normalize(benchmark: BenchmarkFixture, who: str, history: str, how: str) -> None:
    benchmark.group = f"normalize_conversation: {history}, {how}"
    if who == "row copy":
        function: Callable[[Any], object] = row_copy
    else:
        function = contenders.backend(who).normalize_conversation
    compare(benchmark, function, HISTORIES[history], how)


@pytest.mark.parametrize("history", HISTORIES)
def test_decode(benchmark: BenchmarkFixture, history: str) -> None:
    benchmark.group = f"normalize_conversation: {history}, warm"
    benchmark(decode, HISTORIES[history])


@pytest.mark.parametrize("function", FUNCTIONS[1:])
@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("backend", contenders.BACKENDS)
def test_siblings(benchmark: BenchmarkFixture, backend: str, history: str, function: str) -> None:
    benchmark.group = f"{function}: {history}, warm"
    compare(benchmark, getattr(contenders.backend(backend), function), HISTORIES[history], "warm")


@pytest.mark.parametrize("backend", contenders.BACKENDS)
def test_text_to_message(benchmark: BenchmarkFixture, backend: str) -> None:
    benchmark.group = "text_to_message"
    benchmark(contenders.backend(backend).text_to_message, "What is the status?", "user")


def test_text_by_hand(benchmark: BenchmarkFixture) -> None:
    benchmark.group = "text_to_message"
    benchmark(lambda text, role: {"role": role, "content": text}, "What is the status?", "user")
