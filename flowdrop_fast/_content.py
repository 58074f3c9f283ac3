"""Content coercion (MEM-5 rule 1, MEM-16): any value becomes text that can be sent.

Shared by both backends, which handle an exact `str` themselves and bring everything else here.
Nothing raised by a value's own code escapes: what cannot be serialized is the empty string.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from datetime import date, time
from decimal import Decimal
from json.encoder import encode_basestring as quote
from math import isfinite
from typing import Any
from uuid import UUID

from ._reading import (
    MAX_DEPTH,
    dataclass_fields,
    enum_value,
    is_a,
    pass_on_if_cramped,
    read_mapping,
    stored_sequence,
)

INTERRUPTED_TEXT = "Tool call was interrupted; no result."

_encode_plain = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":")
).encode


_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


class _UnserializableError(Exception):
    """A value that has no JSON text."""


def mend_surrogates(text: str) -> str:
    """Text as UTF-16 decoding with replacement reads it: lone surrogates become U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode("utf-16")  # the quickest of the encoders that refuse surrogates
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def coerce_content(value: object) -> str:
    """Turn content of any type into text that can be sent (MEM-5 rule 1, MEM-16).

    Args:
        value: text, a scalar, or a structure of mappings, lists, SDK objects, dataclasses.

    Returns:
        Text as it is, scalars cast, structures as compact JSON; `""` for `None` and for what
        cannot be serialized. Lone surrogates become U+FFFD.

    Raises:
        RecursionError: if the caller's own calls leave no stack to read the value with.
        MemoryError: if memory does not suffice for the text.

    >>> coerce_content([{"type": "text", "text": "hi"}])
    '[{"type":"text","text":"hi"}]'
    """
    return mend_surrogates(value) if type(value) is str else coerce_odd_content(value)


def coerce_odd_content(value: object) -> str:
    """Content of any type as text; the empty string if it cannot be serialized."""
    if value is None:
        return ""
    try:
        value = enum_value(value)
        if value is None:
            return ""
        text = _scalar_text(value)
        return mend_surrogates(_json_text(value) if text is None else text)
    except Exception as error:
        pass_on_if_cramped(error)
        return ""


def is_interrupted(content: object, interrupted: str = INTERRUPTED_TEXT) -> bool:
    """Whether content, coerced, is the text of a synthetic result: the standard or a custom one."""
    if (type(content) is list or type(content) is dict) and interrupted[0] not in "[{":
        return False  # JSON text starts with a bracket
    return coerce_content(content) in (INTERRUPTED_TEXT, interrupted)


def _scalar_text(value: Any) -> str | None:
    """A scalar cast to text; `None` for what is no scalar."""
    if is_a(value, str):
        return str.__str__(value)
    if value is True:
        return "true"
    if value is False:
        return "false"
    if is_a(value, int):
        return int.__repr__(value)
    if is_a(value, float):
        return _float_text(value)
    if is_a(value, (date, time)):
        return str.__str__(value.isoformat())
    if is_a(value, (UUID, Decimal)):
        return str.__str__(str(value))
    return None


def _float_text(value: float) -> str:
    text = float.__repr__(value)
    return _NOT_FINITE.get(text, text)


def _json_text(value: object) -> str:
    """Compact JSON text (RFC 8259) of a structure."""
    if _is_plain(value):
        try:
            return _encode_plain(value)
        except RecursionError:  # deep for this stack, not too deep for us
            pass
    return _encode(value)


def _is_plain(root: object) -> bool:
    """Whether the standard encoder spells this exactly as we do: exact types, text keys, finite."""
    around: list[tuple[Iterator[object], int]] = []
    on_path: set[int] = set()
    children: Iterator[object] = iter((root,))
    while True:
        for value in children:
            kind = type(value)
            if kind is str or kind is int or kind is bool or value is None:
                continue
            if kind is float:
                if isfinite(value):  # type: ignore[arg-type]
                    continue
                return False
            below: list[object]
            if kind is dict:
                if not all(type(key) is str for key in list(value)):  # type: ignore[call-overload]
                    return False
                below = list(value.values())  # type: ignore[attr-defined]
            elif kind is list or kind is tuple:
                below = list(value)  # type: ignore[call-overload]
            else:
                return False
            if id(value) in on_path or len(around) == MAX_DEPTH:
                return False
            around.append((children, id(value)))
            on_path.add(id(value))
            children = iter(below)
            break
        else:
            if not around:
                return True
            children, left = around.pop()
            on_path.discard(left)


def _encode(root: object) -> str:
    """JSON text of any serializable value, spelled piece by piece, with no recursion."""
    pieces: list[str] = []
    around: list[tuple[Iterator[tuple[str, object]], str, object]] = []
    on_path: set[int] = set()
    children: Iterator[tuple[str, object]] = iter((("", root),))
    closing = ""
    while True:
        for lead, member in children:
            pieces.append(lead)
            value = enum_value(member)
            text = _scalar_json(value)
            if text is not None:
                pieces.append(text)
                continue
            if id(value) in on_path or len(around) == MAX_DEPTH:
                raise _UnserializableError("circular or too deeply nested")
            around.append((children, closing, value))
            on_path.add(id(value))
            opening, children, closing = _open(value)
            pieces.append(opening)
            break
        else:
            pieces.append(closing)
            if not around:
                return "".join(pieces)
            children, closing, left = around.pop()
            on_path.discard(id(left))


def _scalar_json(value: Any) -> str | None:
    if value is None:
        return "null"
    text = _scalar_text(value)
    if text is None or is_a(value, int):
        return text
    if is_a(value, float):
        return text if isfinite(value) else "null"
    return quote(text)


def _open(value: Any) -> tuple[str, Iterator[tuple[str, object]], str]:
    """A structure's opening bracket, its children with what stands before each, its closing one."""
    if not is_a(value, (Mapping, list, tuple, type)):
        dump = getattr(value, "model_dump", None)
        if callable(dump):
            # What is dumped is JSON's own kind. An object that dumps another could do so forever.
            value = enum_value(dump(mode="json"))
            text = _scalar_json(value)
            if text is not None:
                return text, iter(()), ""
        elif is_dataclass(value):
            return "{", _members(dataclass_fields(value)), "}"
    if is_a(value, (list, tuple)):
        return "[", _elements(stored_sequence(value)), "]"
    mapping = read_mapping(value) if is_a(value, Mapping) else None
    if mapping is None:
        raise _UnserializableError("no JSON spelling")
    return "{", _members(mapping), "}"


def _members(mapping: dict[Any, Any]) -> Iterator[tuple[str, object]]:
    lead = ""
    for key, value in mapping.items():
        yield f"{lead}{quote(_key_text(key))}:", value
        lead = ","


def _elements(values: list[Any]) -> Iterator[tuple[str, object]]:
    lead = ""
    for value in values:
        yield lead, value
        lead = ","


def _key_text(key: object) -> str:
    """A key as `json.dumps` spells it."""
    if key is None:
        return "null"
    text = _scalar_text(key) if is_a(key, (str, int, float)) else None
    if text is None:
        raise _UnserializableError("a key that JSON has no spelling for")
    return text
