"""A wheel in an empty environment, and the shared suite against it; which wheel pip chooses."""

from __future__ import annotations

import zipfile
from pathlib import Path

from .artefacts import Tools
from .machine import Interpreter, last_line, run
from .verdicts import Failed

# The quick form's part of the suite: what differs between an installed package and a checkout, and
# the contract's own examples. The rest runs there against the checkout anyway.
QUICK = tuple(
    f"tests/test_{name}.py"
    for name in ("backend_switch", "vectors", "invariants", "results", "openai", "subinterpreters")
)
SHOW = "import flowdrop_fast as f; print(f.BACKEND, f.coerce_content({'a': [1]}))"


def environment(tools: Tools, interpreter: Interpreter, place: Path) -> Path:
    """Make an empty environment; return its bin."""
    command = [tools("virtualenv"), "-q", "--no-periodic-update", "-p", interpreter.executable]
    run([*command, place], cwd=place.parent)
    return place / "bin"


def install_alone(bin: Path, wheel: Path, backend: str) -> None:
    """Install a wheel where nothing else is: it needs nothing, and works."""
    run([bin / "python", "-m", "pip", "install", "-q", "--no-index", wheel], cwd=bin.parent)
    said = run([bin / "python", "-c", SHOW], cwd=bin.parent).stdout.strip()
    if said != f'{backend} {{"a":[1]}}':
        raise Failed(f"{wheel.name}, installed alone, says: {said}")
    said = run([bin / "flowdrop-fast", "--version"], cwd=bin.parent).stdout
    if backend not in said:
        raise Failed(f"flowdrop-fast --version says: {said.strip()}")


def install_tests(bin: Path, tree: Path) -> None:
    group = f"{tree / 'pyproject.toml'}:suite"
    run([bin / "python", "-m", "pip", "install", "-q", "--group", group], cwd=bin.parent)


def run_suite(bin: Path, tree: Path, backend: str, *more: str, **env: str) -> str:
    """Run the shared suite, which must pass; return its closing line."""
    command = [bin / "python", tree / "tools" / "test_installed.py", backend, "-q", *more]
    done = run(command, cwd=bin.parent, env=env, timeout=1800)
    closing = last_line(done.stdout)
    if " passed" not in closing:
        raise Failed(f"no test was run: {closing}")
    return closing


# ---- What pip chooses ---------------------------------------------------------------------------

WHEEL = """Wheel-Version: 1.0
Generator: none
Root-Is-Purelib: false
Tag: {tag}
"""
METADATA = """Metadata-Version: 2.1
Name: flowdrop-fast
Version: {version}
"""


def tag_of(identifier: str) -> str:
    """Return the tag of the wheel that cibuildwheel names so: cp314t-musllinux_x86_64."""
    python, _, platform = identifier.partition("-")
    abi = python
    python = python.removesuffix("t")
    system, _, machine = platform.partition("_")
    if system == "manylinux":
        platform = f"manylinux2014_{machine}.manylinux_2_17_{machine}"
    elif system == "musllinux":
        platform = f"musllinux_1_2_{machine}"
    elif system == "macosx":
        platform = f"macosx_{'11_0' if machine == 'arm64' else '10_13'}_{machine}"
    return f"{python}-{abi}-{platform}"


def empty_wheel(place: Path, tag: str, version: str) -> Path:
    """Make a wheel with nothing in it, to be offered to pip under its tag."""
    path = place / f"flowdrop_fast-{version}-{tag}.whl"
    info = f"flowdrop_fast-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{info}/WHEEL", WHEEL.format(tag=tag))
        archive.writestr(f"{info}/METADATA", METADATA.format(version=version))
        archive.writestr(f"{info}/RECORD", "")
    return path


def chosen(pip: Path, offered: Path, place: Path, python: str, abi: str, platform: str) -> str:
    """Return the name of the wheel that pip takes for that kind of machine."""
    command = [pip, "download", "-q", "--no-index", "--no-deps", "--find-links", offered]
    command += ["-d", place, "--only-binary", ":all:", "--implementation", "cp"]
    command += ["--python-version", python, "--platform", platform]
    for one in (abi, "abi3", "none"):
        command += ["--abi", one]
    run([*command, "flowdrop-fast"], cwd=offered)
    (taken,) = place.glob("*.whl")
    name = taken.name
    taken.unlink()
    return name
