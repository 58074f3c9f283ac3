"""`check` and `normalize`: tasks to results, results to outputs in order, and what to tell."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from flowdrop_fast import _json

from .console import Console
from .conversations import Options, Path
from .errors import CLEAN, FAILED, FINDINGS, RunError
from .journal import Journal, State
from .pool import Pool, run_here
from .reports import printable
from .sinks import UNFINISHED, FileSink, Place, PlaceSink, Sink, is_special, open_sink
from .sources import RANGE_BYTES, STANDARD_INPUT, cut, stored_size
from .work import Note, Result, Settings, Task

# Up to here starting workers takes longer than the work.
SMALL_BYTES = 4 << 20

# How often a run keeps how far it has come.
SAVE_SECONDS = 0.1

# How many changed conversations `normalize` names one by one.
MOST_LISTED = 1000


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for.

    Attributes:
        checking: whether to report only, and write no conversation.
        paths: the inputs.
        output: where the conversations go.
        path: the keys that lead to the messages; None to look where they usually are.
        options: those of normalization.
        strict: whether rows that are not flat yet are findings, too.
        layout: `json` or `jsonl`; None to look.
        errors: where lines that cannot be read are set aside.
        failing: whether such a line stops the run.
        report: where every record goes.
        force: whether files that stand there may be overwritten.
        resume: whether to take up an earlier run.
        jobs: how many processes may work.
        quiet: whether to tell nothing but what went wrong.
        progress: `auto`, `always` or `never`.
    """

    checking: bool
    paths: list[str]
    output: str
    path: Path | None
    options: Options
    strict: bool
    layout: str | None
    errors: str | None
    failing: bool
    report: str | None
    force: bool
    resume: bool
    jobs: int
    quiet: bool
    progress: str


def run(request: Request) -> int:
    """Do what is asked for.

    Returns:
        The exit code: 0 if all is well, 1 if there were findings or lines set aside, 2 if lines
        that could not be read were not.

    Raises:
        RunError: if the run cannot go on. Nothing half-written is left.
    """
    return _Run(request).do()


