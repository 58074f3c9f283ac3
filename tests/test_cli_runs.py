"""Long runs: many inputs, workers, files that appear whole or not at all, runs that resume."""

import bz2
import gc
import gzip
import io
import itertools
import json
import lzma
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
import zlib
from contextlib import closing
from types import SimpleNamespace

import pytest
import zstandard
from gate import LINE, Gate
from hypothesis import given
from hypothesis import strategies as st

from flowdrop_fast import normalize_conversation
from flowdrop_fast.cli import main, work
from flowdrop_fast.cli.errors import RunError
from flowdrop_fast.cli.journal import Journal, State
from flowdrop_fast.cli.pool import Pool, _serve, _Worker
from flowdrop_fast.cli.sinks import FileSink, PlaceSink
from flowdrop_fast.cli.sources import Source
from flowdrop_fast.cli.work import Settings, Task, Totals, perform, read_range

USER = {"role": "user", "content": "hi"}
CALL = {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "search"}]}
RESULT = {"role": "tool", "content": "found", "tool_call_id": "c1"}


def start(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "flowdrop_fast", *map(str, arguments)],
        stdin=options.pop("stdin", subprocess.DEVNULL),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def run(*arguments, stdin=None, **options):
    process = start(*arguments, stdin=subprocess.PIPE, **options)
    out, err = process.communicate(stdin or b"", timeout=120)
    assert b"Traceback" not in err, err.decode()
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def make_lines(count, seed=1, torn=0.0):
    """JSON Lines of irregular conversations, some of them torn."""
    chance = random.Random(seed)
    lines = []
    for number in range(count):
        messages = [
            USER,
            CALL,
            RESULT,
            {"role": "assistant", "content": "x" * chance.randrange(900)},
        ]
        if chance.random() < 0.5:
            messages.insert(chance.randrange(5), chance.choice([None, RESULT, CALL, USER]))
        value = {"id": number, "messages": messages, "é": 1.5} if number % 3 else messages
        line = json.dumps(value, ensure_ascii=number % 2 == 0).encode()
        if chance.random() < torn:
            line = line[: chance.randrange(1, len(line))]
        lines.append(line)
    return lines


def expected_line(line):
    value = json.loads(line)
    messages = value if isinstance(value, list) else value["messages"]
    normalized = normalize_conversation(messages).messages
    if normalized == messages:
        return line
    value = normalized if isinstance(value, list) else {**value, "messages": normalized}
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """A file that is worth several workers, and what becomes of it."""
    file = tmp_path_factory.mktemp("big") / "runs.jsonl"
    lines = make_lines(24_000)
    file.write_bytes(b"\n".join(lines) + b"\n")
    assert file.stat().st_size > 12 << 20
    return file, b"\n".join(map(expected_line, lines)) + b"\n"


@pytest.fixture
def gated(big, tmp_path_factory):
    """The big file again, with a gate behind it."""
    with Gate(tmp_path_factory.mktemp("gate"), big[0].read_bytes()) as gate:
        yield gate


