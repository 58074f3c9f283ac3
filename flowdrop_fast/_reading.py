"""Reading what a conversation may hold: entries, roles, ids and calls of any type.

Shared by both backends. Here values are only *read*, and nothing that a caller's own code raises
escapes, unless stack or memory is used up; turning content into text lives in `_content`, deciding
what stays in the two backends.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping, Sized
from dataclasses import fields, is_dataclass
from enum import Enum
from numbers import Number
from typing import Any

# How deeply values may nest. A number of our own, so that the answer depends neither on the
# interpreter's recursion limit nor on how deep in the stack the caller stands.
MAX_DEPTH = 1000

SENDABLE_ROLES = ("user", "assistant", "system", "tool")

CALL_ID_KEYS = ("tool_call_id", "id")

UNUSABLE = ("", "0")  # ids, once trimmed

NOT_JSON = object()

# Frames: more than what is called here needs by itself.
_ROOM = 100

_OUR_PACKAGES = (__name__.partition(".")[0], "json")


def type_name(value: object) -> str:
    """The name of a value's type, read without running the code of its metaclass."""
    name: str = type.__dict__["__name__"].__get__(type(value))
    return name


def pass_on_if_cramped(error: Exception) -> None:
    """Raise again an error that tells of the stack or the memory left to us, not of a value.

    Without this, a value that is read in the last few frames, or that memory does not suffice
    for, would be taken for one that cannot be read, and be lost.
    """
    if is_a(error, RecursionError):
        try:
            _descend(_ROOM)
        except RecursionError:
            raise error from None
    elif is_a(error, MemoryError) and _is_our_own(error):
        raise error


def _is_our_own(error: Exception) -> bool:
    """Whether no Python code but ours, and the `json` that we call, was running."""
    frame = error.__traceback__
    while frame is not None:
        package = str(frame.tb_frame.f_globals.get("__name__")).partition(".")[0]
        if package not in _OUR_PACKAGES:
            return False
        frame = frame.tb_next
    return True


def _descend(frames: int) -> None:
    if frames:
        _descend(frames - 1)


def is_a(value: object, kinds: type | tuple[type, ...]) -> bool:
    """What `isinstance` says, without asking the value: its `__class__` may lie or raise."""
    return issubclass(type(value), kinds)


def snapshot(messages: Any) -> list[Any]:
    """Read the message list once, so that nothing that happens later can change it."""
    refused = is_a(messages, (str, bytes, bytearray, Mapping))
    iterable = getattr(type(messages), "__iter__", None) or hasattr(type(messages), "__getitem__")
    if refused or not iterable:
        raise TypeError(f"messages must be an iterable of entries, not {type_name(messages)}")
    return [entry for entry in messages]  # noqa: C416  (list() would ask for a length, too)


def stored_items(value: dict[Any, Any]) -> dict[Any, Any]:
    """What a `dict` subclass holds, in its order, whatever it overrides."""
    items = dict(dict.items(value))
    if is_a(value, OrderedDict):  # keeps its order beside the items
        try:
            ordered = {key: items[key] for key in OrderedDict.__iter__(value)}
            return {**ordered, **items}
        except Exception as error:  # items were put in or taken out behind its back
            pass_on_if_cramped(error)
    return items


def stored_sequence(value: list[Any] | tuple[Any, ...]) -> list[Any]:
    """What a list or tuple holds, whatever a subclass overrides."""
    kind: Any = list if is_a(value, list) else tuple
    return list(kind.__iter__(value))


def read_mapping(value: Any) -> dict[Any, Any] | None:
    """A value as a `dict`, itself if it is exactly that; `None` if it cannot be read as a mapping.

    A `dict` subclass, any other mapping, an object with a `model_dump` method and a dataclass
    instance can be read, in this order. A class, and whatever raises while it is read, cannot.
    """
    if type(value) is dict:
        return value
    try:
        found = _read_plain_mapping(value)
        if found is not None or is_a(value, type):
            return found
        dump = getattr(value, "model_dump", None)
        if callable(dump):
            return _read_plain_mapping(dump())
        if is_dataclass(value):
            return dataclass_fields(value)
    except Exception as error:
        pass_on_if_cramped(error)
        return None
    return None


def _read_plain_mapping(value: Any) -> dict[Any, Any] | None:
    if is_a(value, dict):
        return stored_items(value)
    if is_a(value, Mapping):
        return {key: value[key] for key in value}
    return None


