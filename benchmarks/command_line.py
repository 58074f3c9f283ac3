"""The command line against the loop that a user would write, side by side in one run.

    python -m benchmarks.command_line [--megabytes 1000] [--rounds 5] [--json run.json]

Processor time is that of a process and all that it started, as the system counted it: start-up,
reading and writing are in it, on both sides. Memory is the sum of the proportional set sizes of
all processes, looked at fifty times a second in a run of its own.

The clock needs two idle cores: where two loops at once, which share nothing, are not twice as fast
as one after the other, it says nothing. What two cores spend over what one spends then tells how
much the work together costs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from benchmarks.histories import encoded

LOOP = """
import sys, orjson
from flowdrop_fast import normalize_conversation
loads, dumps = orjson.loads, orjson.dumps
with open(sys.argv[1], "rb") as file, open(sys.argv[2], "wb") as out:
    for line in file:
        value = loads(line)
        value["messages"] = normalize_conversation(value["messages"]).messages
        out.write(dumps(value))
        out.write(b"\\n")
"""

# Of a hundred conversations, so many need no change; the others are stored rows, one in twenty
# broken.
FILES = {"all change": 0, "half change": 50, "most are clean": 95}

CPU_GOAL = 1.15
CLEAN_GOAL = 1.0
SCALE_GOAL = 1.8
MEMORY_GOAL = 150e6


def generate(path: Path, megabytes: float, clean: int) -> None:
    """Write a file of irregular conversations, the same for the same arguments."""
    chance = random.Random(clean)
    sizes = [chance.choice((3, 8, 12, 20, 40, 90)) for _ in range(300)]
    flat = [encoded(size, seed=number) for number, size in enumerate(sizes)]
    stored = [
        encoded(size, "stored", broken=0.05, seed=number) for number, size in enumerate(sizes)
    ]
    left = megabytes * 1e6
    with path.open("wb") as file:
        number = 0
        while left > 0:
            messages = chance.choice(flat if chance.randrange(100) < clean else stored)
            line = b'{"id": %d, "messages": %s, "tags": ["a", null]}\n' % (number, messages)
            left -= file.write(line)
            number += 1


def spend(arguments: list[str]) -> tuple[float, float]:
    """Run a process; return the processor seconds of it and its children, and the seconds."""
    start = time.perf_counter()
    process = subprocess.Popen(arguments)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"exit code {process.returncode}: {arguments}")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - start


def peak_memory(arguments: list[str]) -> int:
    """Run a process; return the most bytes that it and its children took at one time."""
    process = subprocess.Popen(arguments)
    peak = 0
    done = threading.Event()

    def look() -> None:
        nonlocal peak
        while not done.wait(0.02):
            peak = max(peak, sum(map(_proportional_set_size, _family(process.pid))))

    thread = threading.Thread(target=look)
    thread.start()
    process.wait()
    done.set()
    thread.join()
    return peak


def _family(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    except OSError:
        return [pid]
    return [pid, *(one for child in text.split() for one in _family(int(child)))]


def _proportional_set_size(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0
    return 1024 * sum(int(line.split()[1]) for line in text.splitlines() if line[:4] == "Pss:")


def normalize(jobs: int, source: Path, target: Path) -> list[str]:
    """The command to measure."""
    arguments = [sys.executable, "-m", "flowdrop_fast", "normalize", "-q", "--force"]
    return [*arguments, "-j", str(jobs), str(source), "-o", str(target)]


def measure(folder: Path, megabytes: float, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Measure every file; return the figures of each round."""
    figures = {}
    for name, clean in FILES.items():
        source, target, other = folder / "in.jsonl", folder / "out.jsonl", folder / "loop.jsonl"
        generate(source, megabytes, clean)
        loop = [sys.executable, "-c", LOOP, str(source), str(other)]
        found: dict[str, list[float]] = {
            name: [] for name in ("cpu", "cpu of two", "scale", "scale of the loop")
        }
        for turn in range(rounds):
            # Two loops at once show what two cores give here to work that shares nothing.
            contenders = ["loop", "one", "two", "loops"]
            seconds = {}
            for contender in contenders[turn % 4 :] + contenders[: turn % 4]:
                if contender == "loops":
                    start = time.perf_counter()
                    pair = [
                        subprocess.Popen([*loop[:-1], str(folder / f"loop{number}.jsonl")])
                        for number in range(2)
                    ]
                    for process in pair:
                        process.wait()
                    seconds["loops"] = (0.0, time.perf_counter() - start)
                elif contender == "loop":
                    seconds["loop"] = spend(loop)
                else:
                    jobs = 1 if contender == "one" else 2
                    seconds[contender] = spend(normalize(jobs, source, target))
            found["cpu"].append(seconds["one"][0] / seconds["loop"][0])
            found["cpu of two"].append(seconds["two"][0] / seconds["one"][0])
            found["scale"].append(seconds["one"][1] / seconds["two"][1])
            found["scale of the loop"].append(2 * seconds["loop"][1] / seconds["loops"][1])
        if same_values(target, other):
            found["memory"] = [float(peak_memory(normalize(2, source, target)))]
            figures[name] = found
        else:
            raise SystemExit(f"{name}: the command and the loop do not give the same values")
    return figures


def same_values(one: Path, other: Path) -> bool:
    """Whether two files hold equal JSON values, line for line."""
    with one.open("rb") as first, other.open("rb") as second:
        pairs = zip(first, second, strict=True)
        return all(a == b or json.loads(a) == json.loads(b) for a, b in pairs)


def show(figures: dict[str, dict[str, list[float]]]) -> bool:
    """Print the table; return whether every goal is met."""
    met = True
    print(f"{'file':<16} {'figure':<34} {'median':>8} {'quartiles':>15} {'goal':>8}")
    for name, found in figures.items():
        cpu_goal = CLEAN_GOAL if name == "most are clean" else CPU_GOAL
        goals = {
            "cpu": ("CPU of one core / CPU of the loop", cpu_goal, False),
            "cpu of two": ("CPU of two cores / CPU of one", 2 / SCALE_GOAL, False),
            "scale": ("time of one core / time of two", SCALE_GOAL, True),
            "scale of the loop": ("the same of two loops at once", None, True),
            "memory": ("peak memory in MB, two workers", MEMORY_GOAL / 1e6, False),
        }
        for key, measured in found.items():
            label, goal, more = goals[key]
            values = [value / 1e6 for value in measured] if key == "memory" else measured
            median = statistics.median(values)
            low, _, high = statistics.quantiles(values, n=4) if len(values) > 1 else [median] * 3
            good = goal is None or (median >= goal if more else median <= goal)
            met = met and good
            sign = "" if goal is None else f"{'>=' if more else '<='}{goal:>5.3g}"
            verdict = "" if goal is None else "  pass" if good else "  MISS"
            print(
                f"{name:<16} {label:<34} {median:>8.2f} {low:>7.2f}{high:>8.2f} {sign:>8}{verdict}"
            )
    return met


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=1000, help="size of each file")
    parser.add_argument("--rounds", type=int, default=5, help="how often each contender runs")
    parser.add_argument("--folder", type=Path, help="where to write, rather than in TMPDIR")
    parser.add_argument("--json", type=Path, help="where to keep the figures")
    parser.add_argument("--check", action="store_true", help="exit 1 if a goal is missed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        figures = measure(Path(folder), options.megabytes, options.rounds)
    met = show(figures)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return int(options.check and not met)


if __name__ == "__main__":
    raise SystemExit(main())
