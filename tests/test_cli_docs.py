"""What README.md and docs/cli.md show is what happens."""

import doctest
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_examples_in_the_readme():
    failed, tried = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert tried > 0
    assert failed == 0


def test_the_view_in_the_readme():
    done = subprocess.run(
        [sys.executable, "-m", "flowdrop_fast", "explain", "examples/crashed_run.json"],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "90"},
        capture_output=True,
        timeout=60,
        check=True,
    )
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    view = readme.split("```text\n", 1)[1].split("```", 1)[0]
    for part in view.split(" ...\n"):
        assert part in done.stdout.decode()
