"""The work itself: a piece of input in, its normalized text and what there is to tell out.

Runs in this process or in a worker; everything here can be pickled. How the pieces are cut is
`sources`' business, who runs them `pool`'s, and where the results go `sinks`'.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import IO, Any

from flowdrop_fast import Explanation, Record, explain_conversation
from flowdrop_fast._json import dumps, read

from .codec import as_unreadable, dump_document, load
from .conversations import Options, Path, explain_strictly, find_messages
from .errors import RunError
from .layout import BYTE_ORDER_MARK, UTF_16_MARKS, indent_of
from .reports import printable, summarize
from .sinks import Place, PlaceSink

# As much as stays in the cache, and is allocated from memory already at hand.
BLOCK_BYTES = 256 << 10

# The line in its piece, from 0, and the text to put behind the line's number in the file.
Note = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds for a whole run.

    Attributes:
        rewriting: whether the normalized text is wanted.
        path: the keys that lead to the messages; None to look where they usually are.
        options: those of normalization.
        failing: whether a line that cannot be read stops the run.
        reporting: whether every record is wanted, for the report.
        detailed: whether listing a conversation lists its records too.
        strict: whether rows that are not flat yet are to be reported, too.
    """

    rewriting: bool = True
    path: Path | None = None
    options: Options = field(default_factory=dict)
    failing: bool = True
    reporting: bool = False
    detailed: bool = False
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """A piece of one input.

    Attributes:
        index: its place among the pieces of all inputs.
        name: what the input is called.
        start: the byte of the text that it starts at.
        end: the byte behind it.
        weight: how many bytes of the input, as it is stored, are read for it.
        opens: whether it is the first of its input.
        joins: whether another input stands before it in the output.
        several: whether it is one of several inputs, which leave as JSON Lines.
        document: whether it is one JSON value over several lines.
        listing: whether changed conversations are to be listed.
        file: where to read the lines that start between `start` and `end`; None if `data` is it.
        data: the text itself, whole lines.
        held: whether the worker keeps the output until it is told where to write it.
        place: where to write the output at once, for a held one whose place is known before.
    """

    index: int
    name: str
    start: int
    end: int
    weight: int
    opens: bool = False
    joins: bool = False
    several: bool = False
    document: bool = False
    listing: bool = False
    file: str | None = None
    data: bytes = b""
    held: bool = False
    place: Place | None = None


@dataclass(slots=True)
class Totals:
    """What was counted.

    Attributes:
        conversations: how many could be read.
        changed: how many of them were written anew, or would be.
        unreadable: how many lines could not be read.
        kinds: how many records there were of each kind.
    """

    conversations: int = 0
    changed: int = 0
    unreadable: int = 0
    kinds: dict[str, int] = field(default_factory=dict)

    def add(self, other: Totals) -> None:
        """Count what another has counted."""
        self.conversations += other.conversations
        self.changed += other.changed
        self.unreadable += other.unreadable
        for kind, count in other.kinds.items():
            self.kinds[kind] = self.kinds.get(kind, 0) + count


@dataclass(slots=True)
class Result:
    """What became of a task.

    Attributes:
        lines: how many lines it had.
        totals: what was counted in it.
        output: the normalized text, in pieces.
        size: how many bytes that is.
        ended: whether it ends with a line feed.
        end: where it ends in the file that it goes to, once that is known.
        listing: what to tell of changed conversations.
        report: every record, as the rest of a JSON object.
        errors: every line that cannot be read, as the rest of a JSON object.
        unread: the same lines, with the reason alone.
    """

    lines: int = 0
    totals: Totals = field(default_factory=Totals)
    output: list[bytes] = field(default_factory=list)
    size: int = 0
    ended: bool = False
    end: int = 0
    listing: list[Note] = field(default_factory=list)
    report: list[Note] = field(default_factory=list)
    errors: list[Note] = field(default_factory=list)
    unread: list[Note] = field(default_factory=list)

    def add(self, other: Result) -> None:
        """Append what became of the lines that follow."""
        for mine, theirs in (
            (self.listing, other.listing),
            (self.report, other.report),
            (self.errors, other.errors),
            (self.unread, other.unread),
        ):
            mine += [(line + self.lines, text) for line, text in theirs]
        self.lines += other.lines
        self.totals.add(other.totals)
        self.output += other.output
        if other.size:
            self.size += other.size
            self.ended = other.ended

    def write(self, piece: bytes) -> None:
        """Append to the output."""
        if piece:
            self.output.append(piece)
            self.size += len(piece)
            self.ended = piece.endswith(b"\n")


