"""What can be asked on the command line: the verbs and their options, and the help texts."""

from __future__ import annotations

import argparse
import platform

from flowdrop_fast import BACKEND, __version__

DESCRIPTION = """\
Turn a stored LLM conversation into one that a provider accepts: flat rows, system messages
first, every tool call answered once, and a record of all that had to be dropped, made or moved."""

EPILOG = """\
A FILE is a JSON list of messages, an object with a list under "messages", or JSON Lines of
either; - is standard input.

exit codes: 0 all is well; 1 check found something to report; 2 wrong usage, or input that
cannot be read or output that cannot be written."""

VERBS = {
    "check": "report what normalization would drop, make or move, and write nothing else",
    "normalize": "write the conversations as a provider accepts them",
    "explain": "show conversations before and after, and say in plain words what was done",
}


def make_parser() -> argparse.ArgumentParser:
    """Make the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="flowdrop-fast",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=version())
    verbs = parser.add_subparsers(title="verbs", dest="verb", metavar="VERB", required=True)
    for verb, summary in VERBS.items():
        added = verbs.add_parser(verb, help=summary, description=f"{verb}: {summary}.")
        added.add_argument(
            "file", metavar="FILE", nargs="?", default="-", help="JSON or JSON Lines; - is stdin"
        )
    return parser


def version() -> str:
    """The versions that a bug report needs, on one line."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    system = f"{platform.system()} {platform.machine()}"
    return f"flowdrop-fast {__version__} ({BACKEND} backend, {python}, {system})"
