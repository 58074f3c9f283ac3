"""The import switch, each case in a process of its own.

The package is copied without its extension; a module put in the extension's place stands for one
that works or for one that is broken. Nothing here depends on what this installation has compiled.
At the end the same choices once more in this process, where it can be seen which lines they run.
"""

import os
import shutil
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import SimpleNamespace

import pytest

import flowdrop_fast
from flowdrop_fast import _backend, _pure

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


def put_extension_of_another_interpreter(installation):
    text = "raise ImportError('Interpreter change detected - and so on, as Cython says it')\n"
    (installation / "_native.py").write_text(text)


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


@pytest.mark.parametrize("choice", [None, "", "auto"])
def test_pure_is_used_where_another_interpreter_has_the_extension(installation, choice):
    put_extension_of_another_interpreter(installation)
    assert chosen(import_package(installation, choice)) == ON_PURE


def test_native_raises_where_another_interpreter_has_the_extension(installation):
    put_extension_of_another_interpreter(installation)
    process = import_package(installation, "native")
    assert process.returncode == 1
    assert process.stderr.splitlines()[-1].startswith("ImportError: Interpreter change detected")


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


class TestInThisProcess:
    @pytest.fixture
    def choose(self, monkeypatch):
        """Make the choice again, as an import would make it with that extension in its place."""

        def choose(choice, extension):
            monkeypatch.setenv("FLOWDROP_FAST_BACKEND", choice)
            monkeypatch.setattr(_backend, "importlib", in_place_of_native(extension))
            return _backend._choose()

        return choose

    def test_a_working_extension(self, choose):
        assert choose("auto", sys) == (sys, "native")
        assert choose("native", sys) == (sys, "native")
        assert choose("pure", sys) == (_pure, "pure")

    def test_none(self, choose):
        absent = ModuleNotFoundError("none", name="flowdrop_fast._native")
        assert choose("auto", absent) == (_pure, "pure")
        with pytest.raises(ImportError, match="this installation has no compiled extension"):
            choose("native", absent)

    @pytest.mark.parametrize("choice", ["auto", "native"])
    @pytest.mark.parametrize(
        "error",
        [ModuleNotFoundError("none", name="other"), ImportError("cut short"), RuntimeError("no")],
    )
    def test_a_broken_one(self, choose, choice, error):
        with pytest.raises(type(error), match=str(error)):
            choose(choice, error)
        assert choose("pure", error) == (_pure, "pure")

    @pytest.mark.parametrize("said", _backend._IN_ANOTHER_INTERPRETER)
    def test_one_that_another_interpreter_has(self, choose, said):
        error = ImportError(f"the extension: {said}!")
        assert choose("auto", error) == (_pure, "pure")
        with pytest.raises(ImportError, match=said):
            choose("native", error)

    def test_an_unknown_choice(self, choose):
        with pytest.raises(
            ValueError, match="'cython' is unknown; it is one of: auto, native, pure"
        ):
            choose("cython", sys)


def in_place_of_native(extension):
    """An `importlib` that gives something else as the extension, or raises it."""

    def import_module(name):
        if name != "flowdrop_fast._native":
            return sys.modules[name]
        if isinstance(extension, Exception):
            raise extension
        return extension

    return SimpleNamespace(import_module=import_module)
