"""What is released and how: checked against the repository, with the tools of the `dist` group.

Collected only when they are named, `pytest tests/dist`, as tools/verify_dist does.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.append(str(ROOT / "tools"))


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    named = [Path(arg.partition("::")[0]).resolve() for arg in config.args]
    if any(path == HERE or HERE in path.parents for path in named):
        return None
    return True


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def wheels() -> list[str]:
    """The names of all wheels that are released, as cibuildwheel calls them."""
    return (ROOT / "tools" / "dist" / "wheels.txt").read_text(encoding="utf-8").split()


def load(name: str) -> ModuleType:
    """Import a workflow's script."""
    spec = importlib.util.spec_from_file_location(name, ROOT / ".github" / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def check_artefacts() -> ModuleType:
    return load("check_artefacts")


@pytest.fixture(scope="session")
def check_release() -> ModuleType:
    return load("check_release")