def dataclass_fields(value: Any) -> dict[Any, Any]:
    """A dataclass instance field by field; what the fields hold stays as it is."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def enum_value(value: Any) -> Any:
    """A plain `Enum` member's value; anything else, a member that is a scalar too, is itself."""
    for _ in range(MAX_DEPTH):
        if not is_a(value, Enum) or is_a(value, (str, int, float)):
            return value
        value = value.value
    raise ValueError("an enum member is its own value")


def read_role(value: Any) -> str | None:
    """The role as an exact `str`, or `None` if it is no text or blank."""
    try:
        value = enum_value(value)
        if not is_a(value, str):
            return None
        role = str.__str__(value)
    except Exception as error:
        pass_on_if_cramped(error)
        return None
    return role if role.strip() else None


def read_sendable_role(value: object) -> str:
    """One of the four roles that every provider knows; `"user"` for anything else."""
    role = read_role(value)
    return role if role in SENDABLE_ROLES else "user"


def trimmed_id(value: Any) -> str | None:
    """A `str` trimmed, an `int` in decimal; `None` for what is blank or of any other type."""
    if value is None:
        return None
    if type(value) is str:
        return value.strip() or None
    try:
        if is_a(value, str):
            text = str.__str__(value).strip()
        elif is_a(value, int) and not is_a(value, bool):
            text = int.__repr__(value)
        else:
            return None
    except Exception as error:
        pass_on_if_cramped(error)
        return None
    return text or None


def usable_id(value: object) -> str | None:
    """The id that pairs a call and its result, as exact `str`; `None` if it can pair none."""
    text = trimmed_id(value)
    return None if text in UNUSABLE else text


def needs_cleaning(value: Any, clean: str) -> bool:
    """Whether an id differs from its usable form: an `int`, or one with blanks around it."""
    return not is_a(value, str) or str.__str__(value) != clean


def lookup(mapping: dict[Any, Any] | None, key: str) -> Any:
    """What a mapping holds under a key; `None` if nothing, or if it cannot be looked up."""
    if mapping is None:
        return None
    try:
        return mapping.get(key)
    except Exception as error:  # a stored key's own __eq__ may raise
        pass_on_if_cramped(error)
        return None


def read_metadata(value: Any) -> dict[Any, Any] | None:
    """An entry's metadata: a mapping, or the JSON text of one."""
    if type(value) is dict:
        return value
    if is_a(value, str):
        value = _parse_json(str.__str__(value))
        return value if is_a(value, dict) else None
    return read_mapping(value)


def read_calls(value: Any) -> list[Any]:
    """The calls that a `tool_calls` value holds, in order; a value that is none is one of them."""
    if value is None:
        return []
    if type(value) is list:
        return list(value)
    try:
        if is_a(value, str):
            text = str.__str__(value)
            said = _parse_json(text) if text.strip() else None
            return [text] if said is NOT_JSON else read_calls(said)
        if is_a(value, (list, tuple)):
            return stored_sequence(value)
        mapping = read_mapping(value)
        if mapping is None:
            return [] if _is_none_or_empty(value) else [value]
        return [mapping] if read_call(mapping) is not None else list(mapping.values())
    except Exception as error:
        pass_on_if_cramped(error)
        return [value]


def _is_none_or_empty(value: Any) -> bool:
    if is_a(value, Number):
        return not value
    return value is None or (is_a(value, Sized) and len(value) == 0)


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        pass_on_if_cramped(error)
        return NOT_JSON


def read_call(call: object) -> tuple[str, dict[Any, Any], bool] | None:
    """A tool call's id, the call as it leaves, and whether its id had to be cleaned.

    Returns:
        `None` if the call is unusable: no mapping, or without a usable id under
        `"tool_call_id"` or, failing that, `"id"`. A `dict` is returned as it is unless its id
        had to be cleaned; everything else as a new `dict`.
    """
    if type(call) is dict:  # most calls, without a further call of ours
        try:
            id = call.get("tool_call_id")
            if id is None:
                id = call.get("id")
        except Exception:  # a stored key's own __eq__ may raise
            id = None
        if type(id) is str and id == id.strip() and id not in UNUSABLE:
            return id, call, False
    mapping = read_mapping(call)
    if mapping is None:
        return None
    for key in CALL_ID_KEYS:
        value = lookup(mapping, key)
        clean = usable_id(value)
        if clean is not None and not needs_cleaning(value, clean):
            return clean, mapping, False
        if clean is not None:
            try:
                return clean, {**mapping, key: clean}, True
            except Exception as error:  # the same key's __eq__, which did not raise just now
                pass_on_if_cramped(error)
                return None
    return None
