"""The `flowdrop-fast` command: check, normalize and explain stored conversations.

`arguments` says what can be asked, `commands` does it; `codec` reads and writes JSON text,
`conversations` finds the messages in it and normalizes them, `sources` tells JSON from JSON
Lines. `alignment` pairs what was with what became of it, `text_view` draws that. No rule of
normalization lives here.
"""

from .commands import main

__all__ = ["main"]
