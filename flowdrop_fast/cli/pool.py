"""Runs tasks, in this process or in workers, and gives their results in order.

A worker that dies costs nothing: its task is tried again, then halved until the one line is found
that kills, and that line is set aside like one that cannot be read.
"""

from __future__ import annotations

import gc
import multiprocessing
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from typing import Any

from .errors import RunError
from .sinks import Place, PlaceSink
from .work import Result, Settings, Task, blocks_of, note_unreadable, perform

# How many results may wait for one before them, for each worker.
AHEAD = 4
TICK_SECONDS = 0.2


def run_here(tasks: Iterator[Task], settings: Settings) -> Iterator[tuple[Task, Result]]:
    """Run every task in this process."""
    collecting = gc.isenabled()
    gc.disable()  # JSON values hold no cycles
    try:
        for task in tasks:
            yield task, perform(task, settings)
    finally:
        if collecting:
            gc.enable()


class Pool:
    """Worker processes that run tasks.

    Args:
        jobs: how many there may be.
        settings: those of the run.
        tick: called now and then while there is nothing to do but wait.
        place: called with every task and its result, in order; tells where in which file the
            output is to be written, or None if it is to be given with the result.
        next_place: called with a task when everything before it has its place; tells where the
            output will be written if that does not depend on the result.
    """

    def __init__(
        self,
        jobs: int,
        settings: Settings,
        tick: Callable[[], None],
        place: Callable[[Task, Result], Place | None],
        next_place: Callable[[Task], Place | None],
    ) -> None:
        self.jobs = jobs
        self.settings = settings
        self.tick = tick
        self.place = place
        self.next_place = next_place
        self._workers: list[_Worker] = []
        self._spare: _Worker | None = None  # for what has killed others

    def close(self) -> None:
        """End every worker."""
        for worker in self._workers:
            worker.stop()
        if self._spare is not None:
            self._spare.stop()

    def run(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, Result]]:
        """Run every task, and give each with its result, in order, once its output is written."""
        ahead: deque[Task] = deque()  # read from the input while all workers were busy
        order: deque[_Job] = deque()  # handed out, in order, and not given yet
        more = True
        while more or ahead or order:
            while len(order) < AHEAD * self.jobs and (more or ahead):
                worker = self._idle_worker()
                if worker is None:
                    break
                task = ahead.popleft() if ahead else next(tasks, None)
                if task is None:
                    more = False
                    break
                if task.held and all(job.placed for job in order):
                    task = replace(task, place=self.next_place(task))
                order.append(worker.start(task))
            reading_on = more and len(ahead) < self.jobs
            connections = {worker.connection: worker for worker in self._workers}
            for ready in wait(list(connections), 0 if reading_on else TICK_SECONDS):
                reading_on = False
                self._hear(connections[ready])  # type: ignore[index]
            if reading_on:
                task = next(tasks, None)
                more = task is not None
                if task is not None:
                    ahead.append(task)
            self._place_all(order)
            self.tick()
            while order and order[0].done:
                job = order.popleft()
                yield job.task, job.result

    def _idle_worker(self) -> _Worker | None:
        """A worker with nothing to do, started if there may be one more."""
        for worker in self._workers:
            if worker.job is None:
                return worker
        if len(self._workers) < self.jobs:
            self._workers.append(_Worker(self.settings))
            return self._workers[-1]
        return None

    def _place_all(self, order: deque[_Job]) -> None:
        """Have every output written whose place is known by now."""
        for job in order:
            if not job.finished:
                return
            if not job.placed:
                job.placed = True
                job.place = self.place(job.task, job.result)
                self._write(job)

    def _write(self, job: _Job) -> None:
        if job.holder is not None:
            job.holder.write(job)
            return
        if job.place is not None and job.result.output:
            with closing(PlaceSink(job.place)) as sink:
                sink.write(job.result.output)
            job.result.output = []
        job.done = True

    def _hear(self, worker: _Worker) -> None:
        """Take what a worker tells, or notice that it died."""
        if worker.receive():
            return
        self._workers.remove(worker)
        worker.stop()
        lost = list(worker.held.values())
        if worker.job is not None:
            lost.append(worker.job)
        for job in lost:
            again = self._recover(replace(job.task, held=False, place=None))
            if job.placed:
                if again.size != job.result.size:  # what follows has its place already
                    raise RunError(f"{job.task.name}: did not give the same output twice")
                again.end = job.result.end
            job.result = again
            job.finished = True
            job.holder = None
            if job.placed:
                self._write(job)

    def _recover(self, task: Task) -> Result:
        """Do a task whose worker died."""
        outcome = self._attempt(task)
        return self._halve(_read(task), outcome) if isinstance(outcome, str) else outcome

    def _attempt(self, task: Task) -> Result | str:
        """Do a task in a worker that does nothing else; say how the worker died if it did."""
        worker = self._spare or _Worker(self.settings)
        self._spare = worker
        job = worker.start(task)
        while not job.finished:
            if not worker.receive():
                self._spare = None
                cause = worker.cause_of_death()
                worker.stop()
                return cause
        return job.result

    def _halve(self, task: Task, cause: str) -> Result:
        """Do a task that kills its workers, line by line where it must be."""
        halves = _halves(task)
        if halves is None:
            result = Result(lines=max(task.data.count(b"\n"), 1))
            reason = f"reading it kills the process ({cause})"
            note_unreadable(result, 0, reason, task.data, task.start)
            return result
        result = Result()
        for half in halves:
            if self.settings.failing and result.unread:
                break
            outcome = self._attempt(half)
            result.add(self._halve(half, outcome) if isinstance(outcome, str) else outcome)
        return result


