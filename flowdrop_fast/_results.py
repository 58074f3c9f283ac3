"""What the functions return: result types, the kinds of records, and their plain sentences.

The records themselves are made by the backends, where the thing they tell of happens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .types import MaybeMessage, Message

INTERRUPTED_TEXT = "Tool call was interrupted; no result."

# Dropped, and counted in `dropped`.
NOT_A_MESSAGE = "not_a_message"
NO_ROLE = "no_role"
UNUSABLE_CALL = "unusable_call"
DUPLICATE_CALL = "duplicate_call"
EMPTIED_TURN = "emptied_turn"
ORPHAN_RESULT = "orphan_result"
EARLY_RESULT = "early_result"
DUPLICATE_RESULT = "duplicate_result"
# Made or moved, and not counted.
INTERRUPTED_RESULT = "interrupted_result"
MOVED_RESULT = "moved_result"
MOVED_SYSTEM = "moved_system"

DROP_KINDS = frozenset(
    {
        NOT_A_MESSAGE,
        NO_ROLE,
        UNUSABLE_CALL,
        DUPLICATE_CALL,
        EMPTIED_TURN,
        ORPHAN_RESULT,
        EARLY_RESULT,
        DUPLICATE_RESULT,
    }
)

_SENTENCES = {
    NOT_A_MESSAGE: "Entry {index} cannot be read as a message, so it was dropped.",
    NO_ROLE: "Entry {index} has no role, so it was dropped.",
    UNUSABLE_CALL: "A tool call of entry {index} has no usable id, so it was dropped.",
    DUPLICATE_CALL: "Entry {index} calls {id!r}, an id declared before, so this call was dropped.",
    EMPTIED_TURN: "Entry {index} lost all its tool calls and has no text, so it was dropped.",
    ORPHAN_RESULT: "Entry {index} is a result that {why}, so it was dropped.",
    EARLY_RESULT: "Entry {index} answers {id!r} before that call is made, so it was dropped.",
    DUPLICATE_RESULT: "Entry {index} answers {id!r} a second time, so it was dropped.",
    INTERRUPTED_RESULT: "Entry {index} calls {id!r} and nothing answers: a result saying so was made.",
    MOVED_RESULT: "Entry {index} answers {id!r} out of place, so it was moved to its call.",
    MOVED_SYSTEM: "Entry {index} is a system message, so it was moved to the front.",
}


class Normalized(NamedTuple):
    """A sendable list and the number of drops it took (MEM-5).

    Attributes:
        messages: flat rows, in sendable order.
        dropped: how many entries, calls and results were dropped.

    >>> import flowdrop_fast
    >>> messages, dropped = flowdrop_fast.normalize_conversation([{"role": "user"}, None])
    >>> messages, dropped
    ([{'role': 'user', 'content': ''}], 1)
    """

    messages: list[Message]
    dropped: int


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that was dropped, made or moved, and why.

    Attributes:
        kind: `not_a_message`, `no_role`, `unusable_call`, `duplicate_call`, `emptied_turn`,
            `orphan_result`, `early_result`, `duplicate_result` (dropped), `interrupted_result`
            (made), `moved_result` or `moved_system` (moved).
        index: where in the input it stood; for `interrupted_result`, the turn that calls.
        id: the tool call id concerned, or `None`.
        sentence: the same in plain words.
    """

    kind: str
    index: int
    id: str | None
    sentence: str


class Explanation(NamedTuple):
    """A sendable list with a record of all that was dropped, made or moved (MEM-5).

    Attributes:
        messages: flat rows, in sendable order.
        dropped: the number of records whose kind is a drop.
        records: in the order of the input; those of one turn, calls first, in call order.
    """

    messages: list[Message]
    dropped: int
    records: list[Record]


class TextMessage(NamedTuple):
    """One message as a list and as a row, or an empty list and an empty row (MEM-16)."""

    messages: list[Message]
    message: MaybeMessage


# What a backend notes while it works: kind, input index, id.
Note = tuple[str, int, "str | None"]


def make_records(drops: list[Note], changes: list[Note]) -> list[Record]:
    """The notes of one pass, in the order of the input, each with its sentence."""
    notes = sorted(drops + changes, key=_input_index)
    return [Record(kind, index, id, _sentence(kind, index, id)) for kind, index, id in notes]


def _input_index(note: Note) -> int:
    return note[1]


def _sentence(kind: str, index: int, id: str | None) -> str:
    why = "has no usable id" if id is None else f"answers {id!r}, which no message calls"
    return _SENTENCES[kind].format(index=index, id=id, why=why)
