"""Runs a verb: reads its input, writes its output, and turns what went wrong into an exit code."""

from __future__ import annotations

import argparse
import io
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence

from .arguments import make_parser
from .codec import loads
from .conversations import Treated, treat
from .errors import BROKEN_PIPE, CLEAN, FAILED, FINDINGS, INTERRUPTED, RunError, UnreadableError
from .reports import summarize
from .sources import Piece, display_name, read_bytes, split_pieces
from .text_view import draw


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: the words behind the program's name; those of this process by default.

    Returns:
        The exit code: 0 if all is well, 1 for findings, 2 for wrong usage, input that cannot be
        read or output that cannot be written, 130 if interrupted, 141 if nobody reads on.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as standard error is from the start
    try:
        options = make_parser().parse_args(arguments)
        code = VERBS[options.verb](options)
        sys.stdout.flush()
    except SystemExit as stop:  # argparse: 0 for --help, 2 for wrong usage
        return stop.code if isinstance(stop.code, int) else FAILED
    except BrokenPipeError:
        # Nobody reads on: hand over to /dev/null what the interpreter would flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except RunError as error:
        tell(f"flowdrop-fast: {error}")
        return FAILED
    except OSError as error:
        tell(f"flowdrop-fast: output cannot be written: {error.strerror or error}")
        return FAILED
    return code


def tell(line: str) -> None:
    """Write a line for people to standard error."""
    print(line, file=sys.stderr)


def check(options: argparse.Namespace) -> int:
    """Report the conversations that have something to report."""
    found = False
    for name, _, treated in read_conversations(options.file):
        if treated is not None and treated.records:
            found = True
            print(f"{name}: {summarize(treated.records)}")
            for record in treated.records:
                print(f"  {record.kind}: {record.sentence}")
    return FINDINGS if found else CLEAN


def normalize(options: argparse.Namespace) -> int:
    """Write every conversation normalized, once all of them could be read."""
    output: list[bytes] = []
    told: list[str] = []
    for name, piece, treated in read_conversations(options.file):
        if treated is None or not treated.changed:
            output.append(piece.raw())
            continue
        try:
            output.append(piece.rewritten(treated.value))
        except UnreadableError as error:
            raise RunError(f"{name}: {error.reason}") from None
        told.append(f"{name}: {summarize(treated.records)}")
    sys.stdout.buffer.writelines(output)
    sys.stdout.buffer.flush()
    for line in told:
        tell(line)
    return CLEAN


def explain(options: argparse.Namespace) -> int:
    """Show every conversation before and after."""
    width = shutil.get_terminal_size((100, 24)).columns
    first = True
    for name, _, treated in read_conversations(options.file):
        if treated is None:
            continue
        if not first:
            print()
        first = False
        for line in draw(name, treated, width):
            print(line)
    return CLEAN


def read_conversations(path: str) -> Iterator[tuple[str, Piece, Treated | None]]:
    """Every piece of a file: where it stands, its text, and what normalization made of it.

    Raises:
        RunError: naming file, line and what was wrong, at the first piece that cannot be read.
    """
    name = display_name(path)
    data = read_bytes(path)
    line = 1
    try:
        for piece in split_pieces(data):
            line = piece.line
            treated = treat(loads(piece.text)) if piece.text else None
            yield f"{name}:{line}", piece, treated
    except UnreadableError as error:
        raise RunError(f"{name}:{line + error.line}: {error.reason}") from None


VERBS: dict[str, Callable[[argparse.Namespace], int]] = {
    "check": check,
    "normalize": normalize,
    "explain": explain,
}
