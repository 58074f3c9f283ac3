"""What can be asked on the command line: the verbs and their options, and the help texts."""

from __future__ import annotations

import argparse
import os
import platform

from flowdrop_fast import BACKEND, __version__, normalize_conversation

from .conversations import Options, Path, parse_pointer
from .sources import JSON, JSON_LINES

DESCRIPTION = """\
Turn stored LLM conversations into ones that a provider accepts: flat rows, system messages
first, every tool call answered once, and a record of all that had to be dropped, made or moved."""

EPILOG = """\
A FILE is a JSON list of messages, an object with a list under "messages", or JSON Lines of
either, also compressed (gzip, bzip2, xz, zstd); - is standard input. Data goes to standard
output, everything else to standard error.

exit codes: 0 all is well; 1 check found something to report, or lines were set aside; 2 wrong
usage, or input that cannot be read or output that cannot be written; 130 interrupted; 141 nobody
reads the output any more."""

SUMMARIES = {
    "check": "report what normalization would drop, make or move, and write nothing else",
    "normalize": "write the conversations as a provider accepts them",
    "explain": "show conversations before and after, and say in plain words what was done",
}


def parse(words: list[str] | None) -> argparse.Namespace:
    """Read the command line; what is wrong with it ends the program, as argparse does."""
    parser = argparse.ArgumentParser(
        prog="flowdrop-fast",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=version())
    verbs = parser.add_subparsers(title="verbs", dest="verb", metavar="VERB", required=True)
    parsers = {}
    for verb, summary in SUMMARIES.items():
        parsers[verb] = verbs.add_parser(
            verb,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            allow_abbrev=False,
        )
    for added in parsers.values():
        _add_input(added)
        _add_options(added)
    _add_normalize(parsers["normalize"])
    for verb in ("check", "normalize"):
        _add_run(parsers[verb])
    parsers["check"].add_argument(
        "--strict",
        action="store_true",
        help="report messages that are not flat rows of text yet, too: is this sendable as it is?",
    )
    _add_explain(parsers["explain"])
    options = parser.parse_args(words)
    options.normalization = _normalization_options(parsers[options.verb], options)
    _refuse_contradictions(parsers[options.verb], options)
    return options


def _add_input(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        default=["-"],
        help="JSON or JSON Lines, compressed or not; - is standard input, and the default",
    )
    parser.add_argument(
        "--messages-path",
        metavar="POINTER",
        type=_messages_path,
        help="where the messages are in each value, as a JSON pointer such as /data/messages; "
        "auto (the default) takes a list itself, and of an object the list at /messages or "
        "/body/messages",
    )
    parser.add_argument(
        "--format",
        choices=["auto", JSON, JSON_LINES],
        default="auto",
        help="one JSON value a file, or one a line; auto (the default) looks",
    )


def _add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("options of normalization, each off by default")
    group.add_argument(
        "--ids",
        choices=["strict", "rescue"],
        help="rescue: give calls of one id, or none, ids of their own rather than drop them",
    )
    group.add_argument(
        "--pending",
        choices=["interrupt", "keep"],
        help="keep: leave the calls of the last turn open",
    )
    group.add_argument("--interrupted", metavar="TEXT", help="the text of results that are made")
    group.add_argument(
        "--system",
        choices=["keep", "merge"],
        help="merge: make one system message of all",
    )
    group.add_argument(
        "--keep",
        metavar="KEY",
        action="append",
        help="a key that stays on its message; may be given several times",
    )
    group.add_argument(
        "--content",
        choices=["text", "parts"],
        help="parts: leave lists of content parts as they are",
    )


def _normalization_options(parser: argparse.ArgumentParser, options: argparse.Namespace) -> Options:
    names = ("ids", "pending", "interrupted", "system", "keep", "content")
    given = {name: getattr(options, name) for name in names}
    given = {name: value for name, value in given.items() if value is not None}
    try:
        normalize_conversation([], **given)
    except ValueError as error:
        parser.error(str(error))
    return given


def _add_normalize(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        default="-",
        help="where to write; a file appears whole or not at all; - is standard output, and the "
        "default",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="take up an interrupted run of the same command from its finished parts",
    )


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--report", metavar="FILE", help="write every record to FILE, as JSON Lines"
    )
    parser.add_argument(
        "--errors",
        metavar="FILE",
        help="set lines that cannot be read aside in FILE, as JSON Lines: where they stood, why, "
        "and what they held",
    )
    parser.add_argument(
        "--on-error",
        choices=["fail", "collect"],
        help="stop at a line that cannot be read (the default of normalize), or go on (the "
        "default with --errors, and of check)",
    )
    parser.add_argument("--force", action="store_true", help="overwrite files that exist")
    parser.add_argument(
        "-j",
        "--jobs",
        metavar="N",
        type=_jobs,
        default=_cpus(),
        help="how many processes may work (default: one for each CPU, here %(default)s)",
    )
    parser.add_argument(
        "--progress",
        choices=["auto", "always", "never"],
        default="auto",
        help="whether to show a progress bar (auto: on a terminal)",
    )
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="tell nothing but what went wrong"
    )


def _add_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--line",
        metavar="N",
        type=_line,
        action="append",
        help="show the conversation on this line only; may be given several times",
    )
    parser.add_argument("--html", metavar="PAGE", help="write a page to PAGE instead")
    parser.add_argument("--force", action="store_true", help="overwrite PAGE if it exists")
    parser.add_argument(
        "--color",
        choices=["auto", "always", "never"],
        default="auto",
        help="whether to use colours (auto: on a terminal, unless NO_COLOR is set)",
    )


def _refuse_contradictions(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if options.files.count("-") > 1:
        parser.error("standard input can be read once only")
    if options.verb == "explain":
        return
    options.failing = options.on_error == "fail" or (
        options.on_error is None and options.verb == "normalize" and options.errors is None
    )
    if options.on_error == "fail" and options.errors is not None:
        parser.error("--errors sets lines aside, --on-error fail stops at them: choose one")
    if options.verb == "check":
        if options.strict and options.normalization:
            parser.error("--strict asks about what is stored, which no option changes")
        outputs = [options.report, options.errors]
    else:
        if options.on_error == "collect" and options.errors is None:
            parser.error("--on-error collect needs --errors FILE, so that nothing is lost")
        if options.resume and options.output == "-":
            parser.error("--resume needs -o OUT")
        outputs = [options.output, options.report, options.errors]
    places = [name if name == "-" else os.path.realpath(name) for name in outputs if name]
    if len(set(places)) < len(places):
        parser.error("two outputs cannot go to the same place")


def _messages_path(text: str) -> Path | None:
    if text == "auto":
        return None
    try:
        return parse_pointer(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _jobs(text: str) -> int:
    return _positive(text, "processes")


def _line(text: str) -> int:
    return _positive(text, "lines")


def _positive(text: str, what: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of {what} from 1 on")
    return int(text)


def _cpus() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not everywhere
        return os.cpu_count() or 1


def version() -> str:
    """The versions that a bug report needs, on one line."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    system = f"{platform.system()} {platform.machine()}"
    return f"flowdrop-fast {__version__} ({BACKEND} backend, {python}, {system})"
