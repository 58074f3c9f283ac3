"""Timing side by side: contenders take turns, round after round, in one process.

Seconds on a shared machine are noise; what two contenders took in the *same* round is not. So a
figure is always the median over rounds of a per-round ratio. The clock counts what this thread
spent on a processor, not what it waited for one. The collector stays on, and results are freed
inside the timed region: making garbage is part of the cost.
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

# Elsewhere than on Linux and macOS this clock may tick only every few milliseconds.
_FINE = time.get_clock_info("thread_time").resolution < 1e-6
_CLOCK = time.thread_time if _FINE else time.perf_counter

# Written out as source, as timeit does, so that a row copy is not charged for a call that the
# program it stands for would not make.
_WARM = """
def timed(make, count, clock, {names}):
    messages = make()
    {statement}
    start = clock()
    for _ in range(count):
        {statement}
    return clock() - start
"""
_FRESH = """
def timed(make, count, clock, {names}):
    seconds = 0.0
    for _ in range(count):
        messages = make()
        start = clock()
        {statement}
        seconds += clock() - start
    return seconds
"""


@dataclass(frozen=True)
class Contender:
    """One statement to time.

    Args:
        name: what `ratio` calls it.
        statement: Python source that knows its input as ``messages``.
        make: gives the input: once for each region when warm, once for each run when fresh.
        size: messages in one input; times are reported for each of them.
        names: the other names that the statement uses.
    """

    name: str
    statement: str
    make: Callable[[], Any]
    size: int
    names: Mapping[str, Any] = field(default_factory=dict)

    def timer(self, *, freshly: bool) -> Callable[[int], float]:
        """Compile the statement into a function that runs it so often and gives the seconds."""
        namespace: dict[str, Any] = {}
        source = (_FRESH if freshly else _WARM).format(
            names=", ".join(f"{name}={name}" for name in self.names), statement=self.statement
        )
        exec(source, dict(self.names), namespace)
        timed = namespace["timed"]

        def make() -> Any:
            messages = self.make()
            gc.freeze()
            return messages

        return lambda count: timed(make, count, _CLOCK)


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


_pins: list[bytes] = []


def settle(megabytes: int = 64) -> None:
    """Bring the process into the state of one that has run for a while.

    Some memory is taken, and given back all but one small object in each part, so that the
    allocator keeps it: else it returns an arena to the system and asks for it again at every call,
    or at none, as chance will have it.
    """
    blocks = [bytes(400) for _ in range(megabytes * 2_500)]
    _pins[:] = blocks[::1_000]


def interleave(contenders: Sequence[Contender], rounds: int, *, freshly: bool) -> Rounds:
    """Let every contender run once a round, the order turned round each time.

    The collector starts each region from zero, with all that lives by then, inputs included, out
    of its sight. It stays on for what a contender makes. But a full collection, which walks the
    whole process, would fall into a region by chance, and on the row copy alone: a compiled pass
    gives the collector no occasion to run.

    Args:
        contenders: with different names.
        rounds: how often.
        freshly: make a new input for every run, outside the timed region, and run it at once.
    """
    timers = {c.name: c.timer(freshly=freshly) for c in contenders}
    counts = {c.name: _repetitions(c, timers[c.name], freshly=freshly) for c in contenders}
    seconds: dict[str, list[float]] = {c.name: [] for c in contenders}
    for round_ in range(rounds):
        for contender in contenders[:: 1 if round_ % 2 else -1]:
            name, count = contender.name, counts[contender.name]
            gc.collect()
            seconds[name].append(timers[name](count) / (count * contender.size))
    return Rounds(seconds)


def _repetitions(contender: Contender, timer: Callable[[int], float], *, freshly: bool) -> int:
    """How many runs make a timed region long enough."""
    most = max(1, _MAX_FRESH // contender.size) if freshly else 1 << 20
    count = 1
    while (taken := timer(count)) < _MIN_SECONDS / 2 and count < most:
        count *= 2
    return min(most, max(1, round(count * _MIN_SECONDS / max(taken, 1e-9))))


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
