"""The judges are the ones that are pinned, and the ones that the docs name."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest
import tomllib
from test_mistral_strict import VERSION

ROOT = Path(__file__).parent.parent.parent
GROUPS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
PINS = [pin for pin in GROUPS["judges"] + GROUPS["judges-templates"] if isinstance(pin, str)]


@pytest.mark.parametrize("pin", PINS)
def test_installed_and_documented_as_pinned(pin: str) -> None:
    name, pinned = pin.split("==")
    assert version(name) == pinned
    assert f"`{name}` {pinned}" in (ROOT / "docs" / "judges.md").read_text(encoding="utf-8")


def test_the_strict_one_is_documented() -> None:
    docs = (ROOT / "docs" / "judges.md").read_text(encoding="utf-8")
    assert f"`mistral-common` {VERSION}" in docs
