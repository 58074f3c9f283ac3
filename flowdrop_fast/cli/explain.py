"""`explain`: conversations before and after, as text or as a page."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator

from .codec import load
from .console import has_colour
from .conversations import Treated, treat
from .errors import CLEAN, RunError, UnreadableError
from .html_view import page_end, page_start, section
from .reports import printable
from .sinks import open_sink
from .sources import cut
from .text_view import draw
from .work import blocks_of


def explain(options: argparse.Namespace) -> int:
    """Show every conversation that is asked for.

    Raises:
        RunError: if one cannot be read, or the page cannot be written.
    """
    conversations = _conversations(options)
    if options.html is not None:
        _write_page(options, conversations)
        return CLEAN
    colour = options.color == "always" or (options.color == "auto" and has_colour(sys.stdout))
    width = shutil.get_terminal_size((100, 24)).columns
    shown = False
    for name, treated in conversations:
        if shown:
            print()
        shown = True
        for line in draw(printable(name), treated, options.normalization, width, colour):
            print(line)
    return CLEAN


def _write_page(options: argparse.Namespace, conversations: Iterator[tuple[str, Treated]]) -> None:
    sink = open_sink(options.html, options.force, True)
    try:
        sink.write(page_start(options.files).encode())
        for name, treated in conversations:
            sink.write(section(name, treated, options.normalization).encode())
        sink.write(page_end().encode())
        sink.commit()
    except BaseException:
        sink.discard()
        raise


def _conversations(options: argparse.Namespace) -> Iterator[tuple[str, Treated]]:
    """Every conversation that is asked for, with the name of its file and its line."""
    wanted = set(options.line or ())
    found: set[int] = set()
    line = 1
    layout = None if options.format == "auto" else options.format
    for task in cut(options.files, layout):
        if task.opens:
            line = 1
        for _, block in blocks_of(task):
            pieces = [block] if task.document else block.removesuffix(b"\n").split(b"\n")
            for piece in pieces:
                text = piece.removeprefix(b"\xef\xbb\xbf") if line == 1 else piece
                blank = not text.strip()
                if not blank and (not wanted or line in wanted):
                    found.add(line)
                    yield f"{task.name}:{line}", _treat(task.name, line, text, options)
                line += piece.count(b"\n") + 1 if task.document else 1
    missing = wanted - found
    if missing:
        raise RunError(f"no conversation on line {min(missing)}")


def _treat(name: str, line: int, text: bytes, options: argparse.Namespace) -> Treated:
    try:
        return treat(load(text)[0], options.messages_path, options.normalization)
    except UnreadableError as error:
        raise RunError(f"{name}:{line + error.line}: {error.reason}") from None
