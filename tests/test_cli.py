"""The three verbs over one file or standard input, run as a user runs them: as a process."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flowdrop_fast import BACKEND, __version__, explain_conversation, normalize_conversation
from flowdrop_fast.cli import main

EXAMPLES = Path(__file__).parent.parent / "examples"
USER = {"role": "user", "content": "hi"}
CALL = {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "search"}]}
RESULT = {"role": "tool", "content": "found", "tool_call_id": "c1"}
INTERRUPTED = {
    "role": "tool",
    "content": "Tool call was interrupted; no result.",
    "tool_call_id": "c1",
}


def run(*arguments, stdin=b"", **options):
    return subprocess.run(
        [sys.executable, "-m", "flowdrop_fast", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        timeout=60,
        check=False,
        **options,
    )


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


class TestNormalize:
    def test_a_list_of_messages(self, tmp_path):
        file = tmp_path / "run.json"
        file.write_bytes(compact([USER, CALL]))
        done = run("normalize", file)
        assert done.returncode == 0
        assert json.loads(done.stdout) == [USER, CALL, INTERRUPTED]
        assert done.stderr.decode() == f"{file}:1: 1 made (1 interrupted_result)\n"

    def test_an_object_keeps_its_other_fields(self):
        stored = {"id": 7, "messages": [USER, None], "tags": ["é", None, 1.5]}
        done = run("normalize", "-", stdin=compact(stored))
        assert done.returncode == 0
        assert done.stdout == compact({**stored, "messages": [USER]})
        assert done.stderr == b"<stdin>:1: 1 dropped (1 not_a_message)\n"

    def test_json_lines_of_both_shapes(self):
        lines = [compact([USER, CALL]), compact({"messages": [RESULT]}), compact([USER])]
        done = run("normalize", stdin=b"\n".join(lines) + b"\n")
        assert done.returncode == 0
        out = done.stdout.split(b"\n")
        assert [json.loads(line) for line in out[:2]] == [
            [USER, CALL, INTERRUPTED],
            {"messages": []},
        ]
        assert out[2:] == [lines[2], b""]
        assert [line.split(b": ")[0] for line in done.stderr.splitlines()[:2]] == [
            b"<stdin>:1",
            b"<stdin>:2",
        ]

    def test_lifted_rows_are_a_change(self):
        stored = [{"role": "user", "content": "hi", "metadata": {}}]
        done = run("normalize", "-", stdin=compact(stored))
        assert json.loads(done.stdout) == [USER]
        assert done.stderr == b"<stdin>:1: rows made flat, nothing dropped, made or moved\n"

    @pytest.mark.parametrize(
        "text",
        [
            b'[{"content": "hi",  "role":"user"}]\r\n\r\n[]\n\n {"messages":[ ], "x":1e2}',
            b'\xef\xbb\xbf{"messages":[]}\n',
            b'[\n  {"role": "user", "content": "\xe2\x80\xa8"}\n]\n',
            b'[{"role":"user","content":"a\xe2\x80\xa8b\xc2\x85c"}]\n',
            b"",
            b"\n",
        ],
    )
    def test_what_needs_no_change_leaves_byte_for_byte(self, text):
        done = run("normalize", "-q", "-", stdin=text)
        assert (done.returncode, done.stdout, done.stderr) == (0, text, b"")

    def test_in_silence_rows_are_made_flat_all_the_same(self):
        stored = [{"role": "user", "content": "hi", "metadata": {}}]
        for text in (compact(stored), json.dumps(stored, indent=1).encode()):
            done = run("normalize", "-q", "-", stdin=text)
            assert (done.returncode, done.stderr) == (0, b"")
            assert json.loads(done.stdout) == [USER]

    def test_ends_of_lines_and_byte_order_mark_stay(self):
        done = run("normalize", "-", stdin=b"\xef\xbb\xbf[null]\r\n[null]")
        assert (done.returncode, done.stdout) == (0, b"\xef\xbb\xbf[]\r\n[]")

    @pytest.mark.parametrize("indent", [2, 4, "\t"])
    def test_a_laid_out_document_keeps_its_layout(self, indent):
        stored = {"messages": [USER, None], "note": "é"}
        text = json.dumps(stored, indent=indent, ensure_ascii=False) + "\n"
        expected = json.dumps({**stored, "messages": [USER]}, indent=indent, ensure_ascii=False)
        done = run("normalize", "-", stdin=text.encode())
        assert (done.returncode, done.stdout.decode()) == (0, expected + "\n")

    def test_normalizing_twice_changes_nothing(self):
        for example in sorted(EXAMPLES.glob("*.json*")):
            once = run("normalize", example)
            again = run("normalize", "-q", "-", stdin=once.stdout)
            assert (again.returncode, again.stdout, again.stderr) == (0, once.stdout, b"")

    def test_it_agrees_with_the_library(self):
        stored = json.loads((EXAMPLES / "crashed_run.json").read_bytes())
        done = run("normalize", EXAMPLES / "crashed_run.json")
        expected = normalize_conversation(stored["messages"]).messages
        assert json.loads(done.stdout) == {**stored, "messages": expected}

    def test_odd_values_survive(self):
        text = (
            b'{"big":123456789012345678901234567890,"nan":NaN,"half":"\\ud800","messages":[null]}'
        )
        done = run("normalize", "-", stdin=text)
        assert (done.returncode, done.stdout) == (0, text.replace(b"null", b""))


class TestUnreadable:
    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            (b"[null]\n{]\n", "<stdin>:2: not JSON: Expecting property name"),
            (b'[null]\n[{"role": "us\n[null]\n', "<stdin>:2: not JSON: Unterminated string"),
            (b'[{"role": "us\n[]\n[]\n', "<stdin>:1: not JSON: Unterminated string"),
            (b'[{"role": "user"},\n[]\n', "<stdin>:1: not JSON: Expecting value"),
            (b'[\n  {"role": "user"},\n  {"role" "user"}\n]', "<stdin>:3: not JSON: Expecting ':'"),
            (b"[null]\n[]\xff\n", "<stdin>:2: not UTF-8: byte 0xff at byte 3"),
            (b'[\n"a",\n"\xff"]', "<stdin>:3: not UTF-8: byte 0xff at byte 2"),
            ("[]".encode("utf-16"), "<stdin>:1: not UTF-8, but UTF-16"),
            (b'{"message": []}', "<stdin>:1: no conversation: an object without the key"),
            (b'{"messages": null}', "<stdin>:1: no conversation: 'messages' is null, not a list"),
            (b'{"messages": {}}', "<stdin>:1: no conversation: 'messages' is an object, not a"),
            (b'"hi"\n', "<stdin>:1: no conversation: a string, not a list or an object"),
            (b"true\n", "<stdin>:1: no conversation: true, not a list or an object"),
            (b"[]\n\n7\n", "<stdin>:3: no conversation: a number"),
            (b"[null]\n" + b"[" * 200_000 + b"]" * 200_000, "<stdin>:2: nested too deeply"),
            (b'{"messages":[],"n":' + b"9" * 5000 + b"}", "<stdin>:1: a number has too many"),
        ],
    )
    @pytest.mark.parametrize("verb", ["normalize", "check"])
    def test_exit_2_names_file_line_and_reason(self, verb, text, reason):
        done = run(verb, "-q", stdin=text)
        assert done.returncode == 2
        assert done.stderr.decode().startswith(f"flowdrop-fast: {reason}")
        assert done.stderr.count(b"\n") == 1
        assert b"Traceback" not in done.stderr
        if verb == "normalize":
            assert done.stdout == b""

    def test_a_file_that_is_not_there(self, tmp_path):
        done = run("check", tmp_path / "no.json")
        assert done.returncode == 2
        expected = f"flowdrop-fast: {tmp_path}/no.json: cannot be read: No such file or directory\n"
        assert done.stderr.decode() == expected

    def test_a_directory(self, tmp_path):
        done = run("normalize", tmp_path)
        assert done.returncode == 2
        assert b"cannot be read: Is a directory" in done.stderr


class TestCheck:
    def test_findings_exit_1(self):
        done = run("check", EXAMPLES / "runs.jsonl")
        assert done.returncode == 1
        lines = done.stdout.decode().splitlines()
        assert lines[0] == f"{EXAMPLES}/runs.jsonl:2: 1 made (1 interrupted_result)"
        assert lines[1].startswith("  interrupted_result: Entry 1 ")
        assert lines[2] == f"{EXAMPLES}/runs.jsonl:3: 1 dropped (1 duplicate_result)"

    def test_lifting_is_no_finding(self):
        stored = [{"role": "user", "content": 1, "metadata": {}}]
        done = run("check", "-", stdin=compact(stored))
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")

    def test_strictly_it_is_one(self):
        stored = [{"role": "user", "content": 1, "metadata": {}}, {"role": "user", "content": "2"}]
        done = run("check", "--strict", "-", stdin=compact(stored))
        assert done.returncode == 1
        found = "Entry 0 is not a flat row of text, normalization would lift it to that shape."
        assert done.stdout.decode().splitlines() == [
            "<stdin>:1: 1 not flat (1 reshaped_message)",
            f"  reshaped_message: {found}",
        ]

    def test_strictly_nothing_is_told_twice(self):
        lists = [[{"role": "tool", "content": "x", "tool_call_id": "c1"}, {"role": "user"}, 5]]
        done = run("check", "--strict", "-", stdin=b"".join(map(compact, lists)))
        kinds = [line.split(":")[0].strip() for line in done.stdout.decode().splitlines()[1:]]
        assert kinds == ["orphan_result", "reshaped_message", "not_a_message"]

    def test_strictly_what_was_normalized_is_clean(self):
        normalized = run("normalize", EXAMPLES / "crashed_run.json").stdout
        assert run("check", "--strict", "-", stdin=normalized).returncode == 0

    def test_strictly_goes_with_no_option(self):
        done = run("check", "--strict", "--ids", "rescue", "-", stdin=b"[]")
        assert (done.returncode, done.stdout) == (2, b"")

    def test_what_was_normalized_is_clean(self):
        normalized = run("normalize", EXAMPLES / "crashed_run.json").stdout
        assert run("check", "-", stdin=normalized).returncode == 0


class TestExplain:
    def test_both_sides_and_every_record(self):
        env = {**os.environ, "COLUMNS": "110"}
        done = run("explain", "crashed_run.json", cwd=EXAMPLES, env=env)
        assert (done.returncode, done.stderr) == (0, b"")
        text = done.stdout.decode()
        assert "13 stored entries -> 12 messages to send" in text
        stored = json.loads((EXAMPLES / "crashed_run.json").read_bytes())
        sentences = [record.sentence for record in explain_conversation(stored["messages"]).records]
        assert len(sentences) == 6
        for sentence in sentences:
            assert text.count(sentence) == 1

    @pytest.mark.parametrize("columns", ["20", "60", "200"])
    def test_it_fits_the_width(self, columns):
        env = {**os.environ, "COLUMNS": columns}
        done = run("explain", "crashed_run.json", cwd=EXAMPLES, env=env)
        longest = max(map(len, done.stdout.decode().splitlines()))
        assert longest <= max(int(columns), 60)

    def test_nothing_steers_the_terminal(self):
        nasty = "\x1b[2J\x07\u202e\x9b31m"
        rows = [{"role": nasty, "content": nasty}, {"role": "tool", "tool_call_id": nasty}, nasty]
        done = run("explain", "-", stdin=compact(rows))
        assert done.returncode == 0
        assert done.stdout.decode().replace("\n", "").isprintable()

    def test_an_encoding_without_the_characters(self):
        rows = [{"role": "user", "content": "\u00e9\u4e2d\U0001f600"}]
        env = {**os.environ, "PYTHONIOENCODING": "ascii"}
        done = run("explain", "-", stdin=compact(rows), env=env)
        assert done.returncode == 0


class TestProcess:
    def test_version(self):
        done = run("--version")
        assert done.returncode == 0
        words = done.stdout.decode()
        assert words.startswith(f"flowdrop-fast {__version__} ({BACKEND} backend, CPython 3.")

    @pytest.mark.parametrize(
        "arguments", [[], ["frobnicate"], ["check", "--nonsense"], ["normalize", "--frob", "x"]]
    )
    def test_wrong_usage_exits_2(self, arguments):
        done = run(*arguments)
        assert done.returncode == 2
        assert done.stderr.startswith(b"usage: flowdrop-fast")

    @pytest.mark.parametrize("verb", ["normalize", "check", "explain"])
    def test_a_broken_pipe_exits_141_in_silence(self, verb):
        reader, writer = os.pipe()
        os.close(reader)
        try:
            done = subprocess.run(
                [sys.executable, "-m", "flowdrop_fast", verb, str(EXAMPLES / "runs.jsonl")],
                stdout=writer,
                stderr=subprocess.PIPE,
                timeout=60,
                check=False,
            )
        finally:
            os.close(writer)
        assert done.returncode == 141
        assert b"flowdrop-fast:" not in done.stderr
        assert b"Traceback" not in done.stderr

    def test_a_full_disk_exits_2(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [sys.executable, "-m", "flowdrop_fast", "normalize", EXAMPLES / "crashed_run.json"],
                stdout=full,
                stderr=subprocess.PIPE,
                timeout=60,
                check=False,
            )
        assert done.returncode == 2
        expected = "flowdrop-fast: standard output: cannot be written: No space left on device"
        assert done.stderr.decode().splitlines()[-1] == expected

    def test_a_full_disk_under_what_is_printed_exits_2(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [sys.executable, "-m", "flowdrop_fast", "explain", EXAMPLES / "crashed_run.json"],
                stdout=full,
                stderr=subprocess.PIPE,
                timeout=60,
                check=False,
            )
        assert done.returncode == 2
        assert done.stderr.decode() == "flowdrop-fast: No space left on device\n"

    def test_to_import_it_is_not_to_run_it(self):
        assert importlib.import_module("flowdrop_fast.__main__").main is main

    def test_in_process(self, capfdbinary):
        assert main(["check", str(EXAMPLES / "runs.jsonl")]) == 1
        assert b"duplicate_result" in capfdbinary.readouterr().out

    @pytest.mark.parametrize(
        ("command", "reason"),
        [
            ("normalize <&-", "<stdin>: cannot be read: it is closed"),
            ("normalize crashed_run.json >&-", "standard output: cannot be written: it is closed"),
            ("check runs.jsonl >&-", "standard output: cannot be written: it is closed"),
            ("explain runs.jsonl >&-", None),
            ("check crashed_run.json >&- 2>&-", None),
        ],
    )
    def test_closed_streams(self, command, reason):
        done = subprocess.run(
            f"'{sys.executable}' -m flowdrop_fast {command}",
            shell=True,
            cwd=EXAMPLES,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
        assert b"Traceback" not in done.stderr
        assert done.returncode == (0 if command.startswith("explain") else 2)
        if reason is not None:
            assert done.stderr.decode() == f"flowdrop-fast: {reason}\n"


class TestOptions:
    @pytest.mark.parametrize(
        ("arguments", "options"),
        [
            (["--ids", "rescue"], {"ids": "rescue"}),
            (["--pending", "keep"], {"pending": "keep"}),
            (["--interrupted", "never ran"], {"interrupted": "never ran"}),
            (["--system", "merge"], {"system": "merge"}),
            (
                ["--keep", "name", "--keep", "reasoning_content"],
                {"keep": ["name", "reasoning_content"]},
            ),
            (["--content", "parts"], {"content": "parts"}),
        ],
    )
    def test_they_are_those_of_the_library(self, arguments, options):
        stored = [
            {"role": "user", "content": [{"type": "text", "text": "hi"}], "name": "ann"},
            {"role": "system", "content": "one"},
            {"role": "system", "content": "two"},
            CALL,
            CALL,
            RESULT,
            RESULT,
            {**CALL, "tool_calls": [{"id": "c9"}], "reasoning_content": "hm"},
        ]
        assert normalize_conversation(stored, **options) != normalize_conversation(stored)
        done = run("normalize", "-q", *arguments, "-", stdin=compact(stored))
        assert json.loads(done.stdout) == normalize_conversation(stored, **options).messages
        checked = run("check", *arguments, "-", stdin=compact(stored)).stdout.decode()
        explained = run("explain", *arguments, "-", stdin=compact(stored))
        assert explained.returncode == 0
        for record in explain_conversation(stored, **options).records:
            assert record.sentence in checked

    @pytest.mark.parametrize("arguments", [["--keep", "role"], ["--interrupted", " "]])
    def test_what_they_refuse_is_wrong_usage(self, arguments):
        done = run("check", *arguments, "-")
        assert done.returncode == 2
        assert b"flowdrop-fast check: error:" in done.stderr
