"""How a text is laid out: one JSON document over several lines, or JSON Lines."""

from __future__ import annotations

import json
import re

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def is_document(head: bytes, whole: bool) -> bool:
    r"""Whether a text is one JSON value over several lines, rather than one on each.

    Args:
        head: how it begins.
        whole: whether this is all of it.

    >>> is_document(b'[\n  {"role": "user"}\n]\n', True), is_document(b'[]\n[]\n', True)
    (True, False)
    """
    text = head.removeprefix(BYTE_ORDER_MARK).lstrip()
    lines = text.split(b"\n", 2)
    if len(lines) < 2 or lines[0][:1] not in (b"{", b"[") or _is_json(lines[0]):
        return False
    # A first line that is no JSON may be the first of a document, or a torn one with whole ones
    # below it, which start at the margin.
    if _is_json(text) if whole else _may_go_on(text):
        return True
    return whole and not (lines[1][:1] in (b"{", b"[") and _is_json(lines[1]))


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text.decode())
    except RecursionError:
        return True
    except ValueError:
        return False
    return True


def _may_go_on(text: bytes) -> bool:
    """Whether a text that is no JSON may be the beginning of a longer one that is."""
    start = text.decode(errors="replace")
    try:
        json.loads(start)
    except json.JSONDecodeError as error:
        # What is merely cut off fails at its end, or at the start of a string that has none.
        return error.msg.startswith("Unterminated string") or error.pos > len(start) - 16
    except (RecursionError, ValueError):
        return True
    return True


def indent_of(text: bytes) -> str:
    r"""The blanks that a document over several lines is indented with.

    >>> indent_of(b'{\n    "messages": []\n}')
    '    '
    """
    found = re.search(rb"\n([ \t]+)[^ \t\r\n]", text)
    return found[1].decode() if found else "  "
