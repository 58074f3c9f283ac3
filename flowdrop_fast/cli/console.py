"""What people see on standard error: progress, notes, the summary at the end.

rich draws the bar and the table where it is installed and standard error is a terminal; without
it both are plain text.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from typing import Any

from .reports import summary_rows
from .work import Totals

REFRESH_SECONDS = 0.1


def has_colour(stream: Any) -> bool:
    """Whether to colour what is written to a stream: a terminal, unless NO_COLOR says no."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return is_terminal(stream)


def is_terminal(stream: Any) -> bool:
    """Whether a stream is a terminal."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def amount(size: float) -> str:
    """A number of bytes as people read it.

    >>> amount(999), amount(123_456), amount(2_500_000_000)
    ('999 B', '123.5 kB', '2.5 GB')
    """
    if size < 1000:
        return f"{size:.0f} B"
    for unit in ("kB", "MB", "GB"):
        size /= 1000
        if size < 1000:
            return f"{size:.1f} {unit}"
    return f"{size / 1000:.1f} TB"


def duration(seconds: float) -> str:
    """A time as people read it.

    >>> duration(7), duration(3723)
    ('0:07', '1:02:03')
    """
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


class Console:
    """Standard error, shared by the bar and by whatever else is told.

    Args:
        quiet: whether to tell nothing but what went wrong.
        progress: `auto` for a bar on a terminal, `always` or `never`.
        expected: how many bytes there are to read, if that is known.
    """

    def __init__(self, quiet: bool, progress: str, expected: int | None) -> None:
        self.quiet = quiet
        terminal = is_terminal(sys.stderr)
        self._rich = _import_rich() if terminal else None
        self._bar: _PlainBar | _RichBar | None = None
        if progress == "always" or (progress == "auto" and terminal and not quiet):
            kind = _PlainBar if self._rich is None else _RichBar
            self._bar = kind(expected)

    def advance(self, size: int, conversations: int) -> None:
        """Show that so many bytes more were read, and so many conversations."""
        if self._bar is not None:
            self._bar.advance(size, conversations)

    def tick(self) -> None:
        """Show that time goes by."""
        if self._bar is not None:
            self._bar.advance(0, 0)

    def tell(self, line: str) -> None:
        """Write a line above the bar."""
        if self._bar is not None:
            self._bar.clear()
        print(line, file=sys.stderr)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def summarize(self, totals: Totals, set_aside: bool) -> None:
        """Write the summary, unless there was but one conversation to tell of."""
        if self.quiet or totals.conversations + totals.unreadable < 2:
            return
        rows = summary_rows(totals, set_aside)
        if self._rich is None:
            width = max(len(name) for name, _ in rows)
            digits = max(len(count) for _, count in rows)
            for name, count in rows:
                print(f"{name:<{width}}  {count:>{digits}}", file=sys.stderr)
            return
        from_rich = importlib.import_module
        table = from_rich("rich.table").Table(box=None, show_header=False, pad_edge=False)
        table.add_column()
        table.add_column(justify="right", style="bold")
        for name, count in rows:
            table.add_row(name, count, style="dim" if name.startswith(" ") else "")
        self._rich.Console(stderr=True).print(table)


def _import_rich() -> Any:
    try:
        return importlib.import_module("rich.console")
    except ImportError:
        return None


class _PlainBar:
    """One line that is written over and over."""

    def __init__(self, expected: int | None) -> None:
        self._expected = expected
        self._size = 0
        self._conversations = 0
        self._start = time.monotonic()
        self._shown = 0.0
        self._width = 0

    def advance(self, size: int, conversations: int) -> None:
        self._size += size
        self._conversations += conversations
        now = time.monotonic()
        if now - self._shown < REFRESH_SECONDS:
            return
        self._shown = now
        line = progress_line(self._size, self._expected, self._conversations, now - self._start)
        print("\r" + line.ljust(self._width), end="", file=sys.stderr, flush=True)
        self._width = len(line)

    def clear(self) -> None:
        if self._width:
            print("\r" + " " * self._width + "\r", end="", file=sys.stderr)
            self._width = 0
            self._shown = 0.0

    close = clear


def progress_line(size: int, expected: int | None, conversations: int, seconds: float) -> str:
    """How far a run is, on one line.

    >>> progress_line(250_000_000, 1_000_000_000, 20_000, 2.0)
    ' 25%  250.0 MB of 1.0 GB  20,000 conversations  125.0 MB/s  0:06 left'
    """
    rate = size / seconds if seconds > 0 else 0.0
    parts = [amount(size)]
    if expected:
        parts = [f"{min(size / expected, 1):>4.0%}", f"{amount(size)} of {amount(expected)}"]
    parts += [f"{conversations:,} conversations", f"{amount(rate)}/s"]
    if expected and rate:
        parts.append(f"{duration(max(expected - size, 0) / rate)} left")
    return "  ".join(parts)


class _RichBar:
    """A bar that rich draws; only when told to, so that no thread is at work."""

    def __init__(self, expected: int | None) -> None:
        progress: Any = importlib.import_module("rich.progress")
        console = importlib.import_module("rich.console").Console(stderr=True)
        self._progress = progress.Progress(
            progress.BarColumn(),
            progress.TaskProgressColumn(),
            progress.DownloadColumn(),
            progress.TextColumn("{task.fields[conversations]:,} conversations"),
            progress.TransferSpeedColumn(),
            progress.TimeRemainingColumn(),
            console=console,
            auto_refresh=False,
            transient=True,
        )
        self._task = self._progress.add_task("", total=expected, conversations=0)
        self._conversations = 0
        self._shown = 0.0
        self._progress.start()

    def advance(self, size: int, conversations: int) -> None:
        self._conversations += conversations
        self._progress.update(self._task, advance=size, conversations=self._conversations)
        now = time.monotonic()
        if now - self._shown >= REFRESH_SECONDS:
            self._shown = now
            self._progress.refresh()

    def clear(self) -> None:
        pass  # rich redirects what is printed above its bar

    def close(self) -> None:
        self._progress.stop()
