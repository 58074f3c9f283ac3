"""What is seen on a terminal: the bar, colours, the summary; with rich and without it."""

import os
import re
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
from gate import Gate

pty = pytest.importorskip("pty", reason="no pseudo-terminals on this system")

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture
def without_extras(tmp_path):
    """An environment in which no extra can be imported."""
    for name in ("orjson", "rich", "zstandard"):
        (tmp_path / f"{name}.py").write_text(f"raise ModuleNotFoundError('no {name} here')\n")
    return {**os.environ, "PYTHONPATH": str(tmp_path)}


def run_on_terminal(*arguments, seeing=lambda _shown: None, **options):
    """Run a command whose standard streams are a terminal; return exit code and what it shows.

    `seeing` is called with all that is shown so far, whenever there is more.
    """
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "flowdrop_fast", *map(str, arguments)],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        close_fds=True,
        **options,
    )
    os.close(follower)
    late = threading.Timer(60, process.kill)
    late.start()
    shown = b""
    while True:
        try:
            data = os.read(leader, 65536)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        shown += data
        seeing(without_escapes(shown.decode(errors="replace")))
    late.cancel()
    os.close(leader)
    return process.wait(60), shown.decode()


def without_escapes(shown):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    file = tmp_path_factory.mktemp("big") / "runs.jsonl"
    lines = (EXAMPLES / "runs.jsonl").read_bytes()
    file.write_bytes(lines * (12_000_000 // len(lines)))
    return file


@pytest.mark.parametrize("extras", ["with rich", "without rich"])
def test_a_bar_and_a_summary(big, tmp_path, tmp_path_factory, extras, without_extras):
    env = dict(os.environ) if extras == "with rich" else without_extras
    env.update(TERM="xterm", COLUMNS="120")
    env.pop("NO_COLOR", None)
    # A quick run would end before there is a rate to show: the gate opens once it is seen.
    with Gate(tmp_path_factory.mktemp("gate"), big.read_bytes()) as gate:

        def seeing(shown):
            if re.search(r"\d+%.* [1-9][\d,]* conversations +[\d.]+ [kM]B/s", shown):
                gate.open()

        arguments = ["normalize", gate.file, "-o", tmp_path / "out", "-j", "1"]
        code, shown = run_on_terminal(*arguments, seeing=seeing, env=gate.environment(env))
    assert code == 0
    plain = without_escapes(shown)
    assert ("\x1b[3" in shown) == (extras == "with rich")
    assert re.search(r"duplicate_result +[\d,]+\r\n", plain)
    assert "gated.jsonl:2: 1 made (1 interrupted_result)\r\n" in plain


@pytest.mark.parametrize("arguments", [["-q"], ["--progress", "never"]])
def test_no_bar_where_none_is_wanted(big, arguments):
    code, shown = run_on_terminal("check", big, "--report", "/dev/null", *arguments)
    assert code == 1
    assert "%" not in shown


def test_no_bar_where_no_terminal_is(big):
    done = subprocess.run(
        [sys.executable, "-m", "flowdrop_fast", "check", big],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert b"%" not in done.stderr
    assert b"\r" not in done.stderr


@pytest.mark.parametrize("extras", ["with rich", "without rich"])
def test_no_colour_is_obeyed(extras, without_extras):
    env = dict(os.environ) if extras == "with rich" else without_extras
    env.update(TERM="xterm")
    env.pop("NO_COLOR", None)
    explained = run_on_terminal("explain", EXAMPLES / "crashed_run.json", env=env)[1]
    assert "\x1b[9;31m" in explained
    env["NO_COLOR"] = "1"
    plain = run_on_terminal("explain", EXAMPLES / "crashed_run.json", env=env)[1]
    assert "\x1b" not in plain
    checked = run_on_terminal("check", EXAMPLES / "runs.jsonl", env=env)[1]
    assert not re.search(r"\x1b\[[0-9;]*[34][0-9]m", checked)


def test_all_works_without_any_extra(without_extras, tmp_path):
    def run(*arguments, env):
        return subprocess.run(
            [sys.executable, "-m", "flowdrop_fast", *map(str, arguments)],
            env=env,
            capture_output=True,
            timeout=60,
            check=False,
        )

    for verb in ("check", "normalize", "explain"):
        for example in sorted(EXAMPLES.glob("*.json*")):
            with_them = run(verb, example, env=os.environ)
            without = run(verb, example, env=without_extras)
            assert without.returncode == with_them.returncode
            assert without.stdout == with_them.stdout
            assert without.stderr == with_them.stderr
    packed = tmp_path / "runs.zst"
    packed.write_bytes(b"\x28\xb5\x2f\xfd rest")
    done = run("check", packed, env=without_extras)
    assert done.returncode == 2
    if sys.version_info < (3, 14):
        assert b"pip install 'flowdrop-fast[zstd]'" in done.stderr


def test_what_is_not_there_is_not_there(without_extras):
    """The fixture hides what it says it hides."""
    script = textwrap.dedent("""
        from flowdrop_fast import _json
        from flowdrop_fast.cli import console
        assert _json.orjson is None
        assert console._import_rich() is None
    """)
    subprocess.run([sys.executable, "-c", script], env=without_extras, check=True, timeout=60)
