"""What can be wrong with a JSON text, in a few words; and documents over several lines.

Reading and writing is done by `_json`, which the engines use too.
"""

from __future__ import annotations

import json
from typing import Any

from flowdrop_fast._json import Writer, read

from .errors import UnreadableError


def load(text: bytes) -> tuple[Any, Writer]:
    """Read one JSON value, and say who writes it again.

    Raises:
        UnreadableError: if the text is not UTF-8, not JSON, or too much for the parser.

    >>> value, write = load(b'{"a": [1, 2]}')
    >>> value, write(value)
    ({'a': [1, 2]}, b'{"a":[1,2]}')
    """
    try:
        return read(text)
    except (ValueError, MemoryError) as error:
        raise as_unreadable(error) from None


def as_unreadable(error: ValueError | MemoryError) -> UnreadableError:
    """What went wrong with a text, told to people.

    >>> as_unreadable(ValueError("nested too deeply")).reason
    'nested too deeply'
    """
    if isinstance(error, UnreadableError):
        return error
    if isinstance(error, UnicodeDecodeError):
        text = error.object
        line = text.count(b"\n", 0, error.start)
        column = error.start - text.rfind(b"\n", 0, error.start)
        return UnreadableError(f"not UTF-8: byte 0x{text[error.start]:02x} at byte {column}", line)
    if isinstance(error, json.JSONDecodeError):
        what = error.msg.removesuffix(" at")
        return UnreadableError(f"not JSON: {what} at column {error.colno}", error.lineno - 1)
    if isinstance(error, MemoryError):
        return UnreadableError("too long for the memory there is")
    reason = str(error)
    if reason.startswith("Exceeds the limit"):  # of digits, which int() names a function to raise
        reason = "a number has too many digits"
    return UnreadableError(reason)


def dump_document(value: Any, indent: str) -> bytes:
    r"""Write one JSON value over several lines.

    Raises:
        UnreadableError: if it is nested too deeply to be written.

    >>> dump_document({"a": ["é"]}, "  ").decode()
    '{\n  "a": [\n    "é"\n  ]\n}'
    """
    try:
        text = json.dumps(value, ensure_ascii=False, indent=indent)
    except RecursionError:
        raise UnreadableError("nested too deeply") from None
    return text.encode("utf-8", "backslashreplace")  # a lone surrogate can only be an escape
