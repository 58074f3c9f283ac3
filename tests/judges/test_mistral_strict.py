"""mistral-common 1.11.0, the strict one: after a tool result it takes no user turn.

It is older than what the other judges need, so it judges in a process of its own, in an
environment that is made once and kept in pytest's cache.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest
from faults import FAULTS, without_one_result
from wire import renamed_ids, request_rows

from flowdrop_fast import normalize_conversation

VERSION = "1.11.0"
PROCESS = Path(__file__).parent / "strict_mistral.py"

Histories = dict[str, list[Any]]


@pytest.fixture(scope="session")
def interpreter(pytestconfig: pytest.Config) -> Path:
    """The Python of an environment that has this version and nothing else of ours."""
    assert pytestconfig.cache is not None
    home = pytestconfig.cache.mkdir(f"mistral-common-{VERSION}")
    python = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    made = home / "made"
    if not made.exists():
        venv.create(home, with_pip=True, clear=True)
        install = [python, "-m", "pip", "install", "-q", f"mistral-common=={VERSION}"]
        subprocess.run(install, check=True, timeout=600)
        made.touch()
    return python


def answered_by_the_assistant(rows: list[Any]) -> list[Any]:
    """Rows with an assistant turn between a tool result and a user turn, as this version asks."""
    found: list[Any] = []
    for row in rows:
        if found and found[-1]["role"] == "tool" and row["role"] == "user":
            found.append({"role": "assistant", "content": "I see."})
        found.append(row)
    return found


def with_plain_calls(rows: list[Any]) -> list[Any]:
    """Rows whose calls have no keys of other providers, none of which this version takes."""
    return [
        {
            **row,
            "tool_calls": [
                {key: call[key] for key in ("id", "type", "function")} for call in row["tool_calls"]
            ],
        }
        if "tool_calls" in row
        else row
        for row in rows
    ]


def strict_rows(messages: list[Any]) -> list[Any]:
    return answered_by_the_assistant(with_plain_calls(renamed_ids(request_rows(messages))))


def complaints(interpreter: Path, asked: dict[str, list[Any]]) -> dict[str, str | None]:
    """What the judge says of each list of rows, by name."""
    lines = "".join(f"{json.dumps({'name': name, 'rows': rows})}\n" for name, rows in asked.items())
    done = subprocess.run(
        [interpreter, PROCESS], input=lines, capture_output=True, text=True, check=True, timeout=600
    )
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["name"] for answer in said] == list(asked)
    return {answer["name"]: answer["complaint"] for answer in said}


def test_accepts_all(interpreter: Path, normalized: Histories) -> None:
    said = complaints(
        interpreter, {name: strict_rows(messages) for name, messages in normalized.items()}
    )
    refused = [f"{name}: {why}" for name, why in said.items() if why is not None]
    assert not refused, f"{len(refused)} of {len(said)} refused:\n" + "\n".join(refused[:9])


def test_misses_no_result(interpreter: Path, normalized: Histories) -> None:
    damaged = {
        f"{name} without {number}": strict_rows(rows)
        for name, messages in normalized.items()
        for number, rows in enumerate(without_one_result(messages))
    }
    assert len(damaged) > 1000
    said = complaints(interpreter, damaged)
    assert [name for name, why in said.items() if why is None] == []


def test_cured(interpreter: Path) -> None:
    seen = {fault: rows for fault, rows in FAULTS.items() if fault != "id twice"}
    broken = {fault: strict_rows(rows) for fault, rows in seen.items()}
    assert None not in complaints(interpreter, broken).values()
    cured = {
        fault: strict_rows(list(normalize_conversation(rows).messages))
        for fault, rows in seen.items()
    }
    assert set(complaints(interpreter, cured).values()) == {None}


def test_takes_no_keys_of_other_providers(interpreter: Path) -> None:
    call = {"id": "c1", "name": "search", "extra_content": {"google": {"thought_signature": "x"}}}
    rows = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "ok", "tool_call_id": "c1"},
    ]
    said = complaints(
        interpreter, {"as it is": renamed_ids(request_rows(rows)), "narrowed": strict_rows(rows)}
    )
    assert "extra_content" in str(said["as it is"])
    assert said["narrowed"] is None


def test_takes_no_user_turn_after_a_result(interpreter: Path) -> None:
    rows = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "search"}]},
        {"role": "tool", "content": "ok", "tool_call_id": "c1"},
        {"role": "user", "content": "go on"},
    ]
    said = complaints(
        interpreter, {"as it is": renamed_ids(request_rows(rows)), "narrowed": strict_rows(rows)}
    )
    assert "Unexpected role 'user' after role 'tool'" in str(said["as it is"])
    assert said["narrowed"] is None
