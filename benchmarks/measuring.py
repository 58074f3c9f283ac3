"""Timing side by side: contenders take turns, round after round, in one process.

Seconds on a shared machine are noise; what two contenders took in the *same* round is not. So a
figure is always the median over rounds of a per-round ratio. The collector stays on, and results
are freed inside the timed region: making garbage is part of the cost.
"""

from __future__ import annotations

import gc
import os
import platform
import statistics
import sys
import sysconfig
import time
from dataclasses import dataclass, field
from importlib import metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_MIN_SECONDS = 0.003  # for one contender's share of a round: far above the timer's own cost
_MAX_FRESH = 4_000  # messages decoded for one share, so that decoding does not take the whole run

# Written out as source, as timeit does, so that a row copy is not charged for a call that the
# program it stands for would not make.
_LOOP = """
def timed(batch, clock, {names}):
    start = clock()
    for messages in batch:
        {statement}
    return clock() - start
"""


@dataclass(frozen=True)
class Contender:
    """One statement to time over a batch of inputs.

    Args:
        name: what `ratio` calls it.
        statement: Python source, run once for each input, which it knows as ``messages``.
        inputs: makes that many inputs; called before every timed region when `freshly` is set,
            else once.
        size: messages in one input; times are reported for each of them.
        names: the other names that the statement uses.
    """

    name: str
    statement: str
    inputs: Callable[[int], Sequence[Any]]
    size: int
    names: Mapping[str, Any] = field(default_factory=dict)

    def loop(self) -> Callable[[Sequence[Any]], float]:
        """Compile the statement into a function that times it over a batch, in seconds."""
        namespace: dict[str, Any] = {}
        source = _LOOP.format(
            names=", ".join(f"{name}={name}" for name in self.names),
            statement=self.statement,
        )
        exec(source, dict(self.names), namespace)
        timed = namespace["timed"]
        return lambda batch: timed(batch, time.perf_counter)


def warm(messages: Any) -> Callable[[int], Sequence[Any]]:
    """Inputs for a contender: the same list again and again."""
    return lambda count: [messages] * count


@dataclass(frozen=True)
class Ratio:
    """A median of per-round figures, with its quartiles."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, figures: Sequence[float]) -> Ratio:
        """Summarize one figure a round."""
        if len(figures) < 2:
            return cls(figures[0], figures[0], figures[0])
        low, median, high = statistics.quantiles(figures, n=4, method="inclusive")
        return cls(median, low, high)


class Rounds:
    """What every contender took in every round, in seconds a message."""

    def __init__(self, seconds: dict[str, list[float]]) -> None:
        self.seconds = seconds

    def each(self, figure: Callable[[dict[str, float]], float]) -> Ratio:
        """Summarize a figure worked out from the seconds of one round, contender by contender."""
        rounds = zip(*self.seconds.values(), strict=True)
        return Ratio.of([figure(dict(zip(self.seconds, r, strict=True))) for r in rounds])

    def ratio(self, ours: str, theirs: str) -> Ratio:
        """Return how many times as long `ours` took as `theirs`, round by round."""
        return self.each(lambda seconds: seconds[ours] / seconds[theirs])

    def nanoseconds(self, name: str) -> float:
        """Return the median nanoseconds a message: for reading, never for judging."""
        return statistics.median(self.seconds[name]) * 1e9


def settle() -> None:
    """Put what is loaded by now out of the collector's sight: it is not what is measured."""
    gc.collect()
    gc.freeze()


def interleave(contenders: Sequence[Contender], rounds: int, *, freshly: bool) -> Rounds:
    """Let every contender run once a round, the order turned round each time.

    Args:
        contenders: with different names.
        rounds: how often, after one round that only warms up.
        freshly: make new inputs for every timed region, outside of it.
    """
    loops = {c.name: c.loop() for c in contenders}
    counts = {c.name: _repetitions(c, loops[c.name], freshly=freshly) for c in contenders}
    kept = {} if freshly else {c.name: c.inputs(counts[c.name]) for c in contenders}
    seconds: dict[str, list[float]] = {c.name: [] for c in contenders}
    for round_ in range(rounds):
        for contender in contenders[:: 1 if round_ % 2 else -1]:
            name, count = contender.name, counts[contender.name]
            batch = contender.inputs(count) if freshly else kept[name]
            gc.collect()  # every region starts with the collector's counters at zero
            seconds[name].append(loops[name](batch) / (count * contender.size))
    return Rounds(seconds)


def _repetitions(contender: Contender, loop: Callable[[Any], float], *, freshly: bool) -> int:
    """How many inputs make a timed region long enough; also the round that warms up."""
    count = 1
    while (taken := loop(contender.inputs(count))) < _MIN_SECONDS / 2 and count < 1 << 20:
        count *= 2
    count = max(1, round(count * _MIN_SECONDS / taken))
    return min(count, max(1, _MAX_FRESH // contender.size)) if freshly else count


def described_machine(packages: Sequence[str] = ()) -> dict[str, Any]:
    """Name everything that a figure depends on: interpreter, build, compiler, machine, versions."""
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "build": _build(),
        "compiler": platform.python_compiler(),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()}",
        "packages": {name: version for name in packages if (version := _version(name))},
    }


def _build() -> str:
    if sys.base_prefix == "/usr":
        return "the distribution's own build"
    options = sysconfig.get_config_var("CONFIG_ARGS") or ""
    return "PGO build" if "--enable-optimizations" in options else "plain build, no PGO"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass  # not Linux
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
