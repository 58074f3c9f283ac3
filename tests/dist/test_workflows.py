"""The workflows' own rules and scripts: what may be published, and by whom."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from dist.installing import empty_wheel, tag_of

FLOWS = ("ci.yml", "wheels.yml", "release.yml")
PINNED = re.compile(r"- uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def flow(root: Path, name: str) -> dict[str, Any]:
    return yaml.safe_load((root / ".github/workflows" / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", FLOWS)
def test_every_action_is_pinned_by_its_hash(root: Path, name: str) -> None:
    text = (root / ".github/workflows" / name).read_text(encoding="utf-8")
    uses = [line.strip() for line in text.splitlines() if re.match(r" *- uses:", line)]
    assert uses
    assert [line for line in uses if not PINNED.fullmatch(line)] == []


@pytest.mark.parametrize("name", FLOWS)
def test_no_job_may_more_than_it_needs(root: Path, name: str) -> None:
    loaded = flow(root, name)
    assert loaded["permissions"] == {}
    for job, settings in loaded["jobs"].items():
        publishes = (name, job) == ("release.yml", "publish")
        assert settings["permissions"] == (
            {"id-token": "write"} if publishes else {"contents": "read"}
        ), job


def test_only_what_was_built_and_tested_is_published(root: Path) -> None:
    release = flow(root, "release.yml")["jobs"]
    assert release["wheels"]["needs"] == "check"
    assert release["wheels"]["uses"] == "./.github/workflows/wheels.yml"
    assert release["publish"]["needs"] == "wheels"
    steps = [step["uses"].partition("@")[0] for step in release["publish"]["steps"]]
    assert steps == ["actions/download-artifact", "pypa/gh-action-pypi-publish"]

    built = flow(root, "wheels.yml")["jobs"]
    assert built["wheels"]["needs"] == "source"
    assert set(built["inspect"]["needs"]) == set(built) - {"inspect"}


def test_scripts_of_workflows_are_there_and_run(root: Path) -> None:
    named = set()
    for name in FLOWS:
        text = (root / ".github/workflows" / name).read_text(encoding="utf-8")
        named |= set(re.findall(r"(?:\.github/scripts|tools|\.ci)/[\w.]+", text))
    for script in named:
        path = root / script
        assert path.is_file(), script
        assert path.suffix == ".py" or path.stat().st_mode & 0o100, script


# ---- check_release.py ---------------------------------------------------------------------------

SOURCE = '__version__ = "1.2.3"\n'
CHANGES = "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-01-02\n\n## [1.2.2] - 2025-01-02\n"


def test_a_release_that_agrees(check_release: ModuleType) -> None:
    assert check_release.problems("v1.2.3", SOURCE, CHANGES) == []


@pytest.mark.parametrize(
    ("tag", "source", "changes", "says"),
    [
        ("v1.2.4", SOURCE, CHANGES, "the tag is 'v1.2.4'"),
        ("1.2.3", SOURCE, CHANGES, "asks for 'v1.2.3'"),
        ("v1.2.2", SOURCE, CHANGES, "the tag is 'v1.2.2'"),
        ("v1.2.3", SOURCE, CHANGES.replace("[1.2.3]", "[1.2.1]"), "the newest entry"),
        ("v1.2.3", SOURCE, CHANGES.replace("2026-01-02", "unreleased"), "has no date"),
        ("v1.2.3", SOURCE, "", "the newest entry of CHANGELOG.md is none"),
        ("v1.2.3", "", CHANGES, "no __version__"),
    ],
)
def test_a_release_that_does_not(
    check_release: ModuleType, tag: str, source: str, changes: str, says: str
) -> None:
    (problem,) = check_release.problems(tag, source, changes)
    assert says in problem


# ---- check_artefacts.py -------------------------------------------------------------------------


def names_of(wheels: list[str]) -> list[str]:
    tags = ["py3-none-any", *map(tag_of, wheels)]
    return ["flowdrop_fast-1.2.3.tar.gz", *(f"flowdrop_fast-1.2.3-{tag}.whl" for tag in tags)]


def test_all_files_of_a_release(check_artefacts: ModuleType, wheels: list[str]) -> None:
    assert check_artefacts.problems(names_of(wheels), wheels) == []


@pytest.mark.parametrize("place", [0, 1, 2, -1])
def test_a_missing_file_is_named(
    check_artefacts: ModuleType, wheels: list[str], place: int
) -> None:
    names = names_of(wheels)
    del names[place]
    (problem,) = check_artefacts.problems(names, wheels)
    wanted = ["sdist", "pure wheel", *wheels][place]
    assert problem == f"missing: {wanted}"


@pytest.mark.parametrize(
    "name",
    [
        "flowdrop_fast-1.2.3-pp311-pypy311_pp73-win_amd64.whl",
        "flowdrop_fast-1.2.3-cp312-cp312-linux_x86_64.whl",
        "flowdrop_fast-1.2.3-cp39-cp39-win_amd64.whl",
        "other-1.2.3.tar.gz",
        "notes.txt",
    ],
)
def test_a_file_too_many_is_named(
    check_artefacts: ModuleType, wheels: list[str], name: str
) -> None:
    assert len(check_artefacts.problems([*names_of(wheels), name], wheels)) == 1


def test_files_of_two_versions(check_artefacts: ModuleType, wheels: list[str]) -> None:
    names = names_of(wheels)
    names[2] = names[2].replace("1.2.3", "1.2.4")
    assert check_artefacts.problems(names, wheels) == ["of different versions: 1.2.3, 1.2.4"]


def test_a_wheel_that_lost_its_extension(check_artefacts: ModuleType, tmp_path: Path) -> None:
    pure = empty_wheel(tmp_path, "py3-none-any", "1.2.3")
    assert check_artefacts.content_problem(pure) is None
    wheel = empty_wheel(tmp_path, tag_of("cp312-win_amd64"), "1.2.3")
    assert "holds 0 extensions instead of 1" in check_artefacts.content_problem(wheel)
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("flowdrop_fast/_native.cp312-win_amd64.pyd", b"")
    assert check_artefacts.content_problem(wheel) is None
