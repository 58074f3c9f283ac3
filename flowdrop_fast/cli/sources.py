"""Inputs: opened, decompressed, and cut into tasks of whole lines.

A regular file that is not compressed is cut by byte ranges, which whoever does the task reads
for himself; everything else is read here, in order, and travels with its tasks.
"""

from __future__ import annotations

import importlib
import io
import os
import select
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

from .errors import RunError
from .layout import is_document
from .work import BLOCK_BYTES, Task

STANDARD_INPUT = "-"

JSON = "json"
JSON_LINES = "jsonl"

# How much of a file one task covers. A task's notes are held in memory, its output is not.
RANGE_BYTES = 4 << 20

# How long a block waits for more of a slow stream.
PATIENCE_SECONDS = 0.05


def display_name(path: str) -> str:
    """How an input is called in messages."""
    return "<stdin>" if path == STANDARD_INPUT else path


def stored_size(paths: Sequence[str]) -> int | None:
    """How many bytes the inputs take as they are stored; None if that is not known."""
    total = 0
    for path in paths:
        try:
            status = os.stat(path)
        except OSError:
            return None  # to be told when its turn comes
        if path == STANDARD_INPUT or not stat.S_ISREG(status.st_mode):
            return None
        total += status.st_size
    return total


def cut(paths: Sequence[str], layout: str | None) -> Iterator[Task]:
    """Cut inputs into tasks, each opened when its turn comes.

    Args:
        paths: where they are; `-` is standard input.
        layout: `json` or `jsonl`; None to look.

    Raises:
        RunError: if one cannot be read.
    """
    index = 0
    for number, path in enumerate(paths):
        with closing(Source(path)) as source:
            for task in source.tasks(index, layout, number > 0, len(paths) > 1):
                yield task
                index = task.index + 1


class Source:
    """One input, open.

    Attributes:
        path: where it is.
        name: what it is called in messages.
        head: how its text begins.
        whole: whether the head is all of it.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = display_name(path)
        try:
            file: Any = getattr(sys.stdin, "buffer", None)
            if path != STANDARD_INPUT:
                file = open(path, "rb")  # noqa: SIM115
            elif file is None:
                raise RunError(f"{self.name}: cannot be read: it is closed")
            status = os.fstat(file.fileno())
            magic = file.peek(8)
        except OSError as error:
            raise self._unreadable(error) from None
        self._file = file
        self._size = status.st_size if stat.S_ISREG(status.st_mode) else None
        self._reader = self._decompressed(magic)
        self._ended = False
        self.by_ranges = self._size is not None and self._reader is None and path != STANDARD_INPUT
        self.head, self.whole = self._read_head()

    def close(self) -> None:
        """Read no more."""
        if self.path != STANDARD_INPUT:
            self._file.close()

    def tasks(self, index: int, layout: str | None, joins: bool, several: bool) -> Iterator[Task]:
        """Cut it into tasks.

        Args:
            index: that of the first one.
            layout: `json` or `jsonl`; None to look.
            joins: whether another input stands before it.
            several: whether another input stands before or behind it.
        """
        document = layout == JSON or (layout is None and is_document(self.head, self.whole))
        if self.by_ranges:
            size = self._size or 0
            step = size if document else RANGE_BYTES
            for start in range(0, size, step or 1):
                end = min(start + step, size)
                yield Task(
                    index=index,
                    name=self.name,
                    start=start,
                    end=end,
                    weight=end - start,
                    opens=start == 0,
                    joins=joins,
                    several=several,
                    document=document,
                    file=self.path,
                )
                index += 1
            return
        passed = start = 0
        for data in [self._read_rest()] if document else self._read_lines():
            position = self._file.tell() if self._size is not None else start + len(data)
            yield Task(
                index=index,
                name=self.name,
                start=start,
                end=start + len(data),
                weight=position - passed,
                opens=start == 0,
                joins=joins,
                several=several,
                document=document,
                data=data,
            )
            index += 1
            start += len(data)
            passed = position

    def _read_head(self) -> tuple[bytes, bool]:
        head: list[bytes] = []
        size = 0
        while size < BLOCK_BYTES:
            data = self._read()
            if not data:
                return b"".join(head), True
            head.append(data)
            size += len(data)
            if self._ended or (b"\n" in data and not self._is_file()):
                break
        return b"".join(head), self._ended or (size == self._size and self._reader is None)

    def _read_lines(self) -> Iterator[bytes]:
        """Blocks of whole lines."""
        held: list[bytes] = []  # the beginning of a line that is not whole yet
        data = self.head
        self.head = b""
        while data:
            feed = data.rfind(b"\n") + 1
            if feed:
                held.append(data[:feed])
                yield b"".join(held)
                held = [data[feed:]] if feed < len(data) else []
            else:
                held.append(data)
            data = b"" if self.whole else self._read()
        if held:
            yield b"".join(held)

    def _read_rest(self) -> bytes:
        pieces = [self.head]
        while not self.whole and pieces[-1]:
            pieces.append(self._read())
        return b"".join(pieces)

    def _is_file(self) -> bool:
        return self._size is not None or self._reader is not None

    def _read(self) -> bytes:
        """A block of text; of a stream, as much as comes without a pause.

        Raises:
            RunError: if it cannot be read or decompressed.
        """
        try:
            if self._is_file():
                file = self._file if self._reader is None else self._reader
                return bytes(file.read(BLOCK_BYTES))
            pieces: list[bytes] = []
            size = 0
            while size < BLOCK_BYTES:
                data = self._file.read1(BLOCK_BYTES - size)
                if not data:
                    self._ended = True
                    break
                pieces.append(data)
                size += len(data)
                if (
                    os.name == "posix"
                    and not select.select([self._file], [], [], PATIENCE_SECONDS)[0]
                ):
                    break
            return b"".join(pieces)
        except EOFError:
            raise RunError(f"{self.name}: ends in the middle of its compressed data") from None
        except OSError as error:
            raise self._unreadable(error) from None
        except Exception as error:
            if self._reader is None:
                raise
            raise self._unreadable(error) from None  # each module has errors of its own

    def _unreadable(self, error: Exception) -> RunError:
        reason = getattr(error, "strerror", None) or error
        return RunError(f"{self.name}: cannot be read: {reason}")

    def _decompressed(self, magic: bytes) -> Any:
        if magic.startswith(b"\x1f\x8b"):
            return _module("gzip").GzipFile(fileobj=self._file)
        if magic.startswith(b"BZh"):
            return _module("bz2").BZ2File(self._file)
        if magic.startswith(b"\xfd7zXZ\0"):
            return _module("lzma").LZMAFile(self._file)
        if magic.startswith(b"\x28\xb5\x2f\xfd"):
            return self._zstd()
        return None

    def _zstd(self) -> Any:
        try:
            standard = _module("compression.zstd")  # Python 3.14 and later
            return io.BufferedReader(standard.ZstdFile(self._file))
        except ImportError:
            pass
        try:
            zstandard = _module("zstandard")
        except ImportError:
            raise RunError(
                f"{self.name}: compressed with zstd, which needs: pip install 'flowdrop-fast[zstd]'"
            ) from None
        stream = zstandard.ZstdDecompressor().stream_reader(self._file, read_across_frames=True)
        return io.BufferedReader(stream)


def _module(name: str) -> Any:
    """A module that few runs need."""
    return importlib.import_module(name)
