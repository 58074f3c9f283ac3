"""Small broken histories, one for each fault, that show that a judge can say no.

All are flat rows, so that nothing is wrong with them but the fault itself.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

Row = dict[str, Any]

_USER: Row = {"role": "user", "content": "hi"}
_DONE: Row = {"role": "assistant", "content": "done"}


def _calls(*ids: str) -> Row:
    calls = [{"tool_call_id": id, "name": "search", "args": {"q": id}} for id in ids]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def _result(id: str) -> Row:
    return {"role": "tool", "content": "ok", "tool_call_id": id}


FAULTS: dict[str, list[Row]] = {
    "unanswered": [_USER, _calls("c1"), _USER, _DONE, _USER],
    "one of two unanswered": [_USER, _calls("c1", "c2"), _result("c1"), _DONE, _USER],
    "orphan result": [_USER, _DONE, _result("c1"), _DONE, _USER],
    "result first": [_USER, _result("c1"), _calls("c1"), _USER],
    "result late": [_USER, _calls("c1"), _USER, _result("c1"), _DONE, _USER],
    "result twice": [_USER, _calls("c1"), _result("c1"), _result("c1"), _DONE, _USER],
    "result of another call": [_USER, _calls("c1"), _result("c2"), _DONE, _USER],
    "id twice in a turn": [_USER, _calls("c1", "c1"), _result("c1"), _result("c1"), _DONE, _USER],
    "id twice": [_USER, _calls("c1"), _result("c1"), _calls("c1"), _result("c1"), _DONE, _USER],
    "system inside": [_USER, _DONE, {"role": "system", "content": "be brief"}, _USER],
}

# What every judge of pairing must see; what else it sees is told where it is asked.
PAIRING_FAULTS = [
    "unanswered",
    "one of two unanswered",
    "orphan result",
    "result first",
    "result late",
    "result of another call",
]


def without_one_result(messages: list[Row]) -> Iterator[list[Row]]:
    """Copies of sendable rows, each with another result gone: none of them is sendable."""
    for index, row in enumerate(messages):
        if row["role"] == "tool":
            rows = copy.deepcopy(messages)
            del rows[index]
            yield rows
