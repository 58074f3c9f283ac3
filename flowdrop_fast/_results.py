"""What the functions return: result types, kinds of records and findings, their plain sentences.

The records themselves are made by the backends, where the thing they tell of happens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .types import MaybeMessage, Message

# Dropped, and counted in `dropped`.
NOT_A_MESSAGE = "not_a_message"
NO_ROLE = "no_role"
UNUSABLE_CALL = "unusable_call"
DUPLICATE_CALL = "duplicate_call"
EMPTIED_TURN = "emptied_turn"
ORPHAN_RESULT = "orphan_result"
EARLY_RESULT = "early_result"
DUPLICATE_RESULT = "duplicate_result"
# Made, moved or changed, and not counted.
INTERRUPTED_RESULT = "interrupted_result"
MOVED_RESULT = "moved_result"
MOVED_SYSTEM = "moved_system"
MERGED_SYSTEM = "merged_system"
REIDENTIFIED_CALL = "reidentified_call"
REIDENTIFIED_RESULT = "reidentified_result"
# Only a finding: lifting a row to the flat shape is what normalization is for.
RESHAPED_MESSAGE = "reshaped_message"

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

# What is wrong, what was done about it, and what would be.
_SENTENCES = {
    NOT_A_MESSAGE: ("Entry {index} cannot be read as a message", "it was dropped", "drop it"),
    NO_ROLE: ("Entry {index} has no role", "it was dropped", "drop it"),
    UNUSABLE_CALL: (
        "Entry {index} makes a tool call without a usable id",
        "the call was dropped",
        "drop the call",
    ),
    DUPLICATE_CALL: (
        "Entry {index} makes a tool call under {id!r}, an id declared before",
        "the call was dropped",
        "drop the call",
    ),
    EMPTIED_TURN: (
        "Entry {index} has no text and keeps none of its tool calls",
        "it was dropped",
        "drop it",
    ),
    ORPHAN_RESULT: ("Entry {index} is a result that {why}", "it was dropped", "drop it"),
    EARLY_RESULT: (
        "Entry {index} answers {id!r} before that call is made",
        "it was dropped",
        "drop it",
    ),
    DUPLICATE_RESULT: (
        "Entry {index} answers {id!r}, which another result answers",
        "it was dropped",
        "drop it",
    ),
    INTERRUPTED_RESULT: (
        "Entry {index} calls {id!r} and nothing answers",
        "a result that says so was made",
        "make a result that says so",
    ),
    MOVED_RESULT: (
        "Entry {index} answers {id!r} out of place",
        "it was moved to its call",
        "move it to its call",
    ),
    MOVED_SYSTEM: (
        "Entry {index} is a system message behind other messages",
        "it was moved to the front",
        "move it to the front",
    ),
    MERGED_SYSTEM: (
        "Entry {index} is one more system message",
        "its text was joined to the first",
        "join its text to the first",
    ),
    REIDENTIFIED_CALL: (
        "Entry {index} makes a tool call whose id is taken or unusable",
        "the call is now {id!r}",
        "name the call {id!r}",
    ),
    REIDENTIFIED_RESULT: (
        "Entry {index} answers a tool call that was given an id of its own",
        "it now answers {id!r}",
        "let it answer {id!r}",
    ),
    RESHAPED_MESSAGE: (
        "Entry {index} is not a flat row of text",
        "it was lifted to that shape",
        "lift it to that shape",
    ),
}

_RECORD_SENTENCES = {kind: f"{fault}, so {done}." for kind, (fault, done, _) in _SENTENCES.items()}


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
            (made), `moved_result`, `moved_system` (moved); and, where an option asks for it,
            `merged_system`, `reidentified_call`, `reidentified_result`.
        index: where in the input it stood; for `interrupted_result`, the turn that calls.
        id: the tool call id concerned, or `None`.
        sentence: the same in plain words.
    """

    kind: str
    index: int
    id: str | None
    sentence: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason why a list is not sendable as it is.

    Attributes:
        index: where in the input it stands.
        kind: a record's kind, or `reshaped_message` for a row that is not flat.
        sentence: what is wrong, in plain words.
        cure: what normalization would do.
    """

    index: int
    kind: str
    sentence: str
    cure: str


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


def moved_results(went_to: dict[int, int], places: dict[str, int]) -> list[Note]:
    """The results that left in front of a row which they stood behind.

    Args:
        went_to: the entries of the rows that leave, in order, and where they leave.
        places: where the result of each call leaves.
    """
    ids = {place: id for id, place in places.items()}
    moved: list[Note] = []
    furthest = 0
    for index, place in went_to.items():
        if place >= furthest:
            furthest = place
        else:
            moved.append((MOVED_RESULT, index, ids[place]))
    return moved


def make_records(drops: list[Note], changes: list[Note]) -> list[Record]:
    """The notes of one pass, in the order of the input, each with its sentence."""
    return [
        Record(kind, index, id, _tell(_RECORD_SENTENCES[kind], index, id))
        for kind, index, id in sorted(drops + changes, key=_input_index)
    ]


def make_findings(drops: list[Note], changes: list[Note]) -> list[Finding]:
    """The same as findings: what is wrong, and what normalization would do."""
    findings = []
    for kind, index, id in sorted(drops + changes, key=_input_index):
        fault, _, cure = _SENTENCES[kind]
        findings.append(Finding(index, kind, _tell(f"{fault}.", index, id), _tell(cure, index, id)))
    return findings


def _input_index(note: Note) -> int:
    return note[1]


def _tell(sentence: str, index: int, id: str | None) -> str:
    why = "has no usable id" if id is None else f"answers {id!r}, which no message calls"
    return sentence.format(index=index, id=id, why=why)
