"""What this machine has: interpreters and programs, and how programs are run on it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .verdicts import Failed, NotProved

OLDEST = (3, 10)
NAME = re.compile(r"(python|pypy)3(\.\d+)?t?(-dbg|d)?")
PROBE = """
import json, os, sys, sysconfig
print(json.dumps({
    "executable": sys.executable,
    "implementation": sys.implementation.name,
    "version": sys.version_info[:3],
    "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    "debug": hasattr(sys, "gettotalrefcount"),
    "headers": os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")),
    "environment": sys.prefix != sys.base_prefix,
}))
"""


@dataclass(frozen=True)
class Interpreter:
    executable: str
    implementation: str
    version: tuple[int, int, int]
    free_threaded: bool
    debug: bool
    headers: bool

    @property
    def kind(self) -> str:
        """Return what wheels are for: 3.13, or 3.14t."""
        return f"{self.version[0]}.{self.version[1]}{'t' if self.free_threaded else ''}"

    def __str__(self) -> str:
        name = "CPython" if self.implementation == "cpython" else self.implementation
        suffix = "t" if self.free_threaded else ""
        return f"{name} {'.'.join(map(str, self.version))}{suffix}{' debug' * self.debug}"


def probe(executable: str) -> Interpreter | None:
    """Ask an interpreter what it is; None if it doesn't run (a version manager's stand-in)."""
    try:
        done = subprocess.run(
            [executable, "-I", "-c", PROBE], capture_output=True, timeout=60, check=True
        )
        said = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    if said.pop("environment"):
        return None
    return Interpreter(**{**said, "version": tuple(said["version"])})


def version_manager_dirs() -> list[Path]:
    root = os.environ.get("PYENV_ROOT")
    if root is None and shutil.which("pyenv"):
        root = subprocess.run(
            ["pyenv", "root"], capture_output=True, text=True, check=False
        ).stdout.strip()
    return sorted(Path(root).glob("versions/*/bin")) if root else []


@cache
def all_interpreters(named: tuple[str, ...] = ()) -> tuple[Interpreter, ...]:
    """Return each supported interpreter once: those named, then those in PATH and in pyenv."""
    candidates = list(named)
    path = [Path(place) for place in os.environ.get("PATH", "").split(os.pathsep) if place]
    for place in (*path, *version_manager_dirs()):
        if place.is_dir():
            names = sorted(entry.name for entry in place.iterdir())
            candidates += [str(place / name) for name in names if NAME.fullmatch(name)]
    found = {}
    for candidate in candidates:
        interpreter = probe(candidate)
        if interpreter is None or interpreter.version < OLDEST:
            if candidate in named:
                raise SystemExit(f"--python {candidate}: no interpreter, or too old")
            continue
        found.setdefault(os.path.realpath(interpreter.executable), interpreter)
    return tuple(sorted(found.values(), key=lambda one: (one.version, one.debug)))


def this_interpreter() -> Interpreter:
    """The one that this program runs on."""
    interpreter = probe(os.path.realpath(sys.executable))
    if interpreter is None:
        raise SystemExit(f"{sys.executable} can't be run on its own")
    return interpreter


def need(program: str) -> str:
    """Return the path of a program, or say that it is missing here."""
    found = shutil.which(program)
    if found is None:
        raise NotProved(f"no {program} on this machine")
    return found


def clean_environment() -> dict[str, str]:
    """The environment without switches that would decide what is proved."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("FLOWDROP_FAST_", "PYTHON", "PYTEST_", "HYPOTHESIS_"))
    }


def run(
    arguments: Sequence[str | Path],
    *,
    cwd: Path,
    env: Mapping[str, str] = {},
    timeout: int = 900,
    may_fail: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, with nothing on its standard input; show what it said if it fails.

    `Failed` is raised if it does, unless it may.
    """
    try:
        done = subprocess.run(
            [str(argument) for argument in arguments],
            cwd=cwd,
            env={**clean_environment(), **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{Path(arguments[0]).name} did not end in {timeout} s") from error
    if done.returncode and not may_fail:
        print("\n".join(done.stdout.splitlines()[-60:]), flush=True)
        shown = " ".join(Path(str(one)).name.partition("\n")[0] for one in arguments[:4])
        raise Failed(f"{shown} ... exited with {done.returncode}")
    return done


def last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip("= ") if lines else ""