def perform(task: Task, settings: Settings) -> Result:
    """Do a task.

    Raises:
        RunError: if the input cannot be read, or the output not be written to its place.
    """
    total = Result()
    with nullcontext() if task.place is None else closing(PlaceSink(task.place)) as sink:
        for result in _results(task, settings):
            if sink is not None:
                sink.write(result.output)
                result.output = []
            total.add(result)
    return total


def _results(task: Task, settings: Settings) -> Iterator[Result]:
    """The results of a task's blocks, in order, up to the first line that stops the run."""
    first = task.opens
    for offset, block in blocks_of(task):
        mark = BYTE_ORDER_MARK if first and block.startswith(BYTE_ORDER_MARK) else b""
        if first and block.startswith(UTF_16_MARKS):
            raise RunError(f"{task.name}:1: not UTF-8, but UTF-16 by its first two bytes")
        first = False
        treat = treat_document if task.document else treat_lines
        result = treat(block[len(mark) :], task, settings, offset + len(mark))
        if mark and settings.rewriting and not task.joins and not (task.document and task.several):
            result.output.insert(0, mark)
            result.size += len(mark)
        yield result
        if settings.failing and result.unread:
            return


def blocks_of(task: Task) -> Iterator[tuple[int, bytes]]:
    """Whole lines of a task's input, a block at a time, and where they start.

    Raises:
        RunError: if it cannot be read.
    """
    if task.file is None:
        yield task.start, task.data
        return
    try:
        with open(task.file, "rb", buffering=0) as file:
            if task.document:
                yield 0, file.read()
            else:
                yield from read_range(file, task.start, task.end, BLOCK_BYTES)
    except OSError as error:
        raise RunError(f"{task.name}: cannot be read: {error.strerror or error}") from None