def _read(task: Task) -> Task:
    """A task with its text at hand."""
    blocks = list(blocks_of(task))
    start = blocks[0][0] if blocks else task.start
    return replace(task, file=None, data=b"".join(data for _, data in blocks), start=start)


def _halves(task: Task) -> tuple[Task, Task] | None:
    """A task as two of about as many bytes; None if it is a single line."""
    data = task.data
    middle = data.rfind(b"\n", 0, max(len(data) // 2, 1)) + 1 or data.find(b"\n") + 1
    if task.document or not 0 < middle < len(data):
        return None
    start = task.start + middle
    return (
        replace(task, data=data[:middle]),
        replace(task, data=data[middle:], start=start, opens=False),
    )


class _Job:
    """A task that was handed out.

    Attributes:
        task: the task.
        result: its result, once it is finished.
        finished: whether the result is there.
        holder: the worker that holds the output, until it has written it.
        place: where the output is to be written, if in a file.
        placed: whether that has been decided.
        done: whether the output is written, or stands in the result.
    """

    def __init__(self, task: Task, holder: _Worker | None) -> None:
        self.task = task
        self.result = Result()
        self.finished = False
        self.holder = holder
        self.place: Place | None = None
        self.placed = False
        self.done = False


class _Worker:
    """A process that does one task after the other, and holds outputs until they have a place.

    Attributes:
        connection: this end of the pipe to it.
        job: what it does now.
        held: the jobs whose output it holds, by index.
    """

    def __init__(self, settings: Settings) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.job: _Job | None = None
        self.held: dict[int, _Job] = {}
        self._process = context.Process(target=_serve, args=(other, settings), daemon=True)
        # Ctrl-C reaches the whole group: it is for this process to say what is stopped when.
        main = threading.current_thread() is threading.main_thread()
        handler: Any = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
        try:
            self._process.start()
        finally:
            if main:
                signal.signal(signal.SIGINT, handler)
        other.close()

    def start(self, task: Task) -> _Job:
        """Hand it a task. If it is dead, `receive` will tell."""
        self.job = _Job(task, self if task.held and task.place is None else None)
        self._send(task)
        return self.job

    def write(self, job: _Job) -> None:
        """Tell it where to write an output that it holds; None to forget it."""
        self._send((job.task.index, job.place))

    def _send(self, message: object) -> None:
        with suppress(OSError):
            self.connection.send(message)

    def receive(self) -> bool:
        """Take one answer, waiting for it; tell whether the worker lives.

        Raises:
            RunError: if a task could not be done.
        """
        try:
            answer = self.connection.recv()
        except (EOFError, OSError):
            return False
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, int):
            job = self.held.pop(answer)
            job.holder = None
            job.done = True
        else:
            assert self.job is not None  # noqa: S101
            self.job.result = answer
            self.job.finished = True
            if self.job.holder is not None:
                self.held[self.job.task.index] = self.job
            self.job = None
        return True

    def cause_of_death(self) -> str:
        """What it died of."""
        self._process.join()
        code = self._process.exitcode or 0
        if code >= 0:
            return f"exit code {code}"
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"

    def stop(self) -> None:
        """End it, whatever it does."""
        self.connection.close()
        self._process.kill()
        self._process.join()
        self._process.close()


def _serve(connection: Connection, settings: Settings) -> None:
    """What a worker does until nobody sends any more: tasks, and writing what they gave."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()  # JSON values hold no cycles
    held: dict[int, list[bytes]] = {}
    while True:
        try:
            message = connection.recv()
        except (EOFError, OSError):
            return
        answer: object
        try:
            if isinstance(message, Task):
                answer = result = perform(message, settings)
                if message.held and message.place is None:
                    held[message.index] = result.output
                    result.output = []
            else:
                index, place = message
                output = held.pop(index)
                if place is not None:
                    with closing(PlaceSink(place)) as sink:
                        sink.write(output)
                answer = index
        except RunError as error:
            answer = error
        except Exception:
            answer = RuntimeError(f"in a worker:\n{traceback.format_exc()}")
        try:
            connection.send(answer)
        except OSError:
            return  # nobody waits for it any more
