"""The closing table: what is not proved never passes for proved."""

from __future__ import annotations

from pathlib import Path

import pytest
from dist.artefacts import inspect_wheel
from dist.installing import empty_wheel
from dist.verdicts import Failed, NotProved, Table


def table_of(*verdicts: str) -> Table:
    table = Table()
    for number, verdict in enumerate(verdicts):
        with table.claim(f"claim {number}"):
            if verdict == "failed":
                raise Failed("it does not hold")
            if verdict == "missing":
                raise NotProved("no such machine")
            if verdict == "error":
                raise OSError("something else")
    return table


@pytest.mark.parametrize(
    ("verdicts", "code", "strict"),
    [
        (["proved"], 0, 0),
        (["proved", "missing"], 0, 3),
        (["proved", "missing", "failed"], 1, 1),
        (["proved", "error"], 1, 1),
        (["missing"], 1, 1),
        ([], 1, 1),
    ],
)
def test_exit_codes(verdicts: list[str], code: int, strict: int) -> None:
    table = table_of(*verdicts)
    assert (table.exit_code(False), table.exit_code(True)) == (code, strict)


def test_the_table_names_each_with_its_reason() -> None:
    shown = str(table_of("failed", "missing", "proved", "error")).splitlines()
    assert shown == [
        "proved      claim 2",
        "NOT PROVED  claim 1  no such machine",
        "FAILED      claim 0  it does not hold",
        "FAILED      claim 3  OSError: something else",
        "",
        "1 proved, 1 NOT PROVED, 2 FAILED",
    ]


def test_an_empty_wheel_is_not_whole(root: Path, tmp_path: Path) -> None:
    wheel = empty_wheel(tmp_path, "py3-none-any", "1.2.3")
    with pytest.raises(Failed, match="flowdrop_fast/__init__.py"):
        inspect_wheel(wheel, root, native=False)
