"""The reference backend: repair and pairing over plain dicts and lists, in one forward pass.

Read it beside the contract: `run_pass` goes through the entries once, in order. Each entry is read
whole (role, content, calls or id) before anything is decided on it, and no code of the caller's
runs after that, so nothing it does can change what was decided. A turn that makes calls leaves,
directly behind it in `out`, one open place (`None`) for the result of each call; results fill
these places as they come, in whatever order; what is still open at the end was interrupted.

`src/_native.pyx` is the same functions under the same names in the same order. Whatever is not
exactly a `dict`, `list` or `str` is read by `_reading` and `_content`, which both share.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from ._content import INTERRUPTED_TEXT, coerce_content, is_interrupted
from ._options import Plan, merge_system, plan_normalization, plan_repair
from ._reading import (
    lookup,
    needs_cleaning,
    read_call,
    read_calls,
    read_mapping,
    read_metadata,
    read_role,
    read_sendable_role,
    snapshot,
    trimmed_id,
    usable_id,
)
from ._rescue import rescue_ids
from ._results import (
    DUPLICATE_CALL,
    DUPLICATE_RESULT,
    EARLY_RESULT,
    EMPTIED_TURN,
    INTERRUPTED_RESULT,
    MERGED_SYSTEM,
    MOVED_SYSTEM,
    NO_ROLE,
    NOT_A_MESSAGE,
    ORPHAN_RESULT,
    UNUSABLE_CALL,
    Explanation,
    Normalized,
    Note,
    TextMessage,
    make_records,
    moved_results,
)
from ._rewriting import with_calls, with_id

if TYPE_CHECKING:
    from .types import MaybeMessage, Message

__all__ = [
    "coerce_content",
    "explain_conversation",
    "has_digits_in_a_row",
    "normalize_conversation",
    "repair_tool_pairing",
    "text_to_message",
]

_DIGITS_TO_ZERO = bytes(b"0"[0] if chr(byte) in "0123456789" else 0 for byte in range(256))


def normalize_conversation(
    messages: Iterable[object],
    *,
    ids: str = "strict",
    pending: str = "interrupt",
    interrupted: str = INTERRUPTED_TEXT,
    system: str = "keep",
    keep: Iterable[str] = (),
    content: str = "text",
    copy: bool = True,
) -> Normalized:
    """Make a stored conversation sendable to a provider (MEM-5).

    Args:
        messages: the entries, in order: flat rows, stored rows, a provider's own, SDK objects,
            in any mix. Read once, never changed.
        ids: `"rescue"` gives a call whose id is taken or unusable one of its own, and keeps its
            result; `"strict"` drops both, as the rule says.
        pending: `"keep"` leaves the calls of the last turn open if nothing but their own results
            follows; `"interrupt"` answers them.
        interrupted: the text of the results that are made for unanswered calls.
        system: `"merge"` makes one system row of all; `"keep"` keeps them apart.
        keep: keys that stay on their rows, beside the four of a flat row.
        content: `"parts"` passes a list of mappings that each have a text `type`; `"text"` makes
            JSON text of it.
        copy: `False` shares the rows that are flat already with the input.

    Returns:
        The flat rows and the number of drops it took, `(messages, dropped)`.

    Raises:
        TypeError: if `messages` is a `str`, `bytes`, `bytearray`, a mapping or not iterable, or
            an option is of the wrong type.
        ValueError: if an option names nothing that there is.

    >>> messages, dropped = normalize_conversation([
    ...     {"role": "tool", "content": "too early", "tool_call_id": "c1"},
    ...     {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "search"}]},
    ... ])
    >>> dropped
    1
    >>> messages[1]
    {'role': 'tool', 'content': 'Tool call was interrupted; no result.', 'tool_call_id': 'c1'}
    """
    plan = plan_normalization(ids, pending, interrupted, system, keep, content, copy)
    drops: list[Note] = []
    rows = run_pass(messages, plan, drops, None)
    return Normalized(rows, len(drops))


def repair_tool_pairing(
    messages: Iterable[object],
    *,
    ids: str = "strict",
    pending: str = "interrupt",
    interrupted: str = INTERRUPTED_TEXT,
) -> Normalized:
    """Pair tool calls and results, and leave everything else as it stands (MEM-5, rules 3 and 4).

    What a reasoner applies between two model calls: rows leave by reference, with all their keys
    and their content untouched. Only a turn that loses calls, and a call or result whose id has
    to be trimmed or made text, leave as shallow copies.

    Args:
        messages: the entries, in order and in any of the shapes that normalization reads.
        ids: as for `normalize_conversation`.
        pending: as for `normalize_conversation`.
        interrupted: as for `normalize_conversation`.

    Returns:
        The rows and the number of drops it took, `(messages, dropped)`.

    Raises:
        TypeError: if `messages` is a `str`, `bytes`, `bytearray`, a mapping or not iterable, or
            an option is of the wrong type.
        ValueError: if an option names nothing that there is.

    >>> repair_tool_pairing([
    ...     {"role": "user", "content": "hi", "name": "ann"},
    ...     {"role": "tool", "content": "nobody asked", "tool_call_id": "c1"},
    ... ])
    Normalized(messages=[{'role': 'user', 'content': 'hi', 'name': 'ann'}], dropped=1)
    """
    drops: list[Note] = []
    rows = run_pass(messages, plan_repair(ids, pending, interrupted), drops, None)
    return Normalized(rows, len(drops))


def explain_conversation(
    messages: Iterable[object],
    *,
    ids: str = "strict",
    pending: str = "interrupt",
    interrupted: str = INTERRUPTED_TEXT,
    system: str = "keep",
    keep: Iterable[str] = (),
    content: str = "text",
    copy: bool = True,
) -> Explanation:
    """Normalize, and tell of everything that was dropped, made or moved (MEM-5).

    Args:
        messages: the entries, as for `normalize_conversation`; so are the options.
        ids: as for `normalize_conversation`.
        pending: as for `normalize_conversation`.
        interrupted: as for `normalize_conversation`.
        system: as for `normalize_conversation`.
        keep: as for `normalize_conversation`.
        content: as for `normalize_conversation`.
        copy: as for `normalize_conversation`.

    Returns:
        What `normalize_conversation` returns, and the records: the drops that `dropped` counts,
        the results that were made, the rows that were moved.

    Raises:
        TypeError: as for `normalize_conversation`.
        ValueError: as for `normalize_conversation`.

    >>> explanation = explain_conversation([{"role": "user", "content": "hi"}, None])
    >>> explanation.records[0].kind, explanation.records[0].index
    ('not_a_message', 1)
    >>> explanation.records[0].sentence
    'Entry 1 cannot be read as a message, so it was dropped.'
    """
    plan = plan_normalization(ids, pending, interrupted, system, keep, content, copy)
    drops: list[Note] = []
    changes: list[Note] = []
    rows = run_pass(messages, plan, drops, changes)
    return Explanation(rows, len(drops), make_records(drops, changes))


def text_to_message(text: object, role: object = None, tool_call_id: object = None) -> TextMessage:
    """Turn a text and a role into one well-formed message, or none (MEM-16).

    Args:
        text: the content, coerced as `coerce_content` does; empty text makes no message.
        role: `"user"`, `"assistant"`, `"system"` or `"tool"`; anything else is `"user"`.
        tool_call_id: attached on role `"tool"` only, trimmed, and not at all when blank.

    Returns:
        `(messages, message)`: a list of one row and an equal row of its own, or `[]` and `{}`.

    >>> text_to_message("hello", "operator").message
    {'role': 'user', 'content': 'hello'}
    """
    content = coerce_content(text)
    if not content:
        return TextMessage([], {})
    sendable_role = read_sendable_role(role)
    row: Message = {"role": sendable_role, "content": content}
    if sendable_role == "tool":
        id = trimmed_id(tool_call_id)
        if id is not None:
            row["tool_call_id"] = id
    return TextMessage([row], cast("MaybeMessage", row.copy()))


def has_digits_in_a_row(text: bytes, count: int) -> bool:
    """Whether a text has so many ASCII digits in a row; what reads logs asks this of every line.

    >>> has_digits_in_a_row(b'{"id": 1234567}', 7), has_digits_in_a_row(b'{"id": 1234567}', 8)
    (True, False)
    """
    if count < 1:
        raise ValueError("count must be 1 or more")
    return b"0" * count in text.translate(_DIGITS_TO_ZERO)


def run_pass(
    messages: Iterable[object], plan: Plan, drops: list[Note], changes: list[Note] | None
) -> list[Any]:
    """Rules 1 to 4 over one list.

    Args:
        messages: the entries.
        plan: what is asked for, normalization or the repair alone.
        drops: where to note every drop.
        changes: where to note what is made or moved, if anyone wants to know.

    Returns:
        The rows that leave.
    """
    entries = list(messages) if type(messages) is list else snapshot(messages)
    flat, coerce, finish, interrupted, rescue, pending, merge = plan
    synthetic = tuple({interrupted, INTERRUPTED_TEXT})
    if rescue:
        entries = rescue_ids(entries, interrupted, [] if changes is None else changes)
    out: list[Any] = []
    leading = 0  # system rows at the front of `out`
    late_system: list[Any] = []  # system rows that stood behind another row
    places: dict[str, int] = {}  # id of each kept call -> where in `out` its result belongs
    callers: dict[str, int] = {}  # id of each kept call -> its turn, while changes are noted
    placeholders: dict[int, int] = {}  # place of each placeholder -> its entry
    strays: list[tuple[int, str]] = []  # results of ids that no turn so far declares
    unanswered = 0
    last_turn = 0  # the first place of the last turn's results
    last_turn_end = 0
    went_to: dict[int, int] = {}  # entry -> its place in `out`, while changes are noted

    for index, entry in enumerate(entries):
        fields = entry if type(entry) is dict else read_mapping(entry)
        if fields is None:
            drops.append((NOT_A_MESSAGE, index, None))
            continue
        calls = healed = metadata = None
        try:
            try:
                role = fields["role"]
                content = fields["content"]
                room = len(fields) > 3  # for more than one key beside these two
            except KeyError:
                role = fields.get("role")
                content = fields.get("content")
                room = True
            odd = type(role) is not str  # then all is read before it, the caller's own code, runs
            if odd or role == "tool":
                answered = fields.get("tool_call_id")
                if room or answered is None:
                    healed = fields.get("healed")
                    metadata = fields.get("metadata")
            if odd or role == "assistant":
                calls = fields.get("tool_calls")
                if room or calls is None:
                    metadata = fields.get("metadata")
        except Exception:  # a stored key's own __eq__ may raise
            drops.append((NOT_A_MESSAGE, index, None))
            continue
        if odd:
            role = read_role(role)
        if role is None or not role.strip():
            drops.append((NO_ROLE, index, None))
            continue
        if flat and (type(content) is not str or not content.isascii()):
            content = "" if content is None else coerce(content)

        if role == "tool":
            guess = healed is True
            lifted = False
            place = places.get(answered) if type(answered) is str else None
            id = answered if place is not None else usable_id(answered)  # what is known is usable
            if metadata is not None:
                metadata = read_metadata(metadata)
                guess = guess or lookup(metadata, "healed") is True
                if id is None:
                    lifted = True
                    answered = lookup(metadata, "tool_call_id")
                    id = usable_id(answered)
            if id is None:
                drops.append((ORPHAN_RESULT, index, None))
                continue
            if type(content) is not str or not (flat or content.isascii()):
                guess = guess or is_interrupted(content, interrupted)
            elif content in synthetic:
                guess = True
            if place is None:
                place = places.get(id)
            if place is None:
                strays.append((index, id))
                continue
            if out[place] is None:
                unanswered -= 1
            elif place in placeholders and not guess:
                drops.append((DUPLICATE_RESULT, placeholders[place], id))
                went_to.pop(placeholders.pop(place), None)
            else:
                drops.append((DUPLICATE_RESULT, index, id))
                continue
            if guess:
                placeholders[place] = index
            if changes is not None:
                went_to[index] = place
            if flat:
                row = {"role": role, "content": content, "tool_call_id": id}
                out[place] = row if finish is None else finish(index, fields, row)
            elif needs_cleaning(answered, id):
                out[place] = with_id(fields, metadata if lifted else None, id)
            else:
                out[place] = entry
            continue

        kept: list[Any] = []
        changed = False
        if role == "assistant" and (calls is not None or metadata is not None):
            calls = list(calls) if type(calls) is list else read_calls(calls)
            lifted = not calls
            if lifted and metadata is not None:
                metadata = read_metadata(metadata)
                calls = read_calls(lookup(metadata, "tool_calls"))
            for call in calls:
                usable = read_call(call)
                if usable is None:
                    drops.append((UNUSABLE_CALL, index, None))
                    continue
                id, clean_call, cleaned = usable
                if id in places:
                    drops.append((DUPLICATE_CALL, index, id))
                    continue
                kept.append(clean_call if flat or cleaned else call)
                places[id] = len(out) + len(kept)
                if changes is not None:
                    callers[id] = index
                changed = changed or cleaned
            if len(kept) < len(calls):
                changed = True
                if not kept and not (content if flat else coerce_content(content)):
                    drops.append((EMPTIED_TURN, index, None))
                    continue
            if changed and not flat:
                if not lifted:
                    metadata = read_metadata(metadata)
                fields = with_calls(fields, metadata, kept, lifted)

        if not flat:
            row = fields if changed else entry
        else:
            row = {"role": role, "content": content}
            if kept:
                row["tool_calls"] = kept
            if finish is not None:
                row = finish(index, fields, row)
            if role == "system":
                if merge and (leading or late_system):
                    late_system.append(row)
                    if changes is not None:
                        changes.append((MERGED_SYSTEM, index, None))
                    continue
                if leading < len(out):
                    late_system.append(row)
                    if changes is not None:
                        changes.append((MOVED_SYSTEM, index, None))
                    continue
                leading += 1
        if changes is not None:
            went_to[index] = len(out)
        out.append(row)
        if kept:
            last_turn = len(out)
            out.extend([None] * len(kept))
            last_turn_end = len(out)
            unanswered += len(kept)

    if changes is not None:
        changes.extend(moved_results(went_to, places))
    for index, id in strays:
        drops.append((EARLY_RESULT if id in places else ORPHAN_RESULT, index, id))
    if unanswered:
        still_pending = last_turn if pending and last_turn_end == len(out) else len(out)
        for id, place in places.items():
            if out[place] is None and place < still_pending:
                out[place] = {"role": "tool", "content": interrupted, "tool_call_id": id}
                if changes is not None:
                    changes.append((INTERRUPTED_RESULT, callers[id], id))
        out[still_pending:] = [row for row in out[still_pending:] if row is not None]
    if late_system:
        system_rows = out[:leading] + late_system
        out[:leading] = [merge_system(system_rows)] if merge else system_rows
    return out
