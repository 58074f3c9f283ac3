"""The reference backend: repair and pairing over plain dicts and lists, in one forward pass.

Read it beside the contract: `_pass` goes through the entries once, in order. Each entry is read
whole (role, content, calls or id) before anything is decided on it, and no code of the caller's
runs after that, so nothing it does can change what was decided. A turn that makes calls leaves,
directly behind it in `out`, one open place (`None`) for the result of each call; results fill
these places as they come, in whatever order; what is still open at the end was interrupted.

`src/_native.pyx` is the same functions under the same names in the same order. Whatever is not
exactly a `dict`, `list` or `str` is read by `_reading` and `_content`, which both share.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ._content import coerce_odd_content, mend_surrogates
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
from ._results import (
    DUPLICATE_CALL,
    DUPLICATE_RESULT,
    EARLY_RESULT,
    EMPTIED_TURN,
    INTERRUPTED_RESULT,
    INTERRUPTED_TEXT,
    MOVED_RESULT,
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
)
from ._rewriting import with_calls, with_id


def normalize_conversation(messages: Iterable[object]) -> Normalized:
    """Make a stored conversation sendable to a provider (MEM-5).

    Args:
        messages: the entries, in order: flat rows, stored rows, a provider's own, SDK objects,
            in any mix. Read once, never changed.

    Returns:
        The flat rows and the number of drops it took, `(messages, dropped)`.

    Raises:
        TypeError: if `messages` is a `str`, `bytes`, `bytearray`, a mapping or not iterable.

    >>> messages, dropped = normalize_conversation([
    ...     {"role": "tool", "content": "too early", "tool_call_id": "c1"},
    ...     {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "search"}]},
    ... ])
    >>> dropped
    1
    >>> messages[1]
    {'role': 'tool', 'content': 'Tool call was interrupted; no result.', 'tool_call_id': 'c1'}
    """
    rows, drops = _pass(messages, True, None)
    return Normalized(rows, len(drops))


def repair_tool_pairing(messages: Iterable[object]) -> Normalized:
    """Pair tool calls and results, and leave everything else as it stands (MEM-5, rules 3 and 4).

    What a reasoner applies between two model calls: rows leave by reference, with all their keys
    and their content untouched. Only a turn that loses calls, and a call or result whose id has
    to be trimmed or made text, leave as shallow copies.

    Args:
        messages: the entries, in order and in any of the shapes that normalization reads.

    Returns:
        The rows and the number of drops it took, `(messages, dropped)`.

    Raises:
        TypeError: if `messages` is a `str`, `bytes`, `bytearray`, a mapping or not iterable.

    >>> repair_tool_pairing([
    ...     {"role": "user", "content": "hi", "name": "ann"},
    ...     {"role": "tool", "content": "nobody asked", "tool_call_id": "c1"},
    ... ])
    Normalized(messages=[{'role': 'user', 'content': 'hi', 'name': 'ann'}], dropped=1)
    """
    rows, drops = _pass(messages, False, None)
    return Normalized(rows, len(drops))


def explain_conversation(messages: Iterable[object]) -> Explanation:
    """Normalize, and tell of everything that was dropped, made or moved (MEM-5).

    Args:
        messages: the entries, as for `normalize_conversation`.

    Returns:
        What `normalize_conversation` returns, and the records: the drops that `dropped` counts,
        the results that were made, the rows that were moved.

    Raises:
        TypeError: if `messages` is a `str`, `bytes`, `bytearray`, a mapping or not iterable.

    >>> explanation = explain_conversation([{"role": "user", "content": "hi"}, None])
    >>> explanation.records[0].kind, explanation.records[0].index
    ('not_a_message', 1)
    >>> explanation.records[0].sentence
    'Entry 1 cannot be read as a message, so it was dropped.'
    """
    changes: list[Note] = []
    rows, drops = _pass(messages, True, changes)
    return Explanation(rows, len(drops), make_records(drops, changes))


def coerce_content(value: object) -> str:
    """Turn content of any type into text that can be sent (MEM-5 rule 1, MEM-16).

    Args:
        value: text, a scalar, or a structure of mappings, lists, SDK objects, dataclasses.

    Returns:
        Text as it is, scalars cast, structures as compact JSON; `""` for `None` and for what
        cannot be serialized. Lone surrogates become U+FFFD.

    >>> coerce_content([{"type": "text", "text": "hi"}])
    '[{"type":"text","text":"hi"}]'
    """
    return mend_surrogates(value) if type(value) is str else coerce_odd_content(value)


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
    id = trimmed_id(tool_call_id) if sendable_role == "tool" else None
    if id is None:
        return TextMessage(
            [{"role": sendable_role, "content": content}],
            {"role": sendable_role, "content": content},
        )
    return TextMessage(
        [{"role": sendable_role, "content": content, "tool_call_id": id}],
        {"role": sendable_role, "content": content, "tool_call_id": id},
    )


def _pass(
    messages: Iterable[object], flat: bool, changes: list[Note] | None
) -> tuple[list[Any], list[Note]]:
    """Rules 1 to 4 over one list.

    Args:
        messages: the entries.
        flat: whether rows are coerced and system rows moved to the front (normalization), or
            leave by reference (the repair alone).
        changes: where to note what is made or moved, if anyone wants to know.

    Returns:
        The rows that leave, and a note of every drop.
    """
    entries = list(messages) if type(messages) is list else snapshot(messages)
    out: list[Any] = []
    leading = 0  # system rows at the front of `out`
    late_system: list[Any] = []  # system rows that stood behind another row
    drops: list[Note] = []
    places: dict[str, int] = {}  # id of each kept call -> where in `out` its result belongs
    callers: dict[str, int] = {}  # id of each kept call -> its turn, while changes are noted
    placeholders: dict[int, int] = {}  # place of each placeholder -> its entry
    strays: list[tuple[int, str]] = []  # results of ids that no turn so far declares
    unanswered = 0
    frontier = 0  # where nothing in `out` stands behind: results placed before it have moved

    for index, entry in enumerate(entries):
        fields = entry if type(entry) is dict else read_mapping(entry)
        if fields is None:
            drops.append((NOT_A_MESSAGE, index, None))
            continue
        get = fields.get
        calls = answered = healed = metadata = None
        try:
            role = get("role")
            content = get("content")
            if type(role) is not str or not role.strip():
                role = read_role(role)
            if role == "tool":
                answered = get("tool_call_id")
                healed = get("healed")
                metadata = get("metadata")
            elif role == "assistant":
                calls = get("tool_calls")
                metadata = get("metadata")
        except Exception:  # a stored key's own __eq__ may raise
            drops.append((NOT_A_MESSAGE, index, None))
            continue
        if role is None:
            drops.append((NO_ROLE, index, None))
            continue
        if flat and (type(content) is not str or not content.isascii()):
            content = coerce_content(content)

        if role == "tool":
            if metadata is not None:
                metadata = read_metadata(metadata)
            id = usable_id(answered)
            lifted = id is None
            if lifted:
                answered = lookup(metadata, "tool_call_id")
                id = usable_id(answered)
            if id is None:
                drops.append((ORPHAN_RESULT, index, None))
                continue
            guess = healed is True or lookup(metadata, "healed") is True or _is_interrupted(content)
            place = places.get(id)
            if place is None:
                strays.append((index, id))
                continue
            if out[place] is None:
                unanswered -= 1
            elif place in placeholders and not guess:
                drops.append((DUPLICATE_RESULT, placeholders.pop(place), id))
            else:
                drops.append((DUPLICATE_RESULT, index, id))
                continue
            if guess:
                placeholders[place] = index
            if flat:
                out[place] = {"role": role, "content": content, "tool_call_id": id}
            elif needs_cleaning(answered, id):
                out[place] = with_id(fields, metadata if lifted else None, id)
            else:
                out[place] = entry
            if place >= frontier:
                frontier = place
            elif changes is not None:
                changes.append((MOVED_RESULT, index, id))
            continue

        row = entry
        kept: list[Any] = []
        if calls is not None or metadata is not None:  # on an assistant turn only
            calls = read_calls(calls)
            lifted = not calls
            if lifted:
                metadata = read_metadata(metadata)
                calls = read_calls(lookup(metadata, "tool_calls"))
            changed = False
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
            if calls and not kept and not (content if flat else coerce_content(content)):
                drops.append((EMPTIED_TURN, index, None))
                continue
            if not flat and (changed or len(kept) < len(calls)):
                if not lifted:
                    metadata = read_metadata(metadata)
                row = with_calls(fields, metadata, kept, lifted)

        if not flat:
            out.append(row)
        elif kept:
            out.append({"role": role, "content": content, "tool_calls": kept})
        elif role != "system":
            out.append({"role": role, "content": content})
        elif leading == len(out):
            out.append({"role": role, "content": content})
            leading += 1
        else:
            late_system.append({"role": role, "content": content})
            if changes is not None:
                changes.append((MOVED_SYSTEM, index, None))
            continue
        frontier = len(out)
        if kept:
            out.extend([None] * len(kept))
            unanswered += len(kept)

    for index, id in strays:
        drops.append((EARLY_RESULT if id in places else ORPHAN_RESULT, index, id))
    if unanswered:
        for id, place in places.items():
            if out[place] is None:
                out[place] = {"role": "tool", "content": INTERRUPTED_TEXT, "tool_call_id": id}
                if changes is not None:
                    changes.append((INTERRUPTED_RESULT, callers[id], id))
    if late_system:
        out[leading:leading] = late_system
    return out, drops


def _is_interrupted(content: object) -> bool:
    """Whether content, coerced, is the text of a synthetic result."""
    if type(content) is str:
        return content == INTERRUPTED_TEXT
    if type(content) is list or type(content) is dict:
        return False  # JSON text starts with a bracket
    return coerce_odd_content(content) == INTERRUPTED_TEXT
