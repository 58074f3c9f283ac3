"""Runs a verb, and turns what went wrong into a message and an exit code."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence

from .arguments import parse
from .errors import BROKEN_PIPE, FAILED, INTERRUPTED, RunError
from .run import Request, run


def run_command(arguments: Sequence[str] | None) -> int:
    """Run the command line, and return the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as standard error is from the start
    try:
        options = parse(None if arguments is None else list(arguments))
        code = VERBS[options.verb](options)
        if sys.stdout is not None:
            sys.stdout.flush()
    except SystemExit as stop:  # argparse: 0 for --help, 2 for wrong usage
        return stop.code if isinstance(stop.code, int) else FAILED
    except BrokenPipeError:
        # Nobody reads on: hand over to /dev/null what the interpreter would flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        print("flowdrop-fast: interrupted", file=sys.stderr)
        return INTERRUPTED
    except RunError as error:
        print(f"flowdrop-fast: {error}", file=sys.stderr)
        return FAILED
    except OSError as error:
        print(f"flowdrop-fast: {error.strerror or error}", file=sys.stderr)
        return FAILED
    return code


def check_or_normalize(options: argparse.Namespace) -> int:
    """Run `check` or `normalize`."""
    checking = options.verb == "check"
    return run(
        Request(
            checking=checking,
            paths=options.files,
            output="-" if checking else options.output,
            path=options.messages_path,
            options=options.normalization,
            strict=checking and options.strict,
            layout=None if options.format == "auto" else options.format,
            errors=options.errors,
            failing=options.failing,
            report=options.report,
            force=options.force,
            resume=not checking and options.resume,
            jobs=options.jobs,
            quiet=options.quiet,
            progress=options.progress,
        )
    )


def show(options: argparse.Namespace) -> int:
    """Run `explain`."""
    from .explain import explain  # noqa: PLC0415  (the others start faster without)

    return explain(options)


VERBS: dict[str, Callable[[argparse.Namespace], int]] = {
    "check": check_or_normalize,
    "normalize": check_or_normalize,
    "explain": show,
}