def read_range(file: IO[bytes], start: int, end: int, size: int) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that start in a range, in blocks of whole lines, and where they start.

    No more is read than the range and the rest of its last line, so that a line longer than many
    ranges is read once by the range that it starts in, and once in all by the others.
    """
    position = start
    if start:
        # The range's first line starts behind the first line feed from the byte before it on.
        position = start - 1
        file.seek(position)
        while True:
            data = file.read(min(size, end - position))
            if not data:
                return
            feed = data.find(b"\n")
            if feed >= 0:
                position += feed + 1
                break
            position += len(data)
        file.seek(position)
    held: list[bytes] = []  # the beginning of a line that is not whole yet
    offset = position
    while position < end:
        data = file.read(min(size, end - position))
        if not data:
            break
        position += len(data)
        feed = data.rfind(b"\n") + 1
        if feed:
            held.append(data[:feed])
            block = b"".join(held)
            yield offset, block
            offset += len(block)
            held = [data[feed:]] if feed < len(data) else []
        else:
            held.append(data)
    while held:
        data = file.read(size)
        feed = data.find(b"\n") + 1
        held.append(data[:feed] if feed else data)
        if feed or not data:
            yield offset, b"".join(held)
            return


def treat_lines(data: bytes, task: Task, settings: Settings, offset: int) -> Result:
    """Normalize whole lines, each of which holds one conversation or nothing.

    Args:
        data: the lines; the last may lack its line feed.
        task: the task that they belong to.
        settings: those of the run.
        offset: where they start in the input.
    """
    lines = data.split(b"\n")
    output: list[bytes] = []
    result = Result(lines=len(lines) - (not lines[-1]))
    totals = result.totals
    place = _Place(lines, offset)
    explain = _explainer(settings)
    for number, raw in enumerate(lines):
        try:
            value, write = read(raw)
            before, holder, key = find_messages(value, settings.path)
            after, _, records = explain(before)
            if not records and before == after:
                totals.conversations += 1
                output.append(raw)
                continue
            if settings.rewriting:
                if holder is None:
                    value = after
                else:
                    holder[key] = after
                text = write(value)
        except (ValueError, MemoryError) as error:
            if not raw or raw.isspace():
                output.append(raw)
                continue
            reason = as_unreadable(error).reason
            note_unreadable(result, number, reason, raw, place.of(number))
            if settings.failing:
                break
            if number == len(lines) - 1 and output:
                output.append(b"")  # the line before keeps its line feed
            continue
        totals.conversations += 1
        totals.changed += 1
        if settings.rewriting:
            if raw[-1] not in b"]}" or raw[0] not in b"[{":
                text = _between_blanks(raw, text)
            output.append(text)
        if records or task.listing:
            _tell(result, task, settings, number, records, place)
    if settings.rewriting:
        result.write(b"\n".join(output))
    return result


def treat_document(data: bytes, task: Task, settings: Settings, offset: int) -> Result:
    """Normalize one JSON value that is laid out over several lines.

    Args:
        data: the whole text.
        task: the task that it belongs to.
        settings: those of the run.
        offset: where it starts in the input.
    """
    result = Result(lines=data.count(b"\n") + (not data.endswith(b"\n")))
    first = data[: len(data) - len(data.lstrip())].count(b"\n")
    place = _Place([data], offset)
    try:
        value, write = load(data)
        before, holder, key = find_messages(value, settings.path)
        after, _, records = _explainer(settings)(before)
        changed = bool(records) or before != after
        if changed and settings.rewriting:
            if holder is None:
                value = after
            else:
                holder[key] = after
        if settings.rewriting and task.several:
            result.write(write(value) + b"\n")
        elif settings.rewriting and changed:
            result.write(_between_blanks(data, dump_document(value, indent_of(data))))
        elif settings.rewriting:
            result.write(data)
    except (ValueError, MemoryError) as error:
        what = as_unreadable(error)
        note_unreadable(result, what.line or first, what.reason, data, offset)
        return result
    result.totals.conversations = 1
    if changed:
        result.totals.changed = 1
        if records or task.listing:
            _tell(result, task, settings, first, records, place)
    return result


def _explainer(settings: Settings) -> Callable[[list[Any]], Explanation]:
    if settings.strict:
        return explain_strictly
    if not settings.options:
        return explain_conversation
    return partial(explain_conversation, **settings.options)


class _Place:
    """Where lines start, worked out only for those that are asked for, in order."""

    def __init__(self, lines: list[bytes], offset: int) -> None:
        self.lines = lines
        self.offset = offset
        self.known = 0

    def of(self, number: int) -> int:
        """The byte that a line starts at; to be asked for in rising order."""
        if len(self.lines) > 1:
            passed = self.lines[self.known : number]
            self.offset += sum(map(len, passed)) + len(passed)
            self.known = number
        return self.offset


def _tell(
    result: Result,
    task: Task,
    settings: Settings,
    number: int,
    records: list[Record],
    place: _Place,
) -> None:
    """Note what there is to tell of a changed conversation."""
    kinds = result.totals.kinds
    for record in records:
        kinds[record.kind] = kinds.get(record.kind, 0) + 1
    if task.listing and (records or not settings.detailed):
        text = summarize(records)
        if settings.detailed:
            for record in records:
                text += f"\n  {record.kind}: {printable(record.sentence)}"
        result.listing.append((number, text))
    if settings.reporting and records:
        offset = place.of(number)
        for record in records:
            fields = {
                "offset": offset,
                "kind": record.kind,
                "index": record.index,
                "id": record.id,
                "sentence": record.sentence,
            }
            result.report.append((number, rest_of_object(fields)))


def note_unreadable(result: Result, number: int, reason: str, raw: bytes, offset: int) -> None:
    """Note a line that cannot be read, with all that it held."""
    result.totals.unreadable += 1
    result.unread.append((number, reason))
    fields: dict[str, Any] = {"offset": offset, "reason": reason}
    raw = raw[:-1] if raw.endswith(b"\n") else raw
    try:
        fields["raw"] = raw.decode()
    except UnicodeDecodeError:
        fields["raw_base64"] = base64.b64encode(raw).decode()
    result.errors.append((number, rest_of_object(fields)))


def rest_of_object(fields: dict[str, Any]) -> str:
    """The rest of a JSON object that begins with the name of the file and the line.

    >>> rest_of_object({"kind": "no_role"})
    ',"kind":"no_role"}'
    """
    return "," + dumps(fields).decode()[1:]


def _between_blanks(raw: bytes, text: bytes) -> bytes:
    """Put a text where another stood, between the same blanks."""
    stripped = raw.strip()
    start = raw.find(stripped)
    return raw[:start] + text + raw[start + len(stripped) :]
