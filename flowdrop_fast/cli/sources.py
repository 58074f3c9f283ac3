"""Input: whether it is JSON or JSON Lines, and the pieces of it that hold one conversation each."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .codec import dumps, loads
from .errors import RunError, UnreadableError

STANDARD_INPUT = "-"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Piece:
    """The text of one conversation, or the blanks between two.

    Attributes:
        line: the line that it starts on, from 1.
        head: what stands before the JSON text and stays there.
        text: the JSON text; empty if there is none.
        tail: the blanks and the line's end behind it.
        indent: how it is indented, if it is laid out over several lines.
    """

    line: int
    head: bytes
    text: bytes
    tail: bytes
    indent: str | None = None

    def raw(self) -> bytes:
        """The piece, byte for byte as it came."""
        return self.head + self.text + self.tail

    def rewritten(self, value: Any) -> bytes:
        """The piece with another value, laid out as it was."""
        return self.head + dumps(value, self.indent) + self.tail


def display_name(path: str) -> str:
    """How a file is called in messages."""
    return "<stdin>" if path == STANDARD_INPUT else path


def read_bytes(path: str) -> bytes:
    """All that a file, or standard input, holds.

    Raises:
        RunError: if it cannot be read.
    """
    try:
        if path == STANDARD_INPUT:
            return sys.stdin.buffer.read()
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        reason = error.strerror or str(error)
        raise RunError(f"{display_name(path)}: cannot be read: {reason}") from None


def split_pieces(data: bytes) -> Iterator[Piece]:
    """The conversations of a JSON or JSON Lines text, in order.

    Lines end at a line feed and nowhere else.
    """
    if data.startswith(UTF_16_MARKS):
        raise UnreadableError("not UTF-8, but UTF-16 by its first two bytes")
    head = BYTE_ORDER_MARK if data.startswith(BYTE_ORDER_MARK) else b""
    body = data[len(head) :]
    if is_one_document(body):
        yield _piece(1, head, body, _indent(body))
        return
    start = 0
    line = 1
    while start < len(body):
        end = body.find(b"\n", start) + 1 or len(body)
        yield _piece(line, head, body[start:end], None)
        head = b""
        start = end
        line += 1


def is_one_document(body: bytes) -> bool:
    """Whether a text is one JSON value laid out over several lines, rather than JSON Lines."""
    lines = body.lstrip().split(b"\n", 2)
    if len(lines) < 2 or _is_json(lines[0]):
        return False
    # A first line that is no JSON may be the first of a document, or a torn one with whole
    # ones below it, which start at the margin.
    return _is_json(body) or not (lines[1][:1] in (b"{", b"[") and _is_json(lines[1]))


def _is_json(text: bytes) -> bool:
    try:
        loads(text)
    except UnreadableError:
        return False
    return True


def _piece(line: int, head: bytes, raw: bytes, indent: str | None) -> Piece:
    text = raw.strip()
    start = raw.find(text)
    line += raw.count(b"\n", 0, start)
    return Piece(line, head + raw[:start], text, raw[start + len(text) :], indent)


def _indent(body: bytes) -> str:
    found = re.search(rb"\n([ \t]+)[^ \t\r\n]", body)
    return found[1].decode() if found else "  "
