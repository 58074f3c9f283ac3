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
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from typing import Any

from .errors import RunError
from .work import Result, Settings, Task, blocks_of, note_unreadable, perform, write_part

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
        finished: asked for the result of a task that was done before.
    """

    def __init__(
        self,
        jobs: int,
        settings: Settings,
        tick: Callable[[], None],
        finished: Callable[[Task], Result | None] | None = None,
    ) -> None:
        self.jobs = jobs
        self.settings = settings
        self.tick = tick
        self.finished = finished
        self._workers: list[_Worker] = []

    def close(self) -> None:
        """End every worker."""
        for worker in self._workers:
            worker.stop()

    def run(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, Result]]:
        """Run every task, and give each with its result, in order."""
        ahead: deque[Task] = deque()  # read from the input while all workers were busy
        order: deque[Task] = deque()  # handed out, in order, and not given yet
        done: dict[int, Result] = {}
        idle: list[_Worker] = []
        busy: dict[object, tuple[_Worker, Task]] = {}
        more = True
        while more or ahead or order:
            while (idle or len(self._workers) < self.jobs) and len(order) < AHEAD * self.jobs:
                task = ahead.popleft() if ahead else next(tasks, None) if more else None
                if task is None:
                    more = False
                    break
                order.append(task)
                result = None if self.finished is None else self.finished(task)
                if result is not None:
                    done[task.index] = result
                    continue
                worker = idle.pop() if idle else self._start()
                worker.send(task)
                busy[worker.connection] = (worker, task)
            reading_on = more and len(ahead) < self.jobs
            for ready in wait(
                [worker.connection for worker, _ in busy.values()],
                0 if reading_on else TICK_SECONDS,
            ):
                worker, task = busy.pop(ready)
                result = worker.receive()
                if result is None:
                    result = self._recover(worker, task)
                else:
                    idle.append(worker)
                done[task.index] = result
                reading_on = False
            if reading_on:
                task = next(tasks, None)
                if task is None:
                    more = False
                else:
                    ahead.append(task)
            self.tick()
            while order and order[0].index in done:
                task = order.popleft()
                yield task, done.pop(task.index)

    def _start(self) -> _Worker:
        worker = _Worker(self.settings)
        self._workers.append(worker)
        return worker

    def _recover(self, worker: _Worker, task: Task) -> Result:
        """Do a task whose worker died."""
        self._workers.remove(worker)
        worker.stop()
        whole = replace(task, part=None)
        result = self._attempt(whole)
        if isinstance(result, str):
            result = self._halve(_read(whole), result)
        if task.part is not None:
            write_part(task.part, [result])
        return result

    def _attempt(self, task: Task) -> Result | str:
        """Do a task in a worker of its own; say how the worker died if it did."""
        worker = _Worker(self.settings)
        try:
            worker.send(task)
            return worker.receive() or worker.cause_of_death()
        finally:
            worker.stop()

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


class _Worker:
    """A process that does one task after the other."""

    def __init__(self, settings: Settings) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other, settings), daemon=True)
        # Ctrl-C reaches the whole group: it is for this process to say what is stopped when.
        main = threading.current_thread() is threading.main_thread()
        handler: Any = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
        try:
            self.process.start()
        finally:
            if main:
                signal.signal(signal.SIGINT, handler)
        other.close()

    def send(self, task: Task) -> None:
        """Hand it a task. If it is dead, `receive` will tell."""
        with suppress(OSError):
            self.connection.send(task)

    def receive(self) -> Result | None:
        """Wait for the result; None if the worker died.

        Raises:
            RunError: if the task could not be done.
        """
        try:
            answer = self.connection.recv()
        except (EOFError, OSError):
            return None
        if isinstance(answer, Result):
            return answer
        raise answer

    def cause_of_death(self) -> str:
        """What it died of."""
        self.process.join()
        code = self.process.exitcode or 0
        if code >= 0:
            return f"exit code {code}"
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"

    def stop(self) -> None:
        """End it, whatever it does."""
        self.connection.close()
        self.process.terminate()
        self.process.join()
        self.process.close()


def _serve(connection: Connection, settings: Settings) -> None:
    """What a worker does: tasks, until nobody sends any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()  # JSON values hold no cycles
    while True:
        try:
            task = connection.recv()
        except (EOFError, OSError):
            return
        answer: Result | Exception
        try:
            answer = perform(task, settings)
        except RunError as error:
            answer = error
        except Exception:
            answer = RuntimeError(f"in a worker:\n{traceback.format_exc()}")
        try:
            connection.send(answer)
        except OSError:
            return  # nobody waits for it any more
