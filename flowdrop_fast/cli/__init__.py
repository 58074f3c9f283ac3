"""The `flowdrop-fast` command: check, normalize and explain stored conversations.

`arguments` says what can be asked, `commands` does it; `codec` reads and writes JSON text,
`conversations` finds the messages in it and normalizes them, `sources` tells JSON from JSON
Lines. `alignment` pairs what was with what became of it, `text_view` draws that. No rule of
normalization lives here.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: the words behind the program's name; those of this process by default.

    Returns:
        The exit code: 0 if all is well, 1 for findings or lines set aside, 2 for wrong usage,
        input that cannot be read or output that cannot be written, 130 if interrupted, 141 if
        nobody reads on.
    """
    from .commands import run_command  # noqa: PLC0415  (workers need none of it)

    return run_command(arguments)


__all__ = ["main"]
