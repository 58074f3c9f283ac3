"""What a run that writes a file keeps beside it, so that it can be taken up again.

In the directory `OUT.unfinished`: `plan.json`, what the run was asked to do with which inputs;
`state.json`, how far it has come, replaced again and again; and the output so far, into which
every worker writes its own piece. What stands there behind the size that the state tells is not
finished, and does not count.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import IO, Any

from .errors import RunError
from .sinks import UNFINISHED, unwritable
from .work import Totals


@dataclass(slots=True)
class State:
    """How far a run has come.

    Attributes:
        next: the index of the first task whose result is not in the output yet.
        line: how many lines of its input stand before it.
        ended: whether the output ends with a line feed, or is empty.
        sizes: how many bytes of each file of the run count.
        totals: what was counted.
        listed: how many conversations were listed.
        finished: whether all is done, but for moving the files to their places.
    """

    next: int = 0
    line: int = 0
    ended: bool = True
    sizes: dict[str, int] = field(default_factory=dict)
    totals: Totals = field(default_factory=Totals)
    listed: int = 0
    finished: bool = False


class Journal:
    """The directory beside an output, held by one process at a time.

    Args:
        output: where the output is to stand.
        plan: what the run is asked to do; one with another plan is not taken up.

    Raises:
        RunError: if the directory cannot be made, or another process holds it.
    """

    def __init__(self, output: str, plan: dict[str, Any]) -> None:
        self.output = output
        self.plan = json.loads(json.dumps(plan))
        self.directory = os.path.realpath(output) + UNFINISHED
        self.written = os.path.join(self.directory, "output")
        self._lock: IO[bytes] | None = None

    def exists(self) -> bool:
        """Whether an earlier run has left it."""
        return os.path.isdir(self.directory)

    def start(self) -> State:
        """Begin anew."""
        try:
            if not self.exists():
                os.mkdir(self.directory)
            self._hold()
            for name in os.listdir(self.directory):
                if name != "lock":
                    os.unlink(os.path.join(self.directory, name))
            self._replace("plan.json", self.plan)
        except OSError as error:
            raise unwritable(self.directory, error) from None
        return State()

    def resume(self) -> State:
        """Take up where an earlier run stopped.

        Raises:
            RunError: if that run had other inputs, or was asked for something else.
        """
        try:
            self._hold()
        except OSError as error:
            raise unwritable(self.directory, error) from None
        plan = self._load("plan.json")
        if plan is None:
            return self.start()
        if plan != self.plan:
            raise RunError(
                f"{self.output}: cannot be resumed, the inputs or options are others now; "
                "--force begins anew"
            )
        fields = self._load("state.json")
        if fields is None:
            return State()
        fields["totals"] = Totals(**fields["totals"])
        return State(**fields)

    def save(self, state: State) -> None:
        """Keep how far the run has come."""
        try:
            self._replace("state.json", asdict(state))
        except OSError as error:
            raise unwritable(self.directory, error) from None

    def remove(self) -> None:
        """Delete the directory: the plan last, so that half of it is not taken for a run."""
        with suppress(OSError):
            for name in sorted(os.listdir(self.directory), key="plan.json".__eq__):
                os.unlink(os.path.join(self.directory, name))
        self.release()
        shutil.rmtree(self.directory, ignore_errors=True)

    def release(self) -> None:
        """Let another process hold the directory."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _hold(self) -> None:
        try:
            import fcntl  # noqa: PLC0415  (not everywhere)
        except ImportError:
            return
        self.release()
        self._lock = open(os.path.join(self.directory, "lock"), "wb")  # noqa: SIM115
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.release()
            raise RunError(f"{self.output}: another run is writing it") from None

    def _replace(self, name: str, fields: dict[str, Any]) -> None:
        path = os.path.join(self.directory, name)
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(fields, file)
        os.replace(path + ".new", path)

    def _load(self, name: str) -> dict[str, Any] | None:
        try:
            with open(os.path.join(self.directory, name), encoding="utf-8") as file:
                fields: dict[str, Any] = json.load(file)
        except (OSError, ValueError):
            return None
        return fields
