"""JSON text to values and back. What the values mean is `conversations`' business.

orjson is used where it is installed, and the standard library reads again what orjson refuses
(NaN, lone surrogates, deep nesting) or would change in silence (integers of more than 64 bits).
A value is written by the one that read it.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from typing import Any

from flowdrop_fast._backend import backend

from .errors import UnreadableError

Writer = Callable[[Any], bytes]

try:
    _orjson: Any = importlib.import_module("orjson")
except ImportError:
    _orjson = None

CODEC = "json" if _orjson is None else "orjson"

# Integers of 64 bits have at most 20 digits, 19 behind a minus sign.
_MANY_DIGITS = 19
_ZEROS = bytes(48 if 48 <= byte <= 57 else 32 for byte in range(256))
_LONG_INTEGER = re.compile(rb"(?:^|[\[:,\s])(?:[0-9]{20}|-[0-9]{19})")


def load(text: bytes) -> tuple[Any, Writer]:
    """Read one JSON value, and say who writes it again as it was spelled.

    Raises:
        UnreadableError: if the text is not UTF-8, not JSON, or too much for the parser.

    >>> value, write = load(b'{"a": [1, 2]}')
    >>> value, write(value)
    ({'a': [1, 2]}, b'{"a":[1,2]}')
    """
    if _orjson is not None and not has_long_integer(text):
        try:
            return _orjson.loads(text), write_fast
        except ValueError:
            pass
    return loads(text), dumps


def has_long_integer(text: bytes) -> bool:
    """Whether a JSON text may hold an integer of more than 64 bits."""
    return _has_digits_in_a_row(text, _MANY_DIGITS) and _LONG_INTEGER.search(text) is not None


def _search_digits_in_a_row(text: bytes, count: int) -> bool:
    """Whether a text has so many digits in a row: a plain search once every digit is a zero."""
    return b"0" * count in text.translate(_ZEROS)


_has_digits_in_a_row = getattr(backend, "has_digits_in_a_row", _search_digits_in_a_row)


def write_fast(value: Any) -> bytes:
    """Write a value that orjson has read."""
    try:
        written: bytes = _orjson.dumps(value)
    except TypeError:  # nested more deeply than orjson writes
        return dumps(value)
    return written


def loads(text: bytes) -> Any:
    """Read one JSON value with the standard library.

    Raises:
        UnreadableError: if the text is not UTF-8, not JSON, or too much for the parser.

    >>> loads(b'{"a": [1, 2]}')
    {'a': [1, 2]}
    """
    try:
        return json.loads(text.decode())
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start)
        column = error.start - text.rfind(b"\n", 0, error.start)
        byte = text[error.start]
        raise UnreadableError(f"not UTF-8: byte 0x{byte:02x} at byte {column}", line) from None
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" at")
        raise UnreadableError(
            f"not JSON: {what} at column {error.colno}", error.lineno - 1
        ) from None
    except RecursionError:
        raise UnreadableError("nested too deeply") from None
    except MemoryError:
        raise UnreadableError("too long for the memory there is") from None
    except ValueError:  # int() refuses more digits than sys.get_int_max_str_digits()
        raise UnreadableError("a number has too many digits") from None


def dumps(value: Any, indent: str | None = None) -> bytes:
    """Write one JSON value: compact on one line, or over several with the indent given.

    Raises:
        UnreadableError: if the value is nested too deeply to be written.

    >>> dumps({"a": [1, "é"]}).decode()
    '{"a":[1,"é"]}'
    """
    separators = (",", ":") if indent is None else (",", ": ")
    try:
        text = json.dumps(value, ensure_ascii=False, separators=separators, indent=indent)
        return text.encode()
    except UnicodeEncodeError:  # a lone surrogate, which only an escape can spell
        return json.dumps(value, separators=separators, indent=indent).encode()
    except RecursionError:
        raise UnreadableError("nested too deeply") from None
