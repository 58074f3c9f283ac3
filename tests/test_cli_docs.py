"""What README.md and docs/cli.md show is what happens."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_examples_in_the_readme():
    # Blanked fences keep the line numbers, and end an example's output.
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"^```.*$", "", text, flags=re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(text, {}, "README.md", "README.md", 0)
    told: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=told.append)
    assert result.attempted > 5
    assert not result.failed, "".join(told)


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


def test_the_lines_in_the_docs_of_the_command():
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "flowdrop_fast",
            "normalize",
            "runs.jsonl",
            "--report",
            "/dev/stderr",
        ],
        cwd=ROOT / "examples",
        capture_output=True,
        timeout=60,
        check=True,
    )
    told = done.stderr.decode()
    docs = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    summary = docs.split("```text\nruns.jsonl:2", 1)[1].split("```", 1)[0].splitlines(keepends=True)
    assert "".join(summary[1:]) in told
    assert "runs.jsonl:2" + summary[0] in told
    record = docs.split("```json\n", 1)[1].split('"sentence"', 1)[0]
    assert record in told


def test_every_option_is_in_the_docs():
    docs = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for verb in ("check", "normalize", "explain"):
        done = subprocess.run(
            [sys.executable, "-m", "flowdrop_fast", verb, "--help"],
            capture_output=True,
            timeout=60,
            check=True,
        )
        for option in re.findall(r"--[a-z][a-z-]+", done.stdout.decode()):
            assert option in docs or option in ("--help", "--output", "--jobs", "--quiet"), option


def test_the_links_in_the_readme_lead_somewhere():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", readme)
    assert len(targets) > 5
    for target in targets:
        assert (ROOT / target).is_file(), target
