"""The import switch, each case in a process of its own.

The package is copied without its extension; a module put in the extension's place stands for one
that works or for one that is broken. Nothing here depends on what this installation has compiled.
"""

import os
import shutil
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import flowdrop_fast

PACKAGE = Path(flowdrop_fast.__file__).parent

REPORT = """
import flowdrop_fast
from flowdrop_fast import _backend
print(flowdrop_fast.BACKEND, _backend.BACKEND, _backend.backend.__name__)
"""

ON_NATIVE = ["native", "native", "flowdrop_fast._native"]
ON_PURE = ["pure", "pure", "flowdrop_fast._pure"]


@pytest.fixture
def installation(tmp_path):
    """Return a copy of the package with no extension in it."""
    package = tmp_path / "flowdrop_fast"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    return package


def import_package(installation, choice):
    """Import the copy; return the finished process."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("FLOWDROP_FAST_BACKEND", "PYTHONPATH", "PYTHONSAFEPATH")
    }
    if choice is not None:
        environment["FLOWDROP_FAST_BACKEND"] = choice
    # Without site-packages: an editable install would add its own extension to the copy.
    return subprocess.run(
        [sys.executable, "-S", "-c", REPORT],
        cwd=installation.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def chosen(process):
    assert process.returncode == 0, process.stderr
    return process.stdout.split()


def put_working_extension(installation):
    shutil.copy(installation / "_pure.py", installation / "_native.py")


def put_truncated_extension(installation):
    (installation / f"_native{EXTENSION_SUFFIXES[0]}").write_bytes(b"\x7fELF, cut short")


def put_extension_lacking_a_module(installation):
    (installation / "_native.py").write_text("import flowdrop_fast._no_such_module\n")


def put_raising_extension(installation):
    (installation / "_native.py").write_text("raise RuntimeError('cannot start')\n")


@pytest.mark.parametrize("choice", [None, "", "auto", "native"])
def test_extension_is_used_where_it_is_present(installation, choice):
    put_working_extension(installation)
    assert chosen(import_package(installation, choice)) == ON_NATIVE


@pytest.mark.parametrize("choice", [None, "", "auto", "pure"])
def test_pure_is_used_where_the_extension_is_absent(installation, choice):
    assert chosen(import_package(installation, choice)) == ON_PURE


def test_pure_can_be_asked_for_where_the_extension_is_present(installation):
    put_working_extension(installation)
    assert chosen(import_package(installation, "pure")) == ON_PURE


def test_native_raises_where_the_extension_is_absent(installation):
    process = import_package(installation, "native")
    assert process.returncode == 1
    error = process.stderr.splitlines()[-1]
    assert error.startswith("ImportError: FLOWDROP_FAST_BACKEND=native, but")
    assert "FLOWDROP_FAST_BUILD=require" in error


@pytest.mark.parametrize("choice", [None, "auto", "native"])
@pytest.mark.parametrize(
    ("break_it", "error"),
    [
        (put_truncated_extension, "ImportError: "),
        (put_extension_lacking_a_module, "ModuleNotFoundError: No module named"),
        (put_raising_extension, "RuntimeError: cannot start"),
    ],
)
def test_broken_extension_is_never_passed_over(installation, choice, break_it, error):
    break_it(installation)
    process = import_package(installation, choice)
    assert process.returncode == 1
    assert process.stderr.splitlines()[-1].startswith(error)


@pytest.mark.parametrize(
    "break_it", [put_truncated_extension, put_extension_lacking_a_module, put_raising_extension]
)
def test_pure_does_not_touch_a_broken_extension(installation, break_it):
    break_it(installation)
    assert chosen(import_package(installation, "pure")) == ON_PURE


@pytest.mark.parametrize("choice", ["Native", "cython", "1", " auto"])
def test_unknown_choice_is_refused_by_name(installation, choice):
    put_working_extension(installation)
    process = import_package(installation, choice)
    assert process.returncode == 1
    error = process.stderr.splitlines()[-1]
    assert error == (
        f"ValueError: FLOWDROP_FAST_BACKEND={choice!r} is unknown; it is one of: auto, native, pure"
    )
