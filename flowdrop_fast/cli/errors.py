"""What can go wrong in ways that a user can mend, and the exit codes. Nothing here prints."""

from __future__ import annotations

CLEAN = 0
FINDINGS = 1
FAILED = 2
INTERRUPTED = 130
BROKEN_PIPE = 141


class UnreadableError(ValueError):
    """A text that holds no conversation.

    Attributes:
        reason: what was wrong, in a few words.
        line: the line of the text it was found on, from 0.
    """

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


class RunError(Exception):
    """A run that cannot go on; its text is what the user is told."""
