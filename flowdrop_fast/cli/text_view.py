"""Draws one conversation before and after, side by side, as plain text or in colours."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator
from itertools import zip_longest

from .alignment import DROPPED, KEPT, MADE, MOVED_AWAY, MOVED_HERE, Pair, align
from .cells import Cell, make_cell
from .conversations import Options, Treated
from .reports import counted, counts_of, printable, summarize

MARKS = {KEPT: " ", DROPPED: "-", MADE: "+", MOVED_AWAY: "<", MOVED_HERE: ">"}
LEGEND = "- dropped   + made   < moved from here   > moved to here"
LINES_OF_TEXT = 3
MINIMUM_WIDTH = 60

# Select Graphic Rendition codes (ECMA-48).
BOLD = "1"
FAINT = "2"
COLOURS = {KEPT: "", DROPPED: "9;31", MADE: "32", MOVED_AWAY: "33", MOVED_HERE: "36"}


def draw(name: str, treated: Treated, options: Options, width: int, colour: bool) -> Iterator[str]:
    """The lines of the view, without their ends.

    Args:
        name: what the conversation is called.
        treated: the conversation, before and after.
        options: those that it was normalized with.
        width: columns to fill; at least 60 are taken.
        colour: whether to colour what changed, and strike out what was dropped.
    """
    before, after = treated.before, treated.after
    if not treated.changed:
        yield f"{name}: {counted(len(before), 'message', 'messages')}, nothing to change"
        return
    drawing = _Drawing(max(width, MINIMUM_WIDTH), len(before), colour)
    counts = " -> ".join(counts_of(before, after))
    yield drawing.paint(f"{name}: {counts}", BOLD)
    yield from textwrap.wrap(summarize(treated.records), drawing.width)
    yield ""
    yield from drawing.head()
    for pair in align(treated, options):
        yield from drawing.pair(pair)
    if treated.records:
        yield ""
        yield drawing.paint(LEGEND, FAINT)


class _Drawing:
    def __init__(self, width: int, entries: int, colour: bool) -> None:
        self.width = width
        self.colour = colour
        self.number = max(len(str(entries)), 3)
        self.column = (width - self.number - 7) // 2

    def paint(self, text: str, codes: str) -> str:
        if not self.colour or not codes or not text:
            return text
        return f"\x1b[{codes}m{text}\x1b[0m"

    def head(self) -> Iterator[str]:
        yield self.paint(f"  {'#':>{self.number}}  {'BEFORE':<{self.column}} | AFTER", BOLD)
        yield self.paint("-" * (self.number + 7 + 2 * self.column), FAINT)

    def pair(self, pair: Pair) -> Iterator[str]:
        left = [] if pair.fate in (MADE, MOVED_HERE) else self.cell(make_cell(pair.before))
        right = [] if pair.after is None else self.cell(make_cell(pair.after))
        codes = COLOURS[pair.fate]
        mark = self.paint(MARKS[pair.fate], codes.removeprefix("9;")).rstrip()
        mark = mark or " "
        label = "" if pair.source is None else str(pair.source)
        for one, other in zip_longest(left, right, fillvalue=""):
            blanks = " " * (self.column - _columns(one))
            start = f"{mark} {label:>{self.number}}  {self._painted(one, codes)}{blanks} |"
            yield f"{start} {self._painted(other, codes)}".rstrip()
            label = ""
        indent = f"{'':>{self.number + 4}}"
        for record in pair.records:
            lines = textwrap.wrap(
                f"* {printable(record.sentence)}",
                self.width,
                initial_indent=indent,
                subsequent_indent=indent + "  ",
            )
            for line in lines:
                yield f"{mark}{self.paint(line[1:], codes.removeprefix('9;'))}"

    def cell(self, cell: Cell) -> list[str]:
        lines = [_cut(printable(cell.title), self.column)]
        text = printable(" ".join(cell.text.split()))
        if text:
            lines += _wrap(text, self.column - 2)
        return lines + [_cut("  " + printable(call), self.column) for call in cell.calls]

    def _painted(self, text: str, codes: str) -> str:
        stripped = text.lstrip()
        return text[: len(text) - len(stripped)] + self.paint(stripped, codes)


def _wrap(text: str, width: int) -> list[str]:
    wide = textwrap.wrap(text[: (LINES_OF_TEXT + 1) * width], width)
    lines = wide[:LINES_OF_TEXT]
    if len(wide) > LINES_OF_TEXT or len(text) > (LINES_OF_TEXT + 1) * width:
        lines[-1] = lines[-1][: width - 3] + "..."
    return ["  " + _cut(line, width) for line in lines]


def _columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def _cut(text: str, width: int) -> str:
    """A text that takes no more columns than there are."""
    if len(text) * 2 <= width or _columns(text) <= width:
        return text
    end = 0
    used = _columns(text[0])
    while used <= width - 3:
        end += 1
        used += _columns(text[end])
    return text[:end] + "..."
