"""A line that a command waits at, so that no run ends before a test has seen what it looks for."""

import os
import textwrap

WORD = b"GATE"
LINE = b'[{"role": "user", "content": "GATE"}]\n'  # normalized already

# Python imports `sitecustomize` as it starts, workers of the command line included.
WAITING = """
    import os
    import time
    from flowdrop_fast.cli import work
    parent = os.getppid()
    read = work.read

    def waiting(raw):
        if {word!r} in raw:
            open({reached!r}, "w").close()
            while not os.path.exists({opened!r}) and os.getppid() == parent:
                time.sleep(0.01)
        return read(raw)

    work.read = waiting
"""


class Gate:
    """A gate, closed at first, and an environment for the processes that it stops.

    Args:
        folder: an empty one, which nothing else uses.
        before: JSON Lines that can be read before the gate is reached.
    """

    def __init__(self, folder, before):
        self.file = folder / "gated.jsonl"
        self.file.write_bytes(before + LINE)
        self._opened = folder / "opened"
        self._reached = folder / "reached"
        script = textwrap.dedent(WAITING).format(
            word=WORD, reached=str(self._reached), opened=str(self._opened)
        )
        (folder / "sitecustomize.py").write_text(script)
        self._folder = folder
        self.env = self.environment(os.environ)

    def environment(self, env):
        """An environment, and the gate in it."""
        places = [str(self._folder), *filter(None, [env.get("PYTHONPATH")])]
        return {**env, "PYTHONPATH": os.pathsep.join(places)}

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.open()

    def open(self):
        """Let all through."""
        self._opened.touch()

    def close(self):
        """Have those that come wait again."""
        self._opened.unlink(missing_ok=True)
        self._reached.unlink(missing_ok=True)

    def is_reached(self):
        """Whether anything waits, or has waited, since it was closed."""
        return self._reached.exists()