class TestInputs:
    def test_several_files_leave_as_one(self, tmp_path):
        (tmp_path / "a.jsonl").write_bytes(b"[null]\n[]")
        (tmp_path / "b.json").write_bytes(b'\xef\xbb\xbf{\n "messages": [\n  null\n ]\n}\n')
        (tmp_path / "c.jsonl").write_bytes(b"")
        (tmp_path / "d.jsonl").write_bytes(b"\xef\xbb\xbf[ ]\n")
        done = run("normalize", "a.jsonl", "b.json", "c.jsonl", "d.jsonl", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, b'[]\n[]\n{"messages":[]}\n[ ]\n')
        assert done.stderr.splitlines()[:2] == [
            b"a.jsonl:1: 1 dropped (1 not_a_message)",
            b"b.json:1: 1 dropped (1 not_a_message)",
        ]

    @pytest.mark.parametrize("kind", ["gzip", "two gzip members", "bz2", "xz", "zstd"])
    @pytest.mark.parametrize("by", ["name", "standard input"])
    def test_compressed_input(self, tmp_path, kind, by):
        text = b"\n".join(make_lines(40))
        expected = b"\n".join(map(expected_line, text.split(b"\n")))
        if kind == "zstd":
            data = zstandard.compress(text[:500]) + zstandard.compress(text[500:])
        elif kind == "two gzip members":
            data = gzip.compress(text[:500]) + gzip.compress(text[500:])
        elif kind == "gzip":
            data = gzip.compress(text)
        else:
            data = {"bz2": bz2, "xz": lzma}[kind].compress(text)
        file = tmp_path / "runs"
        file.write_bytes(data)
        done = run("normalize", file) if by == "name" else run("normalize", stdin=data)
        assert (done.returncode, done.stdout) == (0, expected)

    @pytest.mark.parametrize("cut", [5, 30, 300])
    def test_compressed_data_that_ends_too_soon(self, tmp_path, cut):
        file = tmp_path / "runs.jsonl.gz"
        file.write_bytes(gzip.compress(b"\n".join(make_lines(40)))[:-cut])
        done = run("normalize", file, "-o", tmp_path / "out")
        assert done.returncode == 2
        assert b"runs.jsonl.gz: ends in the middle of its compressed data" in done.stderr
        assert os.listdir(tmp_path) == ["runs.jsonl.gz"]

    def test_corrupt_compressed_data(self):
        data = bytearray(gzip.compress(b"\n".join(make_lines(400))))
        data[len(data) // 2] ^= 0xFF
        with pytest.raises((zlib.error, OSError, EOFError)):
            gzip.decompress(bytes(data))
        done = run("check", "-q", stdin=bytes(data))
        assert done.returncode == 2
        assert b"flowdrop-fast: <stdin>: cannot be read:" in done.stderr

    @pytest.mark.parametrize("kind", ["gzip", "bz2", "xz", "zstd"])
    def test_data_that_only_begins_compressed(self, kind):
        magic = {"gzip": gzip, "bz2": bz2, "xz": lzma, "zstd": zstandard}[kind].compress(b"[]")
        done = run("normalize", stdin=magic[:10] + b"\xff" * 1000)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.startswith(b"flowdrop-fast: <stdin>: cannot be read: ")

    def test_a_fault_that_is_not_the_inputs_is_not_told_as_one(self, tmp_path):
        (tmp_path / "in").write_bytes(b"[]")
        source = Source(str(tmp_path / "in"))
        source.close()  # and to read a closed file is a fault of the program's
        with pytest.raises(ValueError, match="closed"):
            source._read()

    @pytest.mark.parametrize("where", ["standard library", "zstandard"])
    def test_zstd_is_read_by_what_there_is(self, tmp_path, where, monkeypatch):
        """Python has a module of its own from 3.14 on; a stand-in does for it here."""
        (tmp_path / "in").write_bytes(zstandard.compress(b"[null]\n"))
        opened = []

        def open_with(file):
            opened.append(file)
            return zstandard.ZstdDecompressor().stream_reader(file)

        standard = SimpleNamespace(ZstdFile=open_with) if where == "standard library" else None
        monkeypatch.setitem(sys.modules, "compression", SimpleNamespace(zstd=standard))
        monkeypatch.setitem(sys.modules, "compression.zstd", standard)
        assert main(["normalize", "-q", str(tmp_path / "in"), "-o", str(tmp_path / "out")]) == 0
        assert (tmp_path / "out").read_bytes() == b"[]\n"
        assert len(opened) == (where == "standard library")

    def test_a_long_document_in_a_stream(self):
        stored = [*[USER] * 30_000, None]
        text = json.dumps(stored, indent=2).encode()
        assert len(text) > 1 << 20
        done = run("normalize", "-q", stdin=text)
        expected = json.dumps(stored[:-1], indent=2).encode()
        assert (done.returncode, done.stdout) == (0, expected)

    def test_messages_path_can_be_left_to_the_command(self):
        done = run("normalize", "--messages-path", "auto", stdin=b'{"messages":[null]}')
        assert (done.returncode, done.stdout) == (0, b'{"messages":[]}')

    def test_messages_path(self):
        value = {"a/b": [{"deep": [USER, None]}], "messages": [None]}
        text = json.dumps(value).encode()
        done = run("normalize", "--messages-path", "/a~1b/0/deep", stdin=text)
        assert json.loads(done.stdout) == {**value, "a/b": [{"deep": [USER]}]}
        missing = run("normalize", "--messages-path", "/a~1b/1/deep", stdin=text)
        assert missing.returncode == 2
        assert b"<stdin>:1: no conversation at /a~1b/1/deep: no '1'" in missing.stderr

    def test_an_empty_pointer_is_the_whole_value(self):
        done = run("normalize", "--messages-path", "", stdin=b"[null]\n[[]]")
        assert (done.returncode, done.stdout) == (0, b"[]\n[]")

    def test_a_batch_request_is_found_by_itself(self):
        text = b'{"custom_id":"r1","body":{"model":"m","messages":[null]}}'
        done = run("normalize", stdin=text)
        assert done.stdout == text.replace(b"null", b"")

    def test_a_list_of_conversations_is_not_taken_for_one(self):
        done = run("normalize", stdin=b'[{"messages":[]},{"messages":[]}]')
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"a list of conversations, not of messages" in done.stderr

    def test_format_can_be_told(self):
        text = b'[\n{"role": "user", "content": ""}\n]'
        assert run("normalize", "-q", stdin=text).returncode == 0
        told = run("check", "-q", "--format", "jsonl", stdin=text)
        assert told.returncode == 2
        assert b"<stdin>:1: not JSON" in told.stderr

    def test_a_slow_stream_is_answered_line_by_line(self, tmp_path):
        errors = tmp_path / "errors"
        process = start("normalize", "-q", "--errors", errors, stdin=subprocess.PIPE)
        try:
            for _ in range(3):
                process.stdin.write(b"[null]\n")
                process.stdin.flush()
                assert process.stdout.readline() == b"[]\n"
            assert process.communicate(timeout=60) == (b"", b"")
            assert process.returncode == 0
        finally:
            process.kill()


class TestRanges:
    """A file is cut at any byte, and each range gives the lines that start in it."""

    @given(
        st.lists(st.binary(max_size=9).map(lambda line: line.replace(b"\n", b" "))),
        st.lists(st.integers(0, 60), max_size=4),
        st.integers(1, 8),
    )
    def test_together_they_give_every_line_once(self, lines, cuts, size):
        text = b"\n".join(lines)
        marks = [0, *sorted(cut for cut in cuts if 0 < cut < len(text)), len(text)]
        whole = b""
        for start, end in itertools.pairwise(marks):
            for offset, block in read_range(io.BytesIO(text), start, end, size):
                assert offset == len(whole)
                whole += block
                assert whole.endswith(b"\n") or whole == text
        assert whole == text

    @pytest.mark.parametrize(("start", "expected"), [(0, b"[1]\n[2"), (2, b"[2"), (20, b"")])
    def test_a_file_that_has_become_shorter(self, start, expected):
        blocks = [block for _, block in read_range(io.BytesIO(b"[1]\n[2"), start, 30, 4)]
        assert b"".join(blocks) == expected


class TestWorkers:
    @pytest.mark.parametrize("jobs", [1, 2, 3])
    def test_a_file_by_ranges(self, big, tmp_path, jobs):
        file, expected = big
        out = tmp_path / "out.jsonl"
        done = run("normalize", file, "-j", jobs, "-o", out)
        assert (done.returncode, done.stdout) == (0, b"")
        assert out.read_bytes() == expected
        assert os.listdir(tmp_path) == ["out.jsonl"]
        named = done.stderr.splitlines()
        assert len([line for line in named if line.startswith(b"%s:" % bytes(file))]) == 1000
        assert b"(further ones are not named; --report FILE has them all)" in named

    def test_a_file_to_standard_output(self, big):
        file, expected = big
        done = run("normalize", "-q", file, "-j", 2)
        assert (done.returncode, done.stdout, done.stderr) == (0, expected, b"")

    def test_a_stream(self, big):
        file, expected = big
        done = run("normalize", "-q", "-j", 2, stdin=file.read_bytes())
        assert (done.returncode, done.stdout, done.stderr) == (0, expected, b"")

    def test_from_any_thread(self, big, tmp_path):
        file, expected = big
        codes = []
        arguments = ["normalize", "-q", "-j", "2", str(file), "-o", str(tmp_path / "out")]
        thread = threading.Thread(target=lambda: codes.append(main(arguments)))
        thread.start()
        thread.join(120)
        assert codes == [0]
        assert (tmp_path / "out").read_bytes() == expected

    def test_explain_finds_a_line_far_down(self, big):
        file, _ = big
        lines = file.read_bytes().splitlines()
        number = max(n for n, line in enumerate(lines, 1) if expected_line(line) != line)
        done = run("explain", file, "--line", number)
        assert done.returncode == 0
        assert done.stdout.startswith(b"%s:%d: " % (bytes(file), number))
        assert done.stdout.count(b"stored entries") == 1

    @pytest.mark.parametrize("collecting", [True, False])
    def test_garbage_is_collected_as_before(self, tmp_path, collecting):
        (tmp_path / "in").write_bytes(b"[null]\n")
        before = gc.isenabled()
        try:
            gc.enable() if collecting else gc.disable()
            assert main(["normalize", "-q", str(tmp_path / "in"), "-o", str(tmp_path / "out")]) == 0
            assert gc.isenabled() == collecting
        finally:
            gc.enable() if before else gc.disable()

    def test_a_stream_and_files_to_a_file(self, big, tmp_path):
        file, expected = big
        packed = tmp_path / "packed.gz"
        packed.write_bytes(gzip.compress(file.read_bytes()[:-1], 1))
        out = tmp_path / "out"
        done = run("normalize", "-q", "-j", 2, packed, file, "-", "-o", out, stdin=b"[ ]")
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert out.read_bytes() == expected * 2 + b"[ ]"

    def test_normalizing_again_changes_nothing(self, big, tmp_path):
        _, expected = big
        (tmp_path / "once").write_bytes(expected)
        done = run("normalize", tmp_path / "once", "-o", tmp_path / "twice", "-j", 2)
        assert (tmp_path / "twice").read_bytes() == expected
        assert done.stderr.decode().split() == ["conversations", "24,000", "changed", "0"]
        assert run("check", tmp_path / "once", "-j", 2).returncode == 0

    def test_lines_longer_than_many_ranges(self, tmp_path):
        long = json.dumps([{"role": "user", "content": "x" * (13 << 20)}, None]).encode()
        lines = [b"[null]", long, b"[null]", long]
        file = tmp_path / "long.jsonl"
        file.write_bytes(b"\n".join(lines))
        done = run("normalize", file, "-o", tmp_path / "out", "-j", 2)
        assert done.returncode == 0
        assert (tmp_path / "out").read_bytes() == b"\n".join(map(expected_line, lines))

    def test_check_names_every_finding_by_its_line(self, big):
        file, _ = big
        lines = file.read_bytes().splitlines()
        bad = [number for number, line in enumerate(lines, 1) if expected_line(line) != line]
        done = run("check", file, "-j", 2)
        assert done.returncode == 1
        found = [
            int(line.removeprefix(b"%s:" % bytes(file)).split(b":")[0])
            for line in done.stdout.splitlines()
            if not line.startswith(b" ")
        ]
        assert found == bad


class TestReport:
    def test_one_object_for_each_record(self, big, tmp_path):
        file, _ = big
        report = tmp_path / "report.jsonl"
        done = run("check", "-q", file, "-j", 2, "--report", report)
        assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")
        records = [json.loads(line) for line in report.read_bytes().splitlines()]
        data = file.read_bytes()
        lines = data.splitlines()
        assert list(records[0]) == ["file", "line", "offset", "kind", "index", "id", "sentence"]
        assert {record["file"] for record in records} == {str(file)}
        for record in records[:: len(records) // 500]:
            line = lines[record["line"] - 1]
            assert data[record["offset"] :].startswith(line + b"\n")
            assert expected_line(line) != line
        numbers = [record["line"] for record in records]
        assert numbers == sorted(numbers)

    def test_the_summary_counts_what_the_report_holds(self, big, tmp_path):
        file, _ = big
        report = tmp_path / "report.jsonl"
        done = run("normalize", file, "-o", tmp_path / "out", "-j", 2, "--report", report)
        rows = dict(
            line.split() for line in done.stderr.decode().splitlines() if len(line.split()) == 2
        )
        kinds = {}
        for line in report.read_bytes().splitlines():
            kind = json.loads(line)["kind"]
            kinds[kind] = kinds.get(kind, 0) + 1
        assert rows.pop("conversations") == "24,000"
        assert {kind: f"{count:,}" for kind, count in kinds.items()}.items() <= rows.items()

    def test_on_standard_output(self):
        done = run("check", "--report", "-", stdin=b'[null]\n{"messages":[null]}')
        assert done.returncode == 1
        assert [json.loads(line)["line"] for line in done.stdout.splitlines()] == [1, 2]


class TestErrors:
    @pytest.mark.parametrize("jobs", [1, 2])
    def test_nothing_is_lost(self, tmp_path, jobs):
        lines = make_lines(24_000, seed=2, torn=0.05)
        lines[7] = b"\xff\xfe"
        lines[20_000] = b"[1e999999, 1" + b"0" * 5000 + b"]"
        lines[-1] = b'{"torn'
        data = b"\r\n".join(lines)
        (tmp_path / "in").write_bytes(data)
        done = run(
            *("normalize", "in", "-o", "out", "--errors", "errors", "-q", "-j", jobs), cwd=tmp_path
        )
        assert (done.returncode, done.stderr) == (1, b"")
        errors = [json.loads(line) for line in (tmp_path / "errors").read_bytes().splitlines()]
        kept = (tmp_path / "out").read_bytes()
        assert len(errors) + kept.count(b"\n") == len(lines)
        assert kept.endswith((b"]\r\n", b"}\r\n"))
        for error in errors:
            line = lines[error["line"] - 1] + (b"\r" if error["line"] < len(lines) else b"")
            assert data[error["offset"] :].startswith(line)
            if error["line"] == 8:
                assert error["reason"] == "not UTF-8: byte 0xff at byte 1"
                assert error["raw_base64"] == "//4N"
            else:
                assert error["raw"].encode() == line
        bad = {error["line"] for error in errors}
        good = [line for number, line in enumerate(lines, 1) if number not in bad]
        assert kept == b"".join(expected_line(line) + b"\r\n" for line in good)

    def test_the_line_before_a_torn_last_one_keeps_its_end(self, tmp_path):
        done = run("normalize", "--errors", tmp_path / "errors", stdin=b"[null]\n[]\n[torn")
        assert (done.returncode, done.stdout) == (1, b"[]\n[]\n")
        rows = [line.split() for line in done.stderr.decode().splitlines()]
        assert ["conversations", "2"] in rows
        assert ["set", "aside", "1"] in rows

    def test_so_it_does_in_a_piece_that_is_done_again_as_a_whole(self):
        task = Task(0, "in", 0, 12, 12, data=b"[null]\n[torn")
        result = perform(task, Settings(failing=False))
        assert (b"".join(result.output), result.ended) == (b"[]\n", True)
        assert [line for line, _ in result.unread] == [1]

    def test_without_a_place_for_them_the_first_stops_the_run(self, big, tmp_path):
        file, _ = big
        text = file.read_bytes()
        (tmp_path / "in").write_bytes(text + b"{torn\n" + text + b"[torn\n")
        done = run("normalize", "-q", "in", "-o", "out", "-j", 2, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr == (
            b"flowdrop-fast: in:24001: not JSON: Expecting property name enclosed in double "
            b"quotes at column 2\n"
        )
        assert os.listdir(tmp_path) == ["in"]

    def test_check_goes_on_and_tells_them_all(self):
        done = run("check", "-q", stdin=b"[]\n[torn\n[null]\n{torn\n")
        assert done.returncode == 2
        assert [line.split(b":")[2] for line in done.stderr.splitlines()] == [b"2", b"4"]
        stopped = run("check", "-q", "--on-error", "fail", stdin=b"[]\n[torn\n[null]\n{torn\n")
        assert (stopped.returncode, stopped.stderr.count(b"\n")) == (2, 1)

    def test_check_sets_them_aside(self, tmp_path):
        errors = tmp_path / "errors"
        done = run("check", "-q", "--errors", errors, stdin=b"[]\n[torn\n")
        assert (done.returncode, done.stderr) == (1, b"")
        assert json.loads(errors.read_bytes()) == {
            "file": "<stdin>",
            "line": 2,
            "offset": 3,
            "reason": "not JSON: Expecting value at column 2",
            "raw": "[torn",
        }

    def test_output_is_held_back_until_all_could_be_read(self):
        done = run("normalize", "-q", stdin=b"[null]\n" * 50_000 + b"[torn")
        assert (done.returncode, done.stdout) == (2, b"")


class TestOutput:
    def test_nothing_is_overwritten_without_force(self, tmp_path):
        for name in ("out", "report", "errors"):
            (tmp_path / name).write_text("precious")
            options = {"out": "-o", "report": "--report", "errors": "--errors"}
            done = run("normalize", options[name], name, stdin=b"[null]", cwd=tmp_path)
            assert (done.returncode, done.stdout) == (2, b"")
            assert b"%s: exists already; --force overwrites it" % name.encode() in done.stderr
            assert (tmp_path / name).read_text() == "precious"
        done = run("normalize", "-o", "out", "--force", stdin=b"[null]", cwd=tmp_path)
        assert done.returncode == 0
        assert (tmp_path / "out").read_bytes() == b"[]"
        assert sorted(os.listdir(tmp_path)) == ["errors", "out", "report"]

    def test_an_input_can_be_its_own_output(self, big, tmp_path):
        file, expected = big
        own = tmp_path / "own"
        own.write_bytes(file.read_bytes())
        own.chmod(0o640)
        refused = run("normalize", own, "-o", own)
        assert refused.returncode == 2
        assert own.read_bytes() == file.read_bytes()
        link = tmp_path / "link"
        link.symlink_to(own)
        done = run("normalize", own, "-o", link, "--force", "-j", 2)
        assert done.returncode == 0
        assert own.read_bytes() == expected
        assert link.is_symlink()
        assert own.stat().st_mode & 0o777 == 0o640

    def test_an_empty_input_gives_an_empty_output(self, tmp_path):
        done = run("normalize", "-o", "out", cwd=tmp_path)
        assert done.returncode == 0
        assert (tmp_path / "out").read_bytes() == b""

    @pytest.mark.parametrize(
        ("place", "reason"),
        [
            (".", "is a directory"),
            ("no/such/place", "No such file or directory"),
            ("/proc/out", "No such file or directory"),
            ("/dev/fd/999", "No such file or directory"),
            ("/dev/full", "No space left on device"),
        ],
    )
    def test_where_nothing_can_be_written(self, tmp_path, place, reason):
        done = run("normalize", "-q", "-o", place, stdin=b"[null]", cwd=tmp_path)
        assert done.returncode == 2
        assert reason in done.stderr.decode()
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize("force", [[], ["--force"]])
    def test_a_file_system_without_links(self, tmp_path, force, monkeypatch):
        def refuse(*_places):
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(os, "link", refuse)
        (tmp_path / "in").write_bytes(b"[null]")
        assert main(["normalize", str(tmp_path / "in"), "-o", str(tmp_path / "out"), *force]) == 0
        assert (tmp_path / "out").read_bytes() == b"[]"
        assert sorted(os.listdir(tmp_path)) == ["in", "out"]

    def test_a_file_that_appears_meanwhile_is_not_overwritten(self, tmp_path):
        sink = FileSink(str(tmp_path / "out"), False)
        sink.open(0)
        sink.write(b"[]")
        (tmp_path / "out").write_bytes(b"precious")
        with pytest.raises(RunError, match="out: exists already; --force overwrites it"):
            sink.commit()
        sink.discard()
        assert (tmp_path / "out").read_bytes() == b"precious"
        assert os.listdir(tmp_path) == ["out"]

    @pytest.mark.parametrize("force", [False, True])
    def test_a_file_that_is_taken_away_meanwhile_is_told(self, tmp_path, force):
        sink = FileSink(str(tmp_path / "out"), force)
        sink.open(0)
        os.unlink(sink.temporary)
        with pytest.raises(RunError, match="out: cannot be written: No such file or directory"):
            sink.commit()
        assert os.listdir(tmp_path) == []

    def test_a_place_that_cannot_be_written(self, tmp_path):
        with pytest.raises(RunError, match="none: cannot be written: No such file or directory"):
            PlaceSink((str(tmp_path / "none"), 0))
        sink = PlaceSink(("/dev/full", 0))
        with pytest.raises(RunError, match="/dev/full: cannot be written: No space left on device"):
            sink.write([b"[]"])
        sink.close()

    def test_a_report_that_cannot_be_written(self, tmp_path):
        done = run("check", "--report", tmp_path / "no" / "report", stdin=b"[null]")
        assert done.returncode == 2
        assert b"report: cannot be written: No such file or directory" in done.stderr

    def test_a_limit_of_the_files_size(self, tmp_path):
        resource = pytest.importorskip("resource", reason="no such limits on this system")
        sink = FileSink(str(tmp_path / "out"), False)
        sink.open(0)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
        try:
            with pytest.raises(RunError, match="out: cannot be written: File too large"):
                sink.write(b"x" * 2000)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        sink.discard()
        assert os.listdir(tmp_path) == []

    def test_an_input_that_is_not_there(self, tmp_path):
        done = run("normalize", "none", "-o", "out", cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr == b"flowdrop-fast: none: cannot be read: No such file or directory\n"
        assert os.listdir(tmp_path) == []

    def test_a_device_is_written_to(self):
        assert run("normalize", "-o", "/dev/null", stdin=b"[null]").returncode == 0

    @pytest.mark.parametrize(
        "arguments",
        [
            ("normalize", "--on-error", "collect"),
            ("normalize", "--errors", "x", "--on-error", "fail"),
            ("normalize", "--resume"),
            ("normalize", "-o", "x", "--report", "x"),
            ("normalize", "--report", "-"),
            ("normalize", "-", "-"),
            ("normalize", "-j", "0"),
            ("check", "--messages-path", "messages"),
            ("explain", "--line", "0"),
        ],
    )
    def test_contradictions_are_refused(self, arguments, tmp_path):
        done = run(*arguments, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.startswith(b"usage: flowdrop-fast")
        assert os.listdir(tmp_path) == []


class TestJournal:
    """What a run keeps of itself, and what an earlier one left of it."""

    @pytest.fixture
    def journal(self, tmp_path):
        journal = Journal(str(tmp_path / "out"), {"inputs": ["in"]})
        yield journal
        journal.release()

    def test_what_is_kept_is_taken_up(self, journal):
        journal.start()
        kept = State(next=3, line=7, sizes={"output": 9}, totals=Totals(2, 1, 0, {"no_role": 1}))
        journal.save(kept)
        journal.release()
        assert journal.resume() == kept

    @pytest.mark.parametrize("left", [{}, {"plan.json": "torn"}])
    def test_without_a_plan_all_begins_anew(self, journal, left):
        os.mkdir(journal.directory)
        for name in ("state.json", "output", *left):
            with open(os.path.join(journal.directory, name), "w") as file:
                file.write(left.get(name, '{"next": 5}'))
        assert journal.resume() == State()
        assert sorted(os.listdir(journal.directory)) == ["lock", "plan.json"]

    def test_without_a_state_nothing_is_done_yet(self, journal):
        journal.start()
        journal.release()
        assert journal.resume() == State()

    def test_what_cannot_be_written_is_told(self, journal):
        said = "out.unfinished: cannot be written: No such file or directory"
        for step in (journal.resume, lambda: journal.save(State())):
            with pytest.raises(RunError, match=said):
                step()

    def test_where_files_cannot_be_locked(self, journal, monkeypatch):
        monkeypatch.setitem(sys.modules, "fcntl", None)
        assert journal.start() == State()
        assert os.listdir(journal.directory) == ["plan.json"]

    def test_standard_input_cannot_be_resumed(self, tmp_path):
        done = run("normalize", "-o", "out", "--resume", stdin=b"[null]", cwd=tmp_path)
        assert done.returncode == 2
        assert b"only regular files can be resumed, not standard input or a pipe" in done.stderr
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize("output", [None, b"[]"])
    def test_an_output_that_was_cut_short_is_not_gone_on_with(self, tmp_path, output, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "in").write_bytes(b"[null]\n" * 9)

        def stop(_journal):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(FileSink, "commit", stop)
            assert main(["normalize", "-q", "in", "-o", "out"]) == 130
        written = tmp_path / "out.unfinished" / "output"
        assert written.read_bytes() == b"[]\n" * 9
        written.unlink()
        if output is not None:
            written.write_bytes(output)
        done = run("normalize", "-q", "in", "-o", "out", "--resume", cwd=tmp_path)
        assert done.returncode == 2
        assert b"output is gone or too short; --force begins anew" in done.stderr
        assert run("normalize", "-q", "in", "-o", "out", "--force").returncode == 0
        assert (tmp_path / "out").read_bytes() == b"[]\n" * 9
        assert sorted(os.listdir()) == ["in", "out"]


class TestWorker:
    """One worker, from within and from without."""

    @pytest.fixture
    def serve(self):
        """What a worker answers to messages; the last one may be that nobody listens any more."""

        def serve(settings, *messages, listening=True):
            mine, its = multiprocessing.Pipe()
            answers = []

            def ask():
                for message in messages:
                    mine.send(message)
                    if listening:
                        answers.append(mine.recv())
                mine.close()

            asking = threading.Thread(target=ask)
            asking.start()
            if not listening:
                asking.join()
            _serve(its, settings)
            asking.join()
            its.close()
            return answers

        handler, collecting = signal.getsignal(signal.SIGINT), gc.isenabled()
        yield serve
        signal.signal(signal.SIGINT, handler)
        if collecting:
            gc.enable()

    def test_it_answers_with_results(self, serve):
        task = Task(0, "in", 0, 7, 7, data=b"[null]\n")
        (result,) = serve(Settings(), task)
        assert (result.output, result.size, result.lines) == ([b"[]\n"], 3, 1)

    def test_it_holds_an_output_until_it_is_told_where_to_write_it(self, serve, tmp_path):
        (tmp_path / "out").write_bytes(b"[1]\n")
        task = Task(5, "in", 0, 7, 7, data=b"[null]\n", held=True)
        result, index = serve(Settings(), task, (5, (str(tmp_path / "out"), 4)))
        assert (result.output, result.size, index) == ([], 3, 5)
        assert (tmp_path / "out").read_bytes() == b"[1]\n[]\n"

    def test_it_writes_at_once_where_the_place_is_known(self, serve, tmp_path):
        (tmp_path / "out").write_bytes(b"[1]\n")
        place = (str(tmp_path / "out"), 4)
        (result,) = serve(
            Settings(), Task(5, "in", 0, 7, 7, data=b"[null]\n", held=True, place=place)
        )
        assert (result.output, result.size) == ([], 3)
        assert (tmp_path / "out").read_bytes() == b"[1]\n[]\n"

    def test_it_forgets_an_output_that_nobody_wants(self, serve):
        task = Task(5, "in", 0, 6, 6, data=b"[torn\n", held=True)
        result, index = serve(Settings(), task, (5, None))
        assert (len(result.unread), index) == (1, 5)

    def test_it_answers_with_what_went_wrong(self, serve, tmp_path):
        missing = Task(0, "in", 0, 7, 7, file=str(tmp_path / "in"))
        (error,) = serve(Settings(), missing)
        assert isinstance(error, RunError)
        assert str(error) == "in: cannot be read: No such file or directory"

    def test_it_answers_with_its_own_faults(self, serve):
        (error,) = serve("no settings", Task(0, "in", 0, 7, 7, data=b"[null]\n"))
        assert isinstance(error, RuntimeError)
        assert str(error).startswith("in a worker:\nTraceback")
        assert "AttributeError" in str(error)

    def test_it_ends_when_nobody_listens(self, serve):
        task = Task(0, "in", 0, 7, 7, data=b"[null]\n")
        assert serve(Settings(), task, listening=False) == []

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_what_a_dead_one_held_is_done_again(self, tmp_path, jobs):
        out = tmp_path / "out"
        out.write_bytes(b"[1]\n")

        def place(_task, _result):
            process = pool._workers[0]._process
            process.kill()
            process.join()
            return str(out), 4

        task = Task(0, "in", 0, 7, 7, data=b"[null]\n", held=True)
        pool = Pool(jobs, Settings(), lambda: None, place, lambda _task: None)
        with closing(pool):
            ((given, result),) = pool.run(iter([task]))
        assert (given, result.size, result.output) == (task, 3, [])
        assert out.read_bytes() == b"[1]\n[]\n"

    @pytest.mark.parametrize(("number", "cause"), [(9, "SIGKILL"), (35, "signal 35")])
    def test_what_it_died_of(self, number, cause):
        worker = _Worker(Settings())
        os.kill(worker._process.pid, number)
        assert not worker.receive()
        assert worker.cause_of_death() == cause
        worker.stop()

    def test_it_ended_by_itself(self):
        worker = _Worker(Settings())
        worker.connection.send("no task")
        with pytest.raises(RuntimeError, match="in a worker"):
            worker.receive()
        worker.connection.close()
        assert worker.cause_of_death() == "exit code 0"
        worker.stop()


def workers_of(process):
    """The processes that a process has started."""
    children = []
    for task in os.listdir(f"/proc/{process.pid}/task"):
        with open(f"/proc/{process.pid}/task/{task}/children") as file:
            children += map(int, file.read().split())
    return [pid for pid in children if b"spawn_main" in command_of(pid)]


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""


needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="looks into /proc")


@needs_proc
class TestDeath:
    def test_killed_at_random_moments_and_resumed(self, big, gated, tmp_path):
        file, expected = big
        lines = ["normalize", file, file, gated.file, "-o", "out", "--report", "report"]
        lines += ["-q", "-j", "2"]
        options = {"cwd": tmp_path, "env": gated.env}
        chance = random.Random(3)
        gated.open()
        whole = run(*lines[:4], "--report", "whole", "-q", "-o", "other", **options)
        assert whole.returncode == 0
        state = tmp_path / "out.unfinished" / "state.json"
        for kill in range(10):
            gated.close()
            process = start(*lines, "--resume", **options)
            if kill:
                wait_for(state, process, chance.randrange(kill), gated)
            time.sleep(chance.uniform(0, 0.1))
            process.kill()
            process.communicate()
            assert process.returncode == -signal.SIGKILL
            assert not (tmp_path / "out").exists()
        gated.open()
        assert run(*lines, "--resume", **options).returncode == 0
        assert (tmp_path / "out").read_bytes() == expected * 3 + LINE
        assert (tmp_path / "report").read_bytes() == (tmp_path / "whole").read_bytes()
        assert sorted(os.listdir(tmp_path)) == ["other", "out", "report", "whole"]

    def test_interrupted_and_resumed(self, big, gated, tmp_path):
        file, expected = big
        arguments = ["normalize", file, gated.file, "-o", "out", "-j", "2", "-q"]
        options = {"cwd": tmp_path, "env": gated.env}
        process = start(*arguments, **options, start_new_session=True, preexec_fn=heed_interrupts)
        wait_for(tmp_path / "out.unfinished" / "state.json", process)
        os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C does, workers and all
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert b"Traceback" not in err
        assert err.endswith(b"--resume takes it up\nflowdrop-fast: interrupted\n")
        assert os.listdir(tmp_path) == ["out.unfinished"]
        again = run(*arguments, **options)
        assert again.returncode == 2
        assert b"an unfinished run was found" in again.stderr
        other = run(*arguments, "--messages-path", "/x", "--resume", **options)
        assert other.returncode == 2
        assert b"cannot be resumed, the inputs or options are others now" in other.stderr
        gated.open()
        done = run(*arguments, "--resume", **options)
        assert done.returncode == 0
        assert (tmp_path / "out").read_bytes() == expected * 2 + LINE
        assert os.listdir(tmp_path) == ["out"]

    @pytest.mark.parametrize("moved", [[], ["report"], ["report", "out"]])
    def test_stopped_while_its_files_are_moved(self, tmp_path, moved, monkeypatch):
        """A finished run leaves three steps: the report's move, the output's, the clean-up."""
        (tmp_path / "in").write_bytes(b"[null]\n")
        monkeypatch.chdir(tmp_path)
        steps = []

        def stop_behind(commit):
            def stopping(sink):
                if len(steps) == len(moved):
                    raise KeyboardInterrupt
                steps.append(sink)
                commit(sink)

            return stopping

        arguments = ["normalize", "-q", "in", "-o", "out", "--report", "report"]
        with monkeypatch.context() as patch:
            patch.setattr(FileSink, "commit", stop_behind(FileSink.commit))
            if len(moved) == 2:
                patch.setattr(Journal, "remove", stop_behind(Journal.remove))
            assert main(arguments) == 130
        assert sorted(os.listdir()) == sorted(
            ["in", "out.unfinished", *moved, *([] if moved else ["report.unfinished"])]
        )
        assert main([*arguments, "--resume"]) == 0
        assert (tmp_path / "out").read_bytes() == b"[]\n"
        assert json.loads((tmp_path / "report").read_bytes())["kind"] == "not_a_message"
        assert sorted(os.listdir()) == ["in", "out", "report"]

    def test_force_begins_anew(self, big, gated, tmp_path):
        _, expected = big
        arguments = ["normalize", gated.file, "-o", "out", "-j", "2", "-q"]
        options = {"cwd": tmp_path, "env": gated.env}
        process = start(*arguments, **options)
        wait_for(tmp_path / "out.unfinished" / "state.json", process)
        process.kill()
        process.communicate()
        gated.open()
        done = run(*arguments, "--force", **options)
        assert (done.returncode, done.stderr) == (0, b"")
        assert (tmp_path / "out").read_bytes() == expected + LINE

    def test_two_runs_do_not_write_one_output(self, gated, tmp_path):
        arguments = ["normalize", gated.file, "-o", "out", "-j", "1", "-q"]
        options = {"cwd": tmp_path, "env": gated.env}
        process = start(*arguments, **options)
        try:
            wait_for(tmp_path / "out.unfinished" / "state.json", process)
            other = run(*arguments, "--force", **options)
            assert other.returncode == 2
            assert b"out: another run is writing it" in other.stderr
            gated.open()
            assert process.wait(60) == 0
        finally:
            process.kill()
            process.communicate()

    def test_killed_workers_cost_nothing(self, big, gated, tmp_path):
        file, expected = big
        arguments = ["normalize", file, gated.file, "-o", "out", "-j", "2", "-q"]
        process = start(*arguments, cwd=tmp_path, env=gated.env)
        killed = 0
        try:
            while killed < 6:
                assert process.poll() is None
                for pid in workers_of(process)[:1]:
                    time.sleep(0.1)
                    try:
                        os.kill(pid, signal.SIGKILL)
                        killed += 1
                    except ProcessLookupError:
                        pass
        finally:
            gated.open()
            out, err = process.communicate(timeout=120)
        assert (process.returncode, out, err) == (0, b"", b"")
        assert (tmp_path / "out").read_bytes() == expected * 2 + LINE

    @pytest.mark.parametrize("to", ["a file", "standard output"])
    def test_a_line_that_kills_is_set_aside(self, big, tmp_path, to):
        # A worker that meets the word dies of a signal, as of a crash deep inside a parser.
        (tmp_path / "sitecustomize.py").write_text(
            textwrap.dedent("""
                import os
                from flowdrop_fast.cli import work
                read = work.read
                def deadly(raw):
                    if b"POISON" in raw:
                        os.kill(os.getpid(), 11)
                    return read(raw)
                work.read = deadly
            """)
        )
        file, expected = big
        poison = b'[{"role": "user", "content": "POISON"}]'
        text = file.read_bytes() + b"[null]\n" + poison + b"\n[null]\n" + poison
        (tmp_path / "in").write_bytes(text)
        env = {**os.environ, "PYTHONPATH": str(tmp_path)}
        out = ["-o", "out"] if to == "a file" else []
        arguments = ["normalize", "in", *out, "-j", "2", "-q"]
        done = run(*arguments, "--errors", "errors", cwd=tmp_path, env=env)
        assert (done.returncode, done.stderr) == (1, b"")
        written = (tmp_path / "out").read_bytes() if out else done.stdout
        assert written == expected + b"[]\n[]\n"
        errors = [json.loads(line) for line in (tmp_path / "errors").read_bytes().splitlines()]
        assert [error["line"] for error in errors] == [24_002, 24_004]
        for error in errors:
            assert error["reason"] == "reading it kills the process (SIGSEGV)"
            assert error["raw"] == poison.decode()
            assert text[error["offset"] :].startswith(poison)
        failed = run(*arguments, "--force", cwd=tmp_path, env=env)
        assert failed.returncode == 2
        assert b"in:24002: reading it kills the process (SIGSEGV)" in failed.stderr

    @pytest.fixture
    def sabotage(self, tmp_path, monkeypatch):
        """Have every worker, but not this process, run a piece of code first."""

        def sabotage(code):
            (tmp_path / "sitecustomize.py").write_text(textwrap.dedent(code))
            monkeypatch.setenv("PYTHONPATH", str(tmp_path))
            monkeypatch.chdir(tmp_path)

        return sabotage

    # The first worker that is to write an output that it holds dies instead.
    DIES_AS_IT_WRITES = """
        import os
        from flowdrop_fast.cli import pool

        class DeadlySink(pool.PlaceSink):
            def write(self, pieces):
                try:
                    os.mkdir("died")
                except FileExistsError:
                    return super().write(pieces)
                {more}
                os._exit(3)

        pool.PlaceSink = DeadlySink
        """

    def test_a_worker_that_dies_as_it_writes_costs_nothing(self, big, tmp_path, sabotage):
        file, expected = big
        sabotage(self.DIES_AS_IT_WRITES.format(more=""))
        assert main(["normalize", "-q", str(file), "-o", "out", "-j", "2"]) == 0
        assert os.path.isdir("died")
        assert (tmp_path / "out").read_bytes() == expected

    def test_an_input_that_changes_meanwhile(self, big, tmp_path, sabotage, capfd):
        file, _ = big
        (tmp_path / "in").write_bytes(file.read_bytes())
        sabotage(self.DIES_AS_IT_WRITES.format(more='os.truncate("in", 1 << 20)'))
        assert main(["normalize", "-q", "in", "-o", "out", "-j", "2"]) == 2
        assert os.path.isdir("died")
        assert "in: did not give the same output twice" in capfd.readouterr().err
        assert not (tmp_path / "out").exists()

    def test_an_input_that_vanishes_meanwhile(self, big, tmp_path, sabotage, capfd):
        file, _ = big
        (tmp_path / "in").write_bytes(file.read_bytes())
        sabotage('import contextlib, os\nwith contextlib.suppress(OSError): os.unlink("in")')
        assert main(["normalize", "-q", "in", "-o", "out", "-j", "2"]) == 2
        said = "flowdrop-fast: in: cannot be read: No such file or directory\n"
        assert capfd.readouterr().err == said
        assert not [name for name in os.listdir() if name.startswith(("in", "out"))]

    def test_a_broken_pipe_in_the_middle(self, big):
        file, _ = big
        process = start("normalize", "-q", "-j", "2", file, file)
        process.stdout.read(100)
        process.stdout.close()
        assert process.wait(60) == 141
        assert process.stderr.read() == b""
        process.stderr.close()


def heed_interrupts():
    """What a shell starts in the background ignores them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for(state, process, tasks=0, gate=None):
    """Wait until the state of a run is there, and tells of so many tasks; or until a gate."""
    for _ in range(6000):
        if state.exists() and json.loads(state.read_bytes())["next"] >= tasks:
            return
        if gate is not None and gate.is_reached():
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    raise AssertionError(f"{state} did not appear")


@pytest.mark.parametrize("indent", [None, 1], ids=["line", "document"])
def test_a_conversation_that_memory_does_not_suffice_for(tmp_path, monkeypatch, capfd, indent):
    def explain(_messages):
        raise MemoryError

    monkeypatch.setattr(work, "explain_conversation", explain)
    file, out = tmp_path / "run.json", tmp_path / "out.json"
    file.write_text(json.dumps([USER], indent=indent))
    assert main(["normalize", str(file), "-o", str(out)]) == 2
    assert f"{file}:1: too long for the memory there is" in capfd.readouterr().err
    assert os.listdir(tmp_path) == ["run.json"]