class _Run:
    def __init__(self, request: Request) -> None:
        self.request = request
        self.settings = Settings(
            rewriting=not request.checking,
            path=request.path,
            options=request.options,
            failing=request.failing,
            reporting=request.report is not None,
            detailed=request.checking,
            strict=request.strict,
        )
        self.state = State()
        self.journal: Journal | None = None
        self.saved = 0.0
        self.sinks: dict[str, Sink] = {}
        self.ended = True  # whether the output that has a place ends with a line feed
        self.expected = stored_size(request.paths)
        self.console = Console(request.quiet, request.progress, self.expected)

    def do(self) -> int:
        try:
            self._open()
            if not self.state.finished:
                self._work()
            self._commit()
        except (KeyboardInterrupt, RunError, OSError) as error:
            self.console.close()
            self._stop(error)
            raise
        finally:
            self.console.close()
            if self.journal is not None:
                self.journal.release()
        self.console.summarize(self.state.totals, self.request.errors is not None)
        return self._exit_code()

    def _exit_code(self) -> int:
        totals = self.state.totals
        if totals.unreadable:
            return FAILED if self.request.errors is None else FINDINGS
        return FINDINGS if self.request.checking and totals.kinds else CLEAN

    # ---- Outputs

    def _open(self) -> None:
        request = self.request
        if request.checking:
            if request.report != "-" and not request.quiet:
                self.sinks["listing"] = open_sink("-", False, False)
        elif request.output == "-" or is_special(request.output):
            self.sinks["output"] = open_sink(request.output, request.force, request.failing)
        else:
            self._open_journal()
        for name, path in (("report", request.report), ("errors", request.errors)):
            if path is None:
                continue
            if path == "-" or is_special(path):
                self.sinks[name] = open_sink(path, request.force, False)
            elif not (self.state.finished and self._is_moved(path)):
                self._open_file(name, FileSink(path, request.force))

    def _is_moved(self, path: str) -> bool:
        """Whether a finished run has moved a file to its place before it was stopped."""
        return os.path.exists(path) and not os.path.exists(os.path.realpath(path) + UNFINISHED)

    def _open_journal(self) -> None:
        request = self.request
        if request.resume and self.expected is None:
            raise RunError("only regular files can be resumed, not standard input or a pipe")
        self.journal = Journal(request.output, self._plan())
        left = self.journal.exists()
        if left and not (request.resume or request.force):
            raise RunError(
                f"{request.output}: an unfinished run was found in {self.journal.directory}; "
                "--resume takes it up, --force begins anew"
            )
        resuming = left and request.resume
        if resuming:
            self.state = self.journal.resume()
            self.ended = self.state.ended
            moved = os.path.exists(request.output) and not os.path.exists(self.journal.written)
            if self.state.finished and moved:
                return
        sink = FileSink(request.output, request.force, self.journal.written)
        if not resuming:
            self.journal.start()
        self._open_file("output", sink)

    def _open_file(self, name: str, sink: FileSink) -> None:
        size = self.state.sizes.get(name, 0)
        if size and (not os.path.exists(sink.temporary) or os.path.getsize(sink.temporary) < size):
            raise RunError(
                f"{self.request.output}: cannot be resumed, {sink.temporary} is gone or too short; "
                "--force begins anew"
            )
        sink.open(size)
        self.sinks[name] = sink

    def _plan(self) -> dict[str, Any]:
        """What has to be the same for a run to be taken up."""
        request = self.request
        inputs = []
        for path in request.paths:
            if path == STANDARD_INPUT:
                inputs.append([path, 0, 0])
                continue
            try:
                status = os.stat(path)
            except OSError as error:
                raise RunError(f"{path}: cannot be read: {error.strerror or error}") from None
            inputs.append([os.path.abspath(path), status.st_size, status.st_mtime_ns])
        return {
            "inputs": inputs,
            "path": request.path,
            "options": request.options,
            "layout": request.layout,
            "failing": request.failing,
            "errors": request.errors and os.path.abspath(request.errors),
            "report": request.report and os.path.abspath(request.report),
            "task_bytes": RANGE_BYTES,
            "json": "json" if _json.orjson is None else "orjson",
        }

    def _commit(self) -> None:
        """Have all files stand where they were asked for, the output last."""
        if self.journal is not None and not self.state.finished:
            self.state.finished = True
            self._save(self.journal)
        for name in sorted(self.sinks, key="output".__eq__):
            self.sinks[name].commit()
        if self.journal is not None:
            self.journal.remove()

    def _stop(self, error: BaseException) -> None:
        """Leave what can be taken up again, and nothing else."""
        keep = (
            self.journal is not None
            and self.expected is not None
            and self.state.next > 0
            and not isinstance(error, _LineError)
        )
        for sink in self.sinks.values():
            if keep and isinstance(sink, FileSink):
                sink.close()
            else:
                sink.discard()
        if self.journal is None:
            return
        if keep:
            # Not saved again here: it may have been stopped in the middle of a change.
            self.console.tell(
                f"flowdrop-fast: what is done so far is kept in {self.journal.directory}; "
                "--resume takes it up"
            )
        elif self.sinks:
            self.journal.remove()

    # ---- Work

    def _work(self) -> None:
        with closing(self._results()) as results:
            for task, result in results:
                self._take(task, result)
                self.console.advance(task.weight, result.totals.conversations)

    def _results(self) -> Generator[tuple[Task, Result], None, None]:
        tasks = self._tasks()
        if self.expected is None or self.expected <= SMALL_BYTES:
            size = 0  # an unknown one shows only as it is read
            for task, result in run_here(tasks, self.settings):
                place = self._place(task, result)
                if place is not None:
                    with closing(PlaceSink(place)) as sink:
                        sink.write(result.output)
                    result.output = []
                yield task, result
                size += task.end - task.start
                if size > SMALL_BYTES:
                    break
            else:
                return
        jobs, tick = self.request.jobs, self.console.tick
        pool = Pool(jobs, self.settings, tick, self._place, self._next_place)
        with closing(pool):
            yield from pool.run(tasks)

    def _tasks(self) -> Iterator[Task]:
        for task in cut(self.request.paths, self.request.layout):
            if task.index < self.state.next:
                self.console.advance(task.weight, 0)
                continue
            held = self.journal is not None and task.file is not None
            yield replace(task, listing=self._is_listing(), held=held)

    def _is_listing(self) -> bool:
        """Whether changed conversations are still to be named."""
        if self.request.checking:
            return "listing" in self.sinks
        return not self.request.quiet and self.state.listed <= MOST_LISTED

    def _place(self, task: Task, result: Result) -> Place | None:
        """Where the next output goes, if it is a file."""
        sink = self.sinks.get("output")
        if not isinstance(sink, FileSink) or (self.request.failing and result.unread):
            return None
        self._end_line(task, result, sink)
        place = sink.end()
        sink.skip(result.size)
        result.end = sink.size
        return place

    def _next_place(self, task: Task) -> Place | None:
        """Where the next output goes, as far as that can be told before it is there."""
        sink = self.sinks.get("output")
        if not isinstance(sink, FileSink) or task.opens:  # a line may have to be ended before it
            return None
        return sink.end()

    def _end_line(self, task: Task, result: Result, sink: Sink) -> None:
        """End the last line of an input that has no line feed there, when another follows."""
        if result.size:
            if task.opens and not self.ended:
                sink.write(b"\n")
            self.ended = result.ended

    def _take(self, task: Task, result: Result) -> None:
        """Put the result of the next task where it belongs, all but an output that has a place."""
        state = self.state
        if task.opens:
            state.line = 0
        first = state.line + 1
        if self.request.failing and result.unread:
            line, reason = result.unread[0]
            raise _LineError(f"{task.name}:{first + line}: {reason}")
        if result.output:
            self._end_line(task, result, self.sinks["output"])
        for piece in result.output:
            self.sinks["output"].write(piece)
        self._write_objects("report", task, result.report, first)
        self._write_objects("errors", task, result.errors, first)
        if self.request.errors is None:
            for line, reason in result.unread:
                self.console.tell(f"flowdrop-fast: {task.name}:{first + line}: {reason}")
        self._list(task, result, first)
        state.line += result.lines
        state.totals.add(result.totals)
        state.next = task.index + 1
        if self.journal is not None:
            self._note_sizes(result)
            if time.monotonic() - self.saved > SAVE_SECONDS:
                self._save(self.journal)

    def _note_sizes(self, result: Result) -> None:
        """Note how much of each file counts by now."""
        sizes = self.state.sizes
        for name, sink in self.sinks.items():
            if isinstance(sink, FileSink) and name != "output":
                sizes[name] = sink.size
        if result.size:
            # More may have a place by now, but need not be written yet.
            sizes["output"] = result.end
            self.state.ended = result.ended

    def _save(self, journal: Journal) -> None:
        """Keep how far the run has come, so that it can be taken up from here."""
        journal.save(self.state)
        self.saved = time.monotonic()

    def _write_objects(self, name: str, task: Task, notes: list[Note], first: int) -> None:
        """Write notes as JSON Lines, each with the input's name and the line's number in it."""
        sink = self.sinks.get(name)
        if sink is None or not notes:
            return
        head = f'{{"file":{json.dumps(task.name)},"line":'
        lines = [f"{head}{first + line}{rest}\n" for line, rest in notes]
        sink.write("".join(lines).encode())

    def _list(self, task: Task, result: Result, first: int) -> None:
        """Name the conversations that changed: findings as data, changes as notes."""
        if not result.listing:
            return
        name = printable(task.name)
        if self.request.checking:
            lines = [f"{name}:{first + line}: {text}\n" for line, text in result.listing]
            self.sinks["listing"].write("".join(lines).encode(errors="backslashreplace"))
            return
        for line, text in result.listing:
            self.state.listed += 1
            if self.state.listed > MOST_LISTED:
                self.console.tell("(further ones are not named; --report FILE has them all)")
                break
            self.console.tell(f"{name}:{first + line}: {text}")


class _LineError(RunError):
    """A line that cannot be read stops the run."""
