"""Draws one conversation before and after, side by side, as plain text."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator
from itertools import zip_longest

from .alignment import DROPPED, KEPT, MADE, MOVED_AWAY, MOVED_HERE, Pair, align
from .cells import Cell, make_cell
from .conversations import Treated
from .reports import summarize

MARKS = {KEPT: " ", DROPPED: "-", MADE: "+", MOVED_AWAY: "<", MOVED_HERE: ">"}
LEGEND = "- dropped   + made   < moved from here   > moved to here"
LINES_OF_TEXT = 3
MINIMUM_WIDTH = 60


def draw(name: str, treated: Treated, width: int) -> Iterator[str]:
    """The lines of the view, without their ends.

    Args:
        name: what the conversation is called.
        treated: the conversation, before and after.
        width: columns to fill; at least 60 are taken.
    """
    before, after = treated.before, treated.after
    counts = f"{len(before)} stored entries -> {len(after)} messages to send"
    yield f"{name}: {counts}"
    yield from textwrap.wrap(summarize(treated.records), max(width, MINIMUM_WIDTH))
    yield ""
    number = max(len(str(len(before))), 3)
    column = (max(width, MINIMUM_WIDTH) - number - 7) // 2
    yield f"  {'#':>{number}}  {'BEFORE':<{column}} | AFTER"
    yield "-" * (number + 7 + 2 * column)
    for pair in align(before, after, treated.records):
        yield from _draw_pair(pair, number, column)
    if treated.records:
        yield ""
        yield LEGEND


def _draw_pair(pair: Pair, number: int, column: int) -> Iterator[str]:
    left = [] if pair.fate in (MADE, MOVED_HERE) else _cell_lines(make_cell(pair.before), column)
    right = [] if pair.after is None else _cell_lines(make_cell(pair.after), column)
    mark = MARKS[pair.fate]
    label = "" if pair.source is None else str(pair.source)
    for one, other in zip_longest(left, right, fillvalue=""):
        yield f"{mark} {label:>{number}}  {_pad(one, column)} | {other}".rstrip()
        label = ""
    for record in pair.records:
        indent = f"{mark} {'':>{number}}  "
        yield from textwrap.wrap(
            f"* {printable(record.sentence)}",
            number + 2 * column + 7,
            initial_indent=indent,
            subsequent_indent=indent + "  ",
        )


def _cell_lines(cell: Cell, width: int) -> list[str]:
    lines = [_cut(printable(cell.title), width)]
    text = printable(" ".join(cell.text.split()))
    if text:
        lines += _wrap(text, width - 2)
    lines += [_cut("  " + printable(call), width) for call in cell.calls]
    return lines


def printable(text: str) -> str:
    r"""Text in which nothing can steer a terminal: what is not printable becomes an escape.

    >>> printable("red\x1b[31m")
    'red\\x1b[31m'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _wrap(text: str, width: int) -> list[str]:
    wide = textwrap.wrap(text[: (LINES_OF_TEXT + 1) * width], width)
    lines = wide[:LINES_OF_TEXT]
    if len(wide) > LINES_OF_TEXT or len(text) > (LINES_OF_TEXT + 1) * width:
        lines[-1] = lines[-1][: width - 3] + "..."
    return ["  " + _cut(line, width) for line in lines]


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _cut(text: str, width: int) -> str:
    if text.isascii() and len(text) <= width:
        return text
    used = 0
    for index, character in enumerate(text):
        used += _columns(character)
        if used > width - 3 and sum(map(_columns, text[index + 1 : index + 4])) + used > width:
            return text[:index] + "..."
    return text


def _pad(text: str, width: int) -> str:
    return text + " " * (width - sum(map(_columns, text)))
