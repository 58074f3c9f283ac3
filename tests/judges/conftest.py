"""The judges: programs that no one here wrote, and what they say of normalized histories.

They have a dependency group of their own, and are collected only when they are named:
`pytest tests/judges`. A judge that is not installed is an error there, never a skip.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    named = [Path(arg.partition("::")[0]).resolve() for arg in config.args]
    if any(path == HERE or HERE in path.parents for path in named):
        return None
    return True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What a judge's own code warns of is no verdict, so warnings are no errors here."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore"))


@pytest.fixture(scope="session")
def normalized() -> dict[str, list[Any]]:
    """Every vector and every generated history, normalized, by name."""
    from histories import GENERATED, generated, vectors

    from flowdrop_fast import normalize_conversation

    inputs = {**vectors(), **generated()}
    assert len(inputs) > GENERATED
    return {name: list(normalize_conversation(rows).messages) for name, rows in inputs.items()}
