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


# What comes out is sendable whatever was asked for. What options pass on that the rule does not
# (open calls, kept keys, typed parts) is the caller's to answer for, and no judge is asked.
OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "rescued": {"ids": "rescue", "interrupted": "This tool never ran."},
    "merged": {"ids": "rescue", "system": "merge", "copy": False},
}
EVERY = {"default": 1, "rescued": 2, "merged": 4}  # of the generated histories, for time's sake


@pytest.fixture(scope="session", params=list(OPTIONS))
def normalized(request: pytest.FixtureRequest) -> dict[str, list[Any]]:
    """Every vector and every generated history, normalized, by name; fewer of them with options."""
    from histories import GENERATED, generated, vectors

    from flowdrop_fast import normalize_conversation

    options, every = OPTIONS[request.param], EVERY[request.param]
    # Without the option this one loses its only call, of a tool that no provider takes: "no id".
    misnamed = {"call-not-a-mapping"} if "ids" in options else set()
    inputs = {**vectors(), **dict(list(generated().items())[::every])}
    assert len(inputs) > GENERATED // every
    return {
        name: list(normalize_conversation(rows, **options).messages)
        for name, rows in inputs.items()
        if name not in misnamed
    }
