r"""JSON text to values and back, the same with and without orjson, only faster with it.

Here lives what the command line and the engines agree on about JSON; which lines and which fields
are read is theirs. The core needs none of this: it reads JSON inside messages by itself.

orjson is used where it gives what the standard library gives; the standard library reads or writes
again what orjson refuses, and what orjson would change without a word:

- integers are exact, whatever their size, up to the interpreter's own limit (4300 digits);
- `NaN`, `Infinity` and `-Infinity`, as Python's own `json` spells them, are kept; a number that a
  double cannot hold (`1e400`) is refused, for it would come out as something else;
- other numbers are doubles: `1.10` is written as `1.1`, and a very small or large one may be
  spelled differently (`1e-7`, `1e-07`) by the two writers;
- a lone surrogate (`\ud800`) is kept, and written as such an escape again;
- of equal keys in one object the last one counts;
- up to 500 levels of nesting are read and written anywhere; where the interpreter's recursion
  limit ends that, it is a `ValueError`;
- bytes are UTF-8, without a byte order mark.

Whatever cannot be read is a `ValueError` whose text is the same with and without orjson.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from math import isfinite
from typing import Any

from ._backend import backend

# Older ones overflow the stack, and so end the process, on text that nests deeply.
_SAFE_ORJSON = (3, 9, 15)


def _safe_orjson() -> Any:
    try:
        module = importlib.import_module("orjson")
    except ImportError:
        return None
    version = tuple(int(part) for part in re.findall(r"[0-9]+", module.__version__)[:3])
    return module if version >= _SAFE_ORJSON else None


orjson = _safe_orjson()

Writer = Callable[[Any], bytes]


def loads(text: bytes | str) -> Any:
    """Read one JSON text.

    Args:
        text: the whole text; bytes are UTF-8.

    Returns:
        What `json.loads` returns.

    Raises:
        ValueError: the text is no JSON, or one of the limits above ends it.

    >>> loads(b'{"id": 123456789012345678901234567890}')
    {'id': 123456789012345678901234567890}
    """
    return read(text)[0]


def read(text: bytes | str) -> tuple[Any, Writer]:
    """Read one JSON text, and tell how values taken from it are written back.

    The writer does what `dumps` does, and spares the look for numbers that are not finite where
    the text holds none.

    >>> value, write = read('[null, NaN]')
    >>> write(value)
    b'[null,NaN]'
    """
    if orjson is not None:
        try:
            data = text.encode() if isinstance(text, str) else text
            if not _may_hold_long_integer(data):
                return orjson.loads(data), _write_finite
        except ValueError:
            pass  # what orjson reads differently, or no JSON: the standard library tells
    return _read_standard(text), _write_standard


def dumps(value: Any) -> bytes:
    r"""Write a value as compact UTF-8 JSON text, non-ASCII characters as they are.

    Args:
        value: what `loads` returns: `dict`, `list`, `str`, `int`, `float`, `bool`, `None`.

    Raises:
        ValueError: the value contains itself, or is nested too deeply.
        TypeError: the value, or one inside it, has no JSON spelling.

    >>> dumps({"content": "é", "cost": float("nan")})
    b'{"content":"\xc3\xa9","cost":NaN}'
    """
    if orjson is None:
        return _write_standard(value)
    text = _write_finite(value)
    # orjson writes `null` for a number that is not finite, too.
    if b"null" in text and read(text)[0] != value:
        return _write_standard(value)
    return text


def describe(value: Any) -> str:
    """What JSON calls a value.

    >>> describe(None), describe(True), describe([])
    ('null', 'true', 'a list')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "a list" if isinstance(value, list) else "an object"


def _write_finite(value: Any) -> bytes:
    try:
        written: bytes = orjson.dumps(value)
    except TypeError:
        return _write_standard(value)
    return written


def _write_standard(value: Any) -> bytes:
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    # Only a surrogate cannot be encoded, and it stands in a JSON string: an escape is right there.
    return text.encode("utf-8", "backslashreplace")


def _read_standard(text: bytes | str) -> Any:
    if not isinstance(text, str):
        text = text.decode()
    if text.startswith("\ufeff"):
        raise json.JSONDecodeError("Unexpected byte order mark", text, 0)
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _double(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        shown = text if len(text) <= 20 else f"{text[:20]}..."
        raise ValueError(f"number out of range: {shown}")
    return number


_DECODER = json.JSONDecoder(parse_float=_double)

# orjson reads an integer beyond 64 bits as a double. Such a one has 20 digits, or a sign and 19.
_LONG_INTEGER = re.compile(rb"(?:\A|[\s\[,:])(?:-[0-9]{19}|[0-9]{20})")
_MANY_DIGITS = 19


def _may_hold_long_integer(data: bytes) -> bool:
    # Most texts have no run of digits that long, which is found out by looking at few bytes.
    return (
        backend.has_digits_in_a_row(data, _MANY_DIGITS) and _LONG_INTEGER.search(data) is not None
    )
