"""JSON text to values and back. What the values mean is `conversations`' business."""

from __future__ import annotations

import json
from typing import Any

from .errors import UnreadableError


def loads(text: bytes) -> Any:
    """Read one JSON value.

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
        reason = f"not JSON: {error.msg} at column {error.colno}"
        raise UnreadableError(reason, error.lineno - 1) from None
    except RecursionError:
        raise UnreadableError("nested too deeply") from None
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
