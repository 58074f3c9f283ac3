"""The options of normalization and repair: what they are called, and what they ask the pass for.

Each is off by default. What they do to ids lives in `_rescue`, what they do to a row here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ._content import INTERRUPTED_TEXT, coerce_content, mend_surrogates
from ._reading import is_a, lookup, read_mapping, stored_sequence, type_name

Fields = dict[Any, Any]

FLAT_KEYS = frozenset({"role", "content", "tool_calls", "tool_call_id"})


class Plan(NamedTuple):
    """What one pass is asked to do.

    Attributes:
        flat: coerce rows and move system rows to the front; without, rows leave by reference.
        coerce: makes sendable content of what is not exactly an ASCII `str`.
        finish: called with an entry's index, fields and flat row; gives the row that leaves.
        interrupted: the text of synthetic results.
        rescue: give calls ids of their own rather than drop them.
        pending: leave the calls of the last turn open.
        merge: make one system row of all.
    """

    flat: bool = True
    coerce: Callable[[object], Any] = coerce_content
    finish: Callable[[int, Fields, Any], Any] | None = None
    interrupted: str = INTERRUPTED_TEXT
    rescue: bool = False
    pending: bool = False
    merge: bool = False


NORMALIZE = Plan()
REPAIR = Plan(flat=False)

DEFAULTS = ("strict", "interrupt", INTERRUPTED_TEXT, "keep", (), "text", True)


def plan_repair(ids: str, pending: str, interrupted: str) -> Plan:
    """The plan that the options of the repair alone ask for.

    Raises:
        TypeError: if an option is of the wrong type.
        ValueError: if it names nothing that there is.
    """
    if (ids, pending, interrupted) == DEFAULTS[:3]:
        return REPAIR
    return REPAIR._replace(
        rescue=_choice("ids", ids, "strict", "rescue"),
        pending=_choice("pending", pending, "interrupt", "keep"),
        interrupted=_interrupted_text(interrupted),
    )


def plan_normalization(
    ids: str,
    pending: str,
    interrupted: str,
    system: str,
    keep: Iterable[str],
    content: str,
    copy: bool,
) -> Plan:
    """The plan that the options of normalization ask for; raises as `plan_repair` does."""
    if (ids, pending, interrupted, system, keep, content, copy) == DEFAULTS:
        return NORMALIZE
    if copy not in (True, False):
        raise TypeError(f"copy must be a bool, not {type_name(copy)}")
    parts = _choice("content", content, "text", "parts")
    return plan_repair(ids, pending, interrupted)._replace(
        flat=True,
        coerce=coerce_to_parts if parts else coerce_content,
        finish=_finisher(_kept_keys(keep), copy),
        merge=_choice("system", system, "keep", "merge"),
    )


def _choice(name: str, value: object, default: str, other: str) -> bool:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {type_name(value)}")
    if value != default and value != other:
        raise ValueError(f"{name} must be {default!r} or {other!r}, not {value!r}")
    return value == other


def _interrupted_text(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"interrupted must be a str, not {type_name(text)}")
    text = str.__str__(text)
    if not text.strip():
        raise ValueError("interrupted must not be blank: an empty result is a real one")
    return mend_surrogates(text)


def _kept_keys(keep: Iterable[str]) -> tuple[str, ...]:
    if isinstance(keep, (str, bytes)) or not isinstance(keep, Iterable):
        raise TypeError(f"keep must be an iterable of keys, not {type_name(keep)}")
    keys: set[str] = set()
    for key in keep:
        if not isinstance(key, str):
            raise TypeError(f"a key to keep must be a str, not {type_name(key)}")
        text = str.__str__(key)
        if text in FLAT_KEYS or text == "metadata":
            raise ValueError(
                f"keep cannot name {text!r}, which normalization itself reads and writes"
            )
        keys.add(text)
    return tuple(sorted(keys))  # the order in which they leave, whatever order they are given in


def _finisher(keys: tuple[str, ...], copy: bool) -> Callable[[int, Fields, Any], Any] | None:
    if not keys and copy:
        return None

    def finish(_index: int, fields: Fields, row: Any) -> Any:
        for key in keys:
            value = lookup(fields, key)
            if value is not None:
                row[key] = value
        return row if copy or not _leaves_as_it_is(fields, row) else fields

    return finish


def _leaves_as_it_is(fields: Fields, row: Fields) -> bool:
    return is_unchanged(fields, row) and list(fields) == list(row)


def is_unchanged(fields: Fields, row: Fields) -> bool:
    """Whether a row leaves with just the keys and the very values that its entry has."""
    items = list(fields.items())
    return len(items) == len(row) and all(
        type(key) is str and key in row and _is_same(value, row[key]) for key, value in items
    )


def _is_same(before: object, after: object) -> bool:
    if before is after:
        return True
    if type(before) is not list or type(after) is not list:
        return type(before) is str and before == after
    return len(before) == len(after) and all(map(_is, before, after))


def _is(one: object, other: object) -> bool:
    return one is other


def coerce_to_parts(value: Any) -> Any:
    """Content as `coerce_content` has it, except that a list of typed parts stays one."""
    if is_a(value, list):
        parts = stored_sequence(value)
        if parts and all(map(_is_part, parts)):
            return parts
    return coerce_content(value)


def _is_part(value: Any) -> bool:
    part = read_mapping(value) if is_a(value, Mapping) else None
    return is_a(lookup(part, "type"), str)


def merge_system(rows: list[Fields]) -> Fields:
    """One system row of several: texts joined by a blank line, parts in their order.

    Blank texts add nothing. Where there are no others, the first stands for all.
    """
    if len(rows) == 1:
        return rows[0]
    kept: Fields = {}
    for row in rows:
        for key in row.keys() - FLAT_KEYS:
            kept.setdefault(key, row[key])
    contents = [row["content"] for row in rows if not _is_blank(row["content"])]
    content: Any
    if not contents:
        content = rows[0]["content"]
    elif all(type(content) is str for content in contents):
        content = "\n\n".join(contents)
    else:
        content = [part for content in contents for part in _as_parts(content)]
    return {"role": "system", "content": content, **{key: kept[key] for key in sorted(kept)}}


def _is_blank(content: Any) -> bool:
    return type(content) is str and not content.strip()


def _as_parts(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if type(content) is str else content
