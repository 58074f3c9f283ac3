"""Both backends on the hostile shapes: ``pytest benchmarks/bench_hostile.py``.

Two sizes of each: a shape whose larger one takes more than ten times the smaller is not linear.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks import contenders
from benchmarks.histories import HOSTILE, decode, hostile

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture


@pytest.mark.parametrize("n", [1_000, 10_000])
@pytest.mark.parametrize("shape", HOSTILE)
@pytest.mark.parametrize("backend", contenders.BACKENDS)
def test_hostile(benchmark: BenchmarkFixture, backend: str, shape: str, n: int) -> None:
    benchmark.group = f"hostile: {shape}"
    benchmark(contenders.backend(backend).normalize_conversation, decode(hostile(shape, n)))
