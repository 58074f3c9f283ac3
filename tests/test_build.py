"""The build switch: what ends up in wheels, sdists and editable installs.

The project is copied with a tiny kernel in place of the real one: what is tested is how it is
built, and the real one takes long to compile. Run with ``pytest -m build``.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_string
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import flowdrop_fast

pytestmark = pytest.mark.build

ROOT = Path(__file__).parent.parent
EXTENSION = f"flowdrop_fast/_native{EXTENSION_SUFFIXES[0]}"
NO_COMPILER = {"CC": shutil.which("false"), "CXX": shutil.which("false")}


@pytest.fixture
def project(tmp_path):
    """Return a copy of the project, clean of anything built, with a tiny kernel."""
    project = tmp_path / "project"
    project.mkdir()
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, project)
    built = shutil.ignore_patterns("*.so", "*.pyd", "*.c", "__pycache__")
    for name in ("flowdrop_fast", "src", "tests"):
        shutil.copytree(ROOT / name, project / name, ignore=built)
    (project / "src" / "_native.pyx").write_text("def answer():\n    return 42\n")
    return project


def run(project, *arguments, **settings):
    """Run Python with these arguments in the project; return the finished process."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FLOWDROP_FAST_")}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=project,
        env=environment | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )


def build(project, *arguments, **settings):
    """Build distributions into dist/, which must go well; return what the user is shown."""
    process = run(project, "-m", "build", *arguments, **settings)
    assert process.returncode == 0, process.stdout
    return process.stdout


def built_wheel(project):
    """Return the only wheel's file name, its members and its WHEEL fields."""
    (path,) = project.glob("dist/*.whl")
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        (fields,) = (name for name in names if name.endswith(".dist-info/WHEEL"))
        return path.name, names, message_from_string(wheel.read(fields).decode())


def extensions(names):
    return {name for name in names if name.endswith((".so", ".pyd"))}


def assert_pure_wheel(project):
    name, names, fields = built_wheel(project)
    assert name == f"flowdrop_fast-{flowdrop_fast.__version__}-py3-none-any.whl"
    assert fields["Tag"] == "py3-none-any"
    assert fields["Root-Is-Purelib"] == "true"
    assert extensions(names) == set()
    assert {"flowdrop_fast/_pure.py", "flowdrop_fast/py.typed"} <= names


def test_sdist_holds_cython_source_and_its_wheel_the_extension(project):
    build(project, FLOWDROP_FAST_BUILD="require")

    (sdist,) = project.glob("dist/*.tar.gz")
    top = f"flowdrop_fast-{flowdrop_fast.__version__}"
    assert sdist.name == f"{top}.tar.gz"
    with tarfile.open(sdist) as archive:
        names = set(archive.getnames())
    wanted = {"src/_native.pyx", "setup.py", "tests/test_build.py", "LICENSE", "NOTICE"}
    assert {f"{top}/{name}" for name in wanted} <= names
    assert {name for name in names if name.endswith(".c")} == set()
    assert extensions(names) == set()

    name, names, fields = built_wheel(project)
    assert not name.endswith("-any.whl")
    assert fields["Root-Is-Purelib"] == "false"
    assert extensions(names) == {EXTENSION}
    assert {"flowdrop_fast/py.typed", "flowdrop_fast/_native.pyi"} <= names
    assert {name for name in names if name.endswith((".pyx", ".c"))} == set()


def test_generated_c_stays_out_of_the_source_directory(project):
    before = set(project.joinpath("src").iterdir())
    build(project, "--wheel")
    assert set(project.joinpath("src").iterdir()) == before


def test_auto_without_compiler_builds_pure_wheel_and_says_so(project):
    shown = build(project, "--wheel", **NO_COMPILER)
    assert_pure_wheel(project)
    assert "PURE PYTHON" in shown
    assert "FLOWDROP_FAST_BUILD=require" in shown


def test_pure_builds_pure_wheel_with_a_compiler_there(project):
    shown = build(project, "--wheel", FLOWDROP_FAST_BUILD="pure")
    assert_pure_wheel(project)
    assert "warning: build_ext" not in shown


@pytest.mark.parametrize("settings", [NO_COMPILER, {"FLOWDROP_FAST_BUILD": "pure"}])
def test_pure_wheel_holds_no_extension_of_an_earlier_build(project, settings):
    build(project, "--wheel", FLOWDROP_FAST_BUILD="require")
    (library,) = project.glob(f"build/lib*/{EXTENSION}")
    shutil.copy(library, project / EXTENSION)  # as an editable install leaves it
    shutil.rmtree(project / "dist")

    build(project, "--wheel", **settings)
    assert_pure_wheel(project)


def test_sdist_built_as_pure_still_holds_cython_source(project):
    build(project, "--sdist", FLOWDROP_FAST_BUILD="pure")
    (sdist,) = project.glob("dist/*.tar.gz")
    with tarfile.open(sdist) as archive:
        assert f"flowdrop_fast-{flowdrop_fast.__version__}/src/_native.pyx" in archive.getnames()


def test_require_without_compiler_fails(project):
    process = run(project, "-m", "build", "--wheel", FLOWDROP_FAST_BUILD="require", **NO_COMPILER)
    assert process.returncode != 0
    assert f"error: Command '['{NO_COMPILER['CC']}'" in process.stdout
    assert list(project.glob("dist/*.whl")) == []


def test_auto_does_not_pass_over_an_error_in_the_kernel(project):
    (project / "src" / "_native.pyx").write_text("def answer(:\n")
    process = run(project, "-m", "build", "--wheel")
    assert process.returncode != 0
    assert "src/_native.pyx:1" in process.stdout
    assert list(project.glob("dist/*.whl")) == []


@pytest.mark.parametrize("value", ["native", "Pure", "0"])
def test_unknown_build_is_refused_by_name(project, value):
    process = run(project, "-m", "build", "--wheel", FLOWDROP_FAST_BUILD=value)
    assert process.returncode != 0
    assert (
        f"FLOWDROP_FAST_BUILD={value!r} is unknown; it is one of: auto, pure, require"
    ) in process.stdout


@pytest.mark.skipif(os.name == "nt", reason="MSVC reads CL, not CFLAGS")
def test_cflags_of_the_environment_do_not_lose_optimization(project):
    shown = build(project, "--wheel", FLOWDROP_FAST_BUILD="require", CFLAGS="-DMINE=1")
    (command,) = (
        line.split() for line in shown.splitlines() if "-DMINE=1 " in line and " -c " in line
    )
    assert "-O3" in command


def test_editable_install_puts_the_extension_beside_the_package(project, tmp_path):
    # Ignore what is installed: a prefix alone does not keep pip from uninstalling it here.
    install = ("-m", "pip", "install", "--no-deps", "--ignore-installed", "-e", ".")
    install += ("--prefix", str(tmp_path / "prefix"))
    process = run(project, *install, FLOWDROP_FAST_BUILD="require")
    assert process.returncode == 0, process.stdout
    assert (project / EXTENSION).exists()

    # One that can't be compiled any more does not leave the older one in use.
    process = run(project, *install, **NO_COMPILER)
    assert process.returncode == 0, process.stdout
    assert not (project / EXTENSION).exists()
