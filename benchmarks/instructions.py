"""Instructions a message, by callgrind: ``python -m benchmarks.instructions``.

Seconds depend on who else uses the machine; instruction counts repeat. Each workload runs twice in
a process of its own, N times over and 2 N times over: the difference is N passes, with start-up,
imports and decoding cancelled out. ``INSTRUCTIONS.md`` keeps one table for each interpreter, and a
change to a backend updates it.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import contenders
from benchmarks.histories import DECODER, decode, encoded
from benchmarks.measuring import described_machine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TABLE = Path(__file__).with_name("INSTRUCTIONS.md")
_MESSAGES = 1_000
_PASSES = 10
_TIMEOUT = 600  # seconds for one run under valgrind


class UnavailableError(Exception):
    """Instructions cannot be counted here; the message says why."""


@dataclass(frozen=True)
class Workload:
    """What one pass does: a function of (decoded messages, their bytes)."""

    one_pass: Callable[[list[Any], bytes], object]
    data: bytes


def _row_copy(messages: list[Any], _data: bytes) -> object:
    return [m.copy() for m in messages]


def _decode(_messages: list[Any], data: bytes) -> object:
    return decode(data)


def _normalize(backend: str) -> Callable[[list[Any], bytes], object]:
    normalize = contenders.backend(backend).normalize_conversation
    return lambda messages, _data: normalize(messages)


def _decode_and_normalize(_messages: list[Any], data: bytes) -> object:
    return contenders.backend("native").normalize_conversation(decode(data))


def _workload(name: str, n: int) -> Workload:
    what, _, shape = name.partition(", ")
    data = encoded(n, broken=0.05) if shape == "broken" else encoded(n, shape)
    if what in contenders.BACKENDS:
        return Workload(_normalize(what), data)
    return Workload(
        {"row copy": _row_copy, "decode": _decode, "decode + native": _decode_and_normalize}[what],
        data,
    )


WORKLOADS = (
    "row copy, flat",
    "row copy, stored",
    "native, flat",
    "native, stored",
    "native, provider",
    "native, broken",
    "pure, flat",
    "pure, stored",
    "pure, broken",
    "decode, flat",
    "decode + native, flat",
)


def count(name: str, messages: int = _MESSAGES, passes: int = _PASSES) -> float:
    """Count the instructions that workload `name` takes for each message.

    Raises:
        UnavailableError: where valgrind is missing or fails.
    """
    once = _under_callgrind(name, messages, passes)
    twice = _under_callgrind(name, messages, 2 * passes)
    entries = len(decode(_workload(name, messages).data))
    return (twice - once) / (passes * entries)


def _under_callgrind(name: str, messages: int, passes: int) -> int:
    valgrind = shutil.which("valgrind")
    if not valgrind:
        raise UnavailableError("valgrind: not installed")
    with tempfile.TemporaryDirectory() as directory:
        command = [
            valgrind,
            "--tool=callgrind",
            f"--callgrind-out-file={directory}/out",
            sys.executable,
            "-m",
            "benchmarks.instructions",
            "--run",
            name,
            "--messages",
            str(messages),
            "--passes",
            str(passes),
        ]
        # Hash seeds change how often dicts collide; written bytecode would change the second run.
        environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env=environment,
            cwd=Path(__file__).parent.parent,
            timeout=_TIMEOUT,
            check=False,
        )
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not collected:
        raise UnavailableError(f"valgrind failed: {done.stderr.strip().splitlines()[-1:]}")
    return int(collected[1])


def _run(name: str, messages: int, passes: int) -> None:
    """The measured process: decode once, warm up once, pass over it again and again."""
    workload = _workload(name, messages)
    decoded = decode(workload.data)
    workload.one_pass(decoded, workload.data)
    for _ in range(passes):
        workload.one_pass(decoded, workload.data)


# --- the table ----------------------------------------------------------------------------------

_HEAD = """# Instructions a message

Counted by `python -m benchmarks.instructions`: callgrind, 1,000 messages, the difference between
10 and 20 passes over a decoded list. "decode" is `orjson.loads` of the same bytes; "decode +
native, flat" less "decode, flat" is what the pass costs on ids that were never hashed.
The goal is 1,350 or fewer for "native, flat". The last column divides by the row copy of stored
rows for stored ones, of flat rows for all others.
"""


def section(counts: dict[str, float]) -> tuple[str, str]:
    """Return the heading of this interpreter's table and the table itself, in Markdown."""
    machine = described_machine(("cython", DECODER))
    versions = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    heading = f"## {machine['python']}, {machine['build']}"
    floor = {
        shape: counts[f"row copy, {shape}"]
        for shape in ("flat", "stored")
        if f"row copy, {shape}" in counts
    }
    lines = [f"{machine['compiler']}; {versions}.", "", "| | instructions | of the row copy |"]
    lines.append("|---|---:|---:|")
    for name, counted in counts.items():
        below = floor.get("stored" if name.endswith("stored") else "flat")
        share = f"{counted / below:.2f}" if below else ""
        lines.append(f"| {name} | {counted:,.0f} | {share} |")
    return heading, "\n".join(lines)


def updated(document: str, heading: str, body: str) -> str:
    """Put a section into the document, in place of the one with the same heading."""
    _, *sections = re.split(r"^(?=## )", document, flags=re.MULTILINE)
    others = [s.strip() for s in sections if s.splitlines()[0] != heading]
    return "\n\n".join([_HEAD.strip(), *sorted([*others, f"{heading}\n\n{body}"])]) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Count, print, and write the table when asked."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.instructions", description="Count instructions a message."
    )
    parser.add_argument("--only", action="append", choices=WORKLOADS, metavar="WORKLOAD")
    parser.add_argument("--write", action="store_true", help=f"update {TABLE.name}")
    parser.add_argument("--messages", type=int, default=_MESSAGES, help=argparse.SUPPRESS)
    parser.add_argument("--passes", type=int, default=_PASSES, help=argparse.SUPPRESS)
    parser.add_argument("--run", choices=WORKLOADS, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.run:
        _run(options.run, options.messages, options.passes)
        return 0
    if options.write and options.only:
        parser.error("--write needs every workload: leave --only out")
    counts = {}
    try:
        for name in options.only or WORKLOADS:
            counts[name] = count(name, options.messages, options.passes)
            print(f"{name:<24}{counts[name]:>10,.1f}", flush=True)
    except UnavailableError as error:
        print(error, file=sys.stderr)
        return 2
    if options.write:
        old = TABLE.read_text(encoding="utf-8") if TABLE.exists() else ""
        TABLE.write_text(updated(old, *section(counts)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
