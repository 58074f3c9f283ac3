"""Coverage: lines of the compiled backend, branches of the Python modules.

Cython's plugin works on 3.12, with a build that traces. The only lines that tests don't reach are
those that raise MemoryError, which a claim about memory of its own does.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from .artefacts import Tools
from .installing import environment
from .machine import Interpreter, last_line, run
from .memory import must_pass
from .verdicts import Failed, NotProved

# Traced code is a hundred times slower: what calls it thousands of times is left out.
TRACED_TESTS = [
    *(f"tests/test_{n}.py" for n in ("semantics", "vectors", "backends", "nodes", "options")),
    "tests/test_json.py",
    "tests/test_steadiness.py::test_what_stops_the_program_passes_through",
]
# These measure or build, or run what another environment has.
UNMEASURED = ("benchmarks", "build", "options_scaling", "scaling", "steadiness", "threads", "typing")
LINES = """
[run]
plugins = Cython.Coverage
core = ctrace
source = src
[report]
exclude_also =
    raise MemoryError
"""
BRANCHES = """
[run]
branch = true
parallel = true
patch = subprocess, _exit
concurrency = multiprocessing, thread
sigterm = true
disable_warnings = module-not-measured, no-data-collected
data_file = {place}/.coverage
source_pkgs = flowdrop_fast
# Tested with the engines, tests/engines, and in an environment of theirs.
omit =
    */flowdrop_fast/arrow.py
    */flowdrop_fast/ray.py
    */flowdrop_fast/spark.py
[report]
exclude_also =
    if TYPE_CHECKING:
"""


def report(bin: Path, place: Path) -> str:
    """Return the closing line of the report; every missing line is a failure."""
    command = [bin / "coverage", "report", "--rcfile", "coverage.ini", "-m"]
    done = run([*command, "--fail-under=100", "--precision=2"], cwd=place, may_fail=True)
    if done.returncode:
        print(done.stdout)
        raise Failed(f"not covered: {last_line(done.stdout)}")
    return last_line(done.stdout)


def lines_of_extension(
    tools: Tools, found: list[Interpreter], tree: Path, place: Path
) -> str:
    able = [one for one in found if one.kind == "3.12" and one.headers and not one.debug]
    if not able:
        raise NotProved("no CPython 3.12 with headers on this machine")
    place.mkdir()
    bin = environment(tools, able[0], place / "environment")
    copy = shutil.copytree(tree, place / "tree")
    pip = [bin / "python", "-m", "pip", "install", "-q"]
    run([*pip, "setuptools>=77", "Cython>=3.1", "coverage>=7.10", f"{copy}[test]"], cwd=place)
    run(
        [*pip, "--no-build-isolation", "--no-deps", "-e", "."],
        cwd=copy,
        env={"FLOWDROP_FAST_TRACE": "1", "FLOWDROP_FAST_BUILD": "require"},
    )
    (copy / "coverage.ini").write_text(LINES)
    command = [bin / "coverage", "run", "--rcfile", "coverage.ini", "-m", "pytest", "-q"]
    done = run([*command, *TRACED_TESTS], cwd=copy, timeout=1800, may_fail=True)
    must_pass((done.returncode, done.stdout))
    return report(bin, copy)


def branches_of_python(
    tools: Tools, found: list[Interpreter], tree: Path, place: Path
) -> str:
    able = [one for one in found if one.headers and not one.debug]
    if not able:
        raise NotProved("no CPython with headers on this machine")
    place.mkdir()
    bin = environment(tools, able[-1], place / "environment")
    pip = [bin / "python", "-m", "pip", "install", "-q"]
    copy = shutil.copytree(tree, place / "tree")
    editable = ["coverage>=7.10", "-e", f"{copy}[test]"]
    run([*pip, *editable], cwd=place, env={"FLOWDROP_FAST_BUILD": "require"})
    (copy / "coverage.ini").write_text(BRANCHES.format(place=copy))
    command = [bin / "coverage", "run", "--rcfile", "coverage.ini", "-m", "pytest", "-q"]
    left_out = [f"--ignore=tests/test_{name}.py" for name in UNMEASURED]
    left_out += [f"--ignore=flowdrop_fast/{name}.py" for name in ("arrow", "ray", "spark")]
    left_out += ["--hypothesis-seed=0"]  # what is covered is covered each time
    done = run(
        [*command, *left_out],
        cwd=copy,
        env={"PATH": f"{bin}:{os.environ['PATH']}"},
        timeout=1800,
        may_fail=True,
    )
    run([bin / "coverage", "combine", "-q", "--rcfile", "coverage.ini"], cwd=copy)
    must_pass((done.returncode, done.stdout))
    return report(bin, copy)
