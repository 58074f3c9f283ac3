"""Where bytes go: files that appear whole or not at all, and streams that can't be taken back."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from contextlib import suppress
from typing import IO, Any, Protocol

from .errors import RunError

STANDARD_OUTPUT = "-"
UNFINISHED = ".unfinished"

# How much is held back from a stream while a line may still stop the run.
HELD_BACK_BYTES = 16 << 20


# A file, and a byte in it.
Place = tuple[str, int]


class Sink(Protocol):
    """What one output of a run is written to, from its beginning to its end."""

    def write(self, data: bytes) -> None:
        """Write at the end."""

    def commit(self) -> None:
        """Have what was written stand where it was asked for."""

    def discard(self) -> None:
        """Leave nothing behind."""


def open_sink(path: str, force: bool, patient: bool) -> Sink:
    """Open what a path names: `-` is standard output.

    Args:
        path: where to write.
        force: whether a file that stands there may be overwritten.
        patient: whether a stream is to hold back what it can until it is committed.

    Raises:
        RunError: if it cannot be written.
    """
    if path in (STANDARD_OUTPUT, "/dev/stdout"):
        buffer: Any = getattr(sys.stdout, "buffer", None)
        if buffer is None:
            raise RunError("standard output: cannot be written: it is closed")
        # Unbuffered, so that what fails to be written fails here and not at exit.
        sys.stdout.flush()
        return StreamSink(getattr(buffer, "raw", buffer), "standard output", patient)
    if is_special(path):
        try:
            return StreamSink(open(path, "wb", buffering=0), path, patient)
        except OSError as error:
            raise unwritable(path, error) from None
    sink = FileSink(path, force)
    sink.open(0)
    return sink


def is_special(path: str) -> bool:
    """Whether something stands there that is no regular file: a pipe, a terminal, a device."""
    if os.path.dirname(path) in ("/dev", "/dev/fd"):
        return True  # what /dev/stderr leads to may be a file, and is not to be replaced by one
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def unwritable(path: str, error: OSError) -> RunError:
    """What to tell when something cannot be written."""
    return RunError(f"{path}: cannot be written: {error.strerror or error}")


def write_all(file: IO[bytes], data: bytes) -> None:
    """Write to an unbuffered file until nothing is left."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


class PlaceSink:
    """A place in a file that others write to as well.

    Raises:
        RunError: if it cannot be opened, and `write` if it cannot be written.
    """

    def __init__(self, place: Place) -> None:
        self._path, offset = place
        try:
            self._file = open(self._path, "r+b", buffering=0)  # noqa: SIM115
            self._file.seek(offset)
        except OSError as error:
            raise unwritable(self._path, error) from None

    def close(self) -> None:
        """Write no more."""
        self._file.close()

    def write(self, pieces: list[bytes]) -> None:
        """Write behind what was written before."""
        try:
            for piece in pieces:
                write_all(self._file, piece)
        except OSError as error:
            raise unwritable(self._path, error) from None


class StreamSink:
    """Standard output, a pipe or a device.

    Args:
        file: where to write, unbuffered.
        name: what it is called in messages.
        patient: whether to hold back what is written, as far as that goes.
    """

    def __init__(self, file: IO[bytes], name: str, patient: bool) -> None:
        self._file = file
        self._name = name
        self._patient = patient
        self._held: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Write, at once or later."""
        self._held.append(data)
        self._size += len(data)
        self._patient = self._patient and self._size <= HELD_BACK_BYTES
        if not self._patient:
            self.commit()

    def commit(self) -> None:
        """Write what was held back."""
        held, self._held = self._held, []
        try:
            for data in held:
                write_all(self._file, data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise unwritable(self._name, error) from None

    def discard(self) -> None:
        """Forget what was held back."""
        self._held = []


class FileSink:
    """A file that is written beside its place, and moved there when it is whole.

    Args:
        path: where it is to stand; a symbolic link is followed.
        force: whether a file that stands there may be overwritten.
        temporary: where to write it; beside its place by default.

    Raises:
        RunError: if a file stands there and may not be overwritten.
    """

    def __init__(self, path: str, force: bool, temporary: str | None = None) -> None:
        self.path = os.path.realpath(path)
        self.temporary = temporary or self.path + UNFINISHED
        self._name = path
        self._force = force
        self._file: IO[bytes] | None = None
        self.size = 0
        if os.path.isdir(self.path):
            raise RunError(f"{path}: cannot be written: it is a directory")
        if not force and os.path.exists(self.path):
            raise self._refusal()

    def open(self, size: int) -> None:
        """Begin to write behind the first `size` bytes, which were written before."""
        try:
            self._file = open(self.temporary, "r+b" if size else "wb", buffering=0)  # noqa: SIM115
            self._file.truncate(size)
            self._file.seek(size)
        except OSError as error:
            raise unwritable(self._name, error) from None
        self.size = size

    def write(self, data: bytes) -> None:
        """Write at the end."""
        assert self._file is not None  # noqa: S101
        try:
            write_all(self._file, data)
        except OSError as error:
            raise unwritable(self._name, error) from None
        self.size += len(data)

    def end(self) -> Place:
        """The place at the end, for others to write there."""
        return self.temporary, self.size

    def skip(self, size: int) -> None:
        """Go on behind what others write at the end."""
        assert self._file is not None  # noqa: S101
        self.size += size
        self._file.seek(self.size)

    def sync(self) -> None:
        """Make sure that what was written is on the disk."""
        assert self._file is not None  # noqa: S101
        os.fsync(self._file.fileno())

    def commit(self) -> None:
        """Move the file to its place.

        Raises:
            RunError: if another stands there by now and may not be overwritten.
        """
        assert self._file is not None  # noqa: S101
        try:
            self.sync()
            self._file.close()
            if self._force:
                if os.path.exists(self.path):
                    shutil.copymode(self.path, self.temporary)
                os.replace(self.temporary, self.path)
                return
            try:
                os.link(self.temporary, self.path)
            except FileExistsError:
                raise self._refusal() from None
            except OSError:  # a file system without links
                os.rename(self.temporary, self.path)
            else:
                os.unlink(self.temporary)
        except OSError as error:
            raise unwritable(self._name, error) from None

    def close(self) -> None:
        """Write no more, and leave what was written to be gone on with."""
        assert self._file is not None  # noqa: S101
        self._file.close()

    def discard(self) -> None:
        """Delete what was written."""
        self.close()
        with suppress(OSError):
            os.unlink(self.temporary)

    def _refusal(self) -> RunError:
        return RunError(f"{self._name}: exists already; --force overwrites it")
