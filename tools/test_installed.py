"""Runs the shared suite against the flowdrop-fast that is installed here, outside the checkout.

    python tools/test_installed.py native|pure [pytest options and test modules; all by default]

The tests are copied from the tree that this file lies in to a directory of their own, where there
is no flowdrop_fast to be imported but the installed one. First it is checked that the installed
one is what it should be: that backend, its wheel's tag, and, on a free-threaded interpreter, a GIL
that stays off. Used by cibuildwheel, by tools/verify_dist and in Pyodide alike.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.metadata import distribution
from pathlib import Path

TREE = Path(__file__).resolve().parent.parent
COPIED = ("tests", "benchmarks", "docs", "examples", "README.md", "CHANGELOG.md", "pyproject.toml")
# Tests of the checkout, where mypy, the build and the docs look, and of what needs an extra: the
# suite has to run where those can't be installed.
LEFT_OUT = tuple(
    f"tests/test_{name}.py"
    for name in ("benchmarks", "build", "cli_codec", "cli_runs", "cli_terminal", "json", "typing")
)
ENGINES = ("arrow", "ray", "spark")  # modules that import what only an extra brings
# What Pyodide has not: processes, threads, a clock of the thread's, blocks that are counted.
NEEDS_MORE = re.compile(
    r"import (subprocess|threading)\n|thread_time|from test_scaling|getallocatedblocks"
)


def check_installed(backend: str) -> None:
    """What is imported must be the installed package, and of that backend."""
    import flowdrop_fast
    from flowdrop_fast import _backend

    home = Path(flowdrop_fast.__file__).resolve().parent
    sites = {Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib")}
    require(home.parent in sites, f"{home} is not in site-packages")
    require(not home.is_relative_to(TREE), f"{home} lies in the checkout")

    installed = distribution("flowdrop-fast")
    require(installed.version == flowdrop_fast.__version__, "versions differ")
    tags = [line for line in (installed.read_text("WHEEL") or "").splitlines() if "Tag: " in line]
    pure = tags == ["Tag: py3-none-any"]
    require(pure == (backend == "pure"), f"a wheel for {backend} is tagged {tags}")
    require((home / "py.typed").exists(), "py.typed is missing")
    try:
        importlib.import_module("flowdrop_fast._native")
        compiled = True
    except ModuleNotFoundError:
        compiled = False
    require(compiled == (backend == "native"), f"compiled extension there: {compiled}")
    require(backend == flowdrop_fast.BACKEND, f"BACKEND is {flowdrop_fast.BACKEND}")
    module = _backend.backend.__file__
    print(f"flowdrop-fast {installed.version}, {backend} backend: {module}, {', '.join(tags)}")

    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        require(not sys._is_gil_enabled(), "the import switched the GIL on")
        print("free-threaded, and the GIL stayed off")


def require(holds: bool, message: str) -> None:
    if not holds:
        sys.exit(f"installed package: {message}")


def pytest_arguments(backend: str, more: list[str]) -> list[str]:
    modules = [name for name in suite() if name not in LEFT_OUT]
    if sys.platform == "emscripten":
        able = [name for name in modules if not NEEDS_MORE.search((TREE / name).read_text("utf-8"))]
        print("left out, for want of processes, threads or counters:", *set(modules) - set(able))
        modules = able
    only = ["--backend=pure"] if backend == "pure" else []
    if any(argument.startswith("tests/") for argument in more):
        modules = []
    package = importlib.import_module("flowdrop_fast").__path__[0]
    ignored = [f"--ignore={Path(package, name)}.py" for name in ENGINES]
    return ["-p", "no:cacheprovider", *ignored, *only, *more, *modules, "--pyargs", "flowdrop_fast"]


def suite() -> list[str]:
    return sorted(f"tests/{path.name}" for path in (TREE / "tests").glob("test_*.py"))


def copy_tests(place: Path) -> None:
    for name in COPIED:
        source = TREE / name
        if source.is_dir():
            shutil.copytree(source, place / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, place)


def main() -> int:
    backend, *more = sys.argv[1:] or [""]
    if backend not in ("native", "pure"):
        print(__doc__)
        return 2
    sys.path[:] = [place for place in sys.path if Path(place or ".").resolve() != TREE / "tools"]
    os.environ["FLOWDROP_FAST_BACKEND"] = backend
    check_installed(backend)
    with tempfile.TemporaryDirectory() as place:
        copy_tests(Path(place))
        arguments = pytest_arguments(backend, more)
        if sys.platform == "emscripten":  # has no processes
            os.chdir(place)
            import pytest

            code = int(pytest.main(arguments))
            os.chdir("/")
            return code
        sys.stdout.flush()  # before pytest's own lines
        return subprocess.run(
            [sys.executable, "-m", "pytest", *arguments], cwd=place, check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
