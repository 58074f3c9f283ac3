"""The matrix of wheels can't shrink in silence: configuration, workflow and list are compared."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

PLATFORMS = {
    "linux": {"x86_64": ("manylinux_x86_64", "musllinux_x86_64"),
              "aarch64": ("manylinux_aarch64", "musllinux_aarch64")},
    "macos": {"x86_64": ("macosx_x86_64",), "arm64": ("macosx_arm64",)},
    "windows": {"AMD64": ("win_amd64",), "ARM64": ("win_arm64",)},
}  # fmt: skip
PYTHONS = ("cp310", "cp311", "cp312", "cp313", "cp314", "cp314t", "cp315", "cp315t")


def identifiers(root: Path, config: Path, platform: str, *more: str) -> list[str]:
    """Ask cibuildwheel what it would build."""
    command = [sys.executable, "-m", "cibuildwheel", "--print-build-identifiers"]
    command += ["--config-file", str(config), "--platform", platform, *more]
    done = subprocess.run(
        command, cwd=root, capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.split()


def of(wheels: list[str], *systems: str) -> list[str]:
    return [name for name in wheels if name.partition("-")[2] in systems]


def test_the_list_is_that_of_the_readers_table(wheels: list[str]) -> None:
    systems = [name for archs in PLATFORMS.values() for names in archs.values() for name in names]
    assert sorted(wheels) == sorted(
        f"{python}-{system}" for python in PYTHONS for system in systems
    )


@pytest.mark.parametrize("platform", PLATFORMS)
def test_cibuildwheel_builds_what_is_listed(root: Path, wheels: list[str], platform: str) -> None:
    expected = of(wheels, *(name for names in PLATFORMS[platform].values() for name in names))
    assert sorted(identifiers(root, root / "pyproject.toml", platform)) == sorted(expected)


def test_the_workflow_has_a_runner_for_each(root: Path, wheels: list[str]) -> None:
    flow = yaml.safe_load((root / ".github/workflows/wheels.yml").read_text(encoding="utf-8"))
    runners = flow["jobs"]["wheels"]["strategy"]["matrix"]["include"]
    built = [(one["platform"], one["arch"]) for one in runners]
    assert sorted(built) == sorted((p, arch) for p, archs in PLATFORMS.items() for arch in archs)
    covered = [name for platform, arch in built for name in PLATFORMS[platform][arch]]
    assert sorted(of(wheels, *covered)) == sorted(wheels)


@pytest.mark.parametrize(
    ("old", "new", "platform"),
    [
        (" cp315t-*", "", "linux"),
        ('archs = ["x86_64", "arm64"]', 'archs = ["arm64"]', "macos"),
        (
            "[tool.cibuildwheel.windows]",
            '[tool.cibuildwheel.windows]\nskip = "*-win_arm64"',
            "windows",
        ),
        ('build = "cp310-*', 'skip = "*-musllinux_*"\nbuild = "cp310-*', "linux"),
    ],
)
def test_a_platform_taken_away_is_seen(
    root: Path, wheels: list[str], tmp_path: Path, old: str, new: str, platform: str
) -> None:
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    assert text.count(old) == 1
    config = tmp_path / "pyproject.toml"
    config.write_text(text.replace(old, new), encoding="utf-8")
    expected = of(wheels, *(name for names in PLATFORMS[platform].values() for name in names))
    left = identifiers(root, config, platform)
    assert set(left) < set(expected)
