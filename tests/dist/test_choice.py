"""Which wheel pip takes, on every kind of machine that there are wheels for and on some others."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from dist.installing import chosen, empty_wheel, tag_of

import flowdrop_fast

PIP = Path(sys.executable).parent / "pip"
PURE = "py3-none-any"
VERSION = flowdrop_fast.__version__


@pytest.fixture(scope="module")
def offered(tmp_path_factory: pytest.TempPathFactory, wheels: list[str]) -> Path:
    """A directory with every wheel of a release, all empty: only names are chosen from."""
    place = tmp_path_factory.mktemp("offered")
    for tag in (PURE, *map(tag_of, wheels)):
        empty_wheel(place, tag, VERSION)
    return place


def take(offered: Path, place: Path, python: str, abi: str, platform: str) -> str:
    place.mkdir()
    name = chosen(PIP, offered, place, python, abi, platform)
    return name.removeprefix(f"flowdrop_fast-{VERSION}-").removesuffix(".whl")


SOME = [
    "cp310-manylinux_x86_64",
    "cp315t-musllinux_aarch64",
    "cp314-macosx_arm64",
    "cp314t-win_amd64",
]


@pytest.mark.parametrize("name", SOME)
def test_the_compiled_wheel_where_it_fits(
    offered: Path, wheels: list[str], tmp_path: Path, name: str
) -> None:
    assert name in wheels
    tag = tag_of(name)
    python, abi, platforms = tag.split("-")
    version = f"{python[2]}.{python[3:]}"
    assert take(offered, tmp_path / "taken", version, abi, platforms.partition(".")[0]) == tag


@pytest.mark.parametrize(
    ("python", "abi", "platform"),
    [
        ("3.16", "cp316", "manylinux_2_28_x86_64"),
        ("3.13", "cp313t", "manylinux2014_x86_64"),
        ("3.12", "cp312", "linux_armv7l"),
        ("3.12", "cp312", "win32"),
        ("3.14", "cp314", "pyemscripten_2026_0_wasm32"),
        ("3.14", "cp314", "manylinux2010_x86_64"),
    ],
)
def test_the_pure_wheel_elsewhere(
    offered: Path, tmp_path: Path, python: str, abi: str, platform: str
) -> None:
    assert take(offered, tmp_path / "taken", python, abi, platform) == PURE
