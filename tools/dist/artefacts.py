"""The sdist and the wheels: how they are built, and what has to be in them."""

from __future__ import annotations

import platform
import shutil
import subprocess
import tarfile
import zipfile
from dataclasses import dataclass
from email import message_from_string
from pathlib import Path

from .machine import Interpreter, clean_environment, run
from .verdicts import Failed, NotProved

EXTENSIONS = (".so", ".pyd", ".dylib")


@dataclass(frozen=True)
class Tools:
    """The environment that the `dist` dependency group is installed in."""

    bin: Path

    def __call__(self, name: str) -> Path:
        return self.bin / name


def snapshot(root: Path, place: Path) -> Path:
    """Copy what is tracked, with changes that are not committed yet."""
    listing = ["git", "-c", f"safe.directory={root}", "ls-files", "-z"]
    done = subprocess.run(
        listing, cwd=root, env=clean_environment(), capture_output=True, check=False
    )
    if done.returncode:
        raise Failed("git ls-files fails here: this is no checkout")
    for name in done.stdout.decode().split("\0"):
        source = root / name
        if name and source.is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, place / name)
    return place


def build_sdist(tools: Tools, tree: Path, out: Path) -> Path:
    run([tools("python"), "-m", "build", "--sdist", "-o", out, "."], cwd=tree)
    (sdist,) = out.glob("*.tar.gz")
    return sdist


def unpack(sdist: Path, place: Path) -> Path:
    with tarfile.open(sdist) as archive:
        archive.extractall(place, filter="data")
    return place / sdist.name.removesuffix(".tar.gz")


def inspect_sdist(sdist: Path, tree: Path) -> str:
    """An sdist holds all that wheels are built from and tested with, and nothing built."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {
        path.relative_to(tree).as_posix()
        for pattern in ("flowdrop_fast/**/*.py*", "src/*", "tests/**/*.py", "docs/*.md")
        for path in tree.glob(pattern)
    }
    wanted |= {"LICENSE", "NOTICE", "README.md", "pyproject.toml", "setup.py", "PKG-INFO"}
    wanted |= {"tools/test_installed.py"}
    if missing := wanted - names:
        raise Failed(f"not in the sdist: {', '.join(sorted(missing))}")
    if built := [name for name in names if name.endswith((*EXTENSIONS, ".c", ".pyc"))]:
        raise Failed(f"built files in the sdist: {', '.join(sorted(built))}")
    return f"{len(names)} files"


def build_wheel(pip: Path, sdist: Path, out: Path, build: str, **env: str) -> Path:
    """Build a wheel of the sdist, in a build environment of its own."""
    out.mkdir(parents=True)
    run(
        [pip, "wheel", "--no-deps", "--no-cache-dir", "-w", out, sdist],
        cwd=out,
        env={"FLOWDROP_FAST_BUILD": build, **env},
    )
    (wheel,) = out.glob("*.whl")
    return wheel


def inspect_wheel(wheel: Path, tree: Path, *, native: bool) -> str:
    """A wheel holds every module, the extension exactly if it is native, and no sources of it."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        info = next(name.partition("/")[0] for name in names if ".dist-info/" in name)
        fields = message_from_string(archive.read(f"{info}/WHEEL").decode())
    modules = {path.relative_to(tree).as_posix() for path in tree.glob("flowdrop_fast/**/*.py*")}
    wanted = {name for name in modules if not name.endswith((".pyc", ".pyd"))}
    wanted |= {"flowdrop_fast/py.typed", f"{info}/licenses/LICENSE", f"{info}/licenses/NOTICE"}
    if missing := wanted - names:
        raise Failed(f"not in {wheel.name}: {', '.join(sorted(missing))}")
    if foreign := {name for name in names if not name.startswith(("flowdrop_fast/", info))}:
        raise Failed(f"strange to {wheel.name}: {', '.join(sorted(foreign))}")
    if sources := {name for name in names if name.endswith((".pyx", ".pxd", ".c"))}:
        raise Failed(f"sources in {wheel.name}: {', '.join(sorted(sources))}")
    extensions = {name for name in names if name.endswith(EXTENSIONS)}
    expected = 1 if native else 0
    if len(extensions) != expected:
        found = ", ".join(sorted(extensions)) or "none"
        raise Failed(f"{wheel.name} should hold {expected} extension, and holds: {found}")
    if any(not name.startswith("flowdrop_fast/_native.") for name in extensions):
        raise Failed(f"a strange extension: {extensions}")
    tagged_pure = wheel.name.endswith("-py3-none-any.whl")
    if tagged_pure == native or (fields["Root-Is-Purelib"] == "true") == native:
        raise Failed(f"{wheel.name} is tagged for the other kind of wheel")
    return f"{wheel.name}, {wheel.stat().st_size >> 10} KiB"


def repair(tools: Tools, wheel: Path, out: Path) -> Path:
    """Make the wheel one that every Linux since glibc 2.17 can use."""
    if platform.system() != "Linux" or platform.libc_ver()[0] != "glibc":
        raise NotProved("auditwheel works on Linux with glibc")
    name = f"manylinux2014_{platform.machine()}"
    command = [tools("auditwheel"), "repair", "--plat", name, "-w", out, wheel]
    run(command, cwd=out.parent, env={"PATH": f"{tools.bin}:{clean_environment()['PATH']}"})
    (repaired,) = out.glob("*.whl")
    if name not in repaired.name:
        raise Failed(f"{repaired.name} is not tagged {name}")
    return repaired


def stem_of(interpreter: Interpreter) -> str:
    return str(interpreter).replace(" ", "-").lower()
