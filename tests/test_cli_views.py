"""`explain`: every entry and every row once, every record told, nothing that escapes."""

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import plain_histories

from flowdrop_fast import explain_conversation
from flowdrop_fast.cli import main
from flowdrop_fast.cli.alignment import DROPPED, KEPT, MADE, MOVED_AWAY, MOVED_HERE, align
from flowdrop_fast.cli.cells import make_cell
from flowdrop_fast.cli.conversations import Treated
from flowdrop_fast.cli.html_view import section
from flowdrop_fast.cli.text_view import draw

EXAMPLES = Path(__file__).parent.parent / "examples"
NASTY = "</div><script>alert('x')</script>&amp;\x1b[2J\u202e\x00"


def treated(messages, **options):
    explanation = explain_conversation(messages, **options)
    return Treated(list(messages), explanation.messages, explanation.records, None)


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "ids": st.just("rescue"),
        "pending": st.just("keep"),
        "interrupted": st.just("unknown"),
        "system": st.just("merge"),
        "keep": st.just(("name", "source")),
        "content": st.just("parts"),
    },
)


@given(plain_histories(), OPTIONS)
def test_each_side_reads_as_the_conversation_did(case, options):
    view = treated(case.messages, **options)
    pairs = align(view, options)
    left = [pair for pair in pairs if pair.fate in (KEPT, DROPPED, MOVED_AWAY)]
    assert [pair.source for pair in left] == list(range(len(view.before)))
    assert all(pair.before is view.before[pair.source] for pair in left)
    right = [pair.after for pair in pairs if pair.fate in (KEPT, MADE, MOVED_HERE)]
    assert [id(row) for row in right] == [id(row) for row in view.after]
    told = [record for pair in pairs for record in pair.records]
    assert sorted(map(id, told)) == sorted(map(id, view.records))


def test_an_entry_that_has_the_key_of_the_mark():
    rows = [{"role": "user", "content": "hi", "source": 5, "source_": 6}, None]
    pairs = align(treated(rows), {})
    assert [(pair.fate, pair.source) for pair in pairs] == [(KEPT, 0), (DROPPED, 1)]


@pytest.mark.parametrize(
    ("row", "title"),
    [
        ({"tool_call_id": " c1 "}, "tool, answers c1"),
        ({"metadata": {"tool_call_id": "c1"}}, "tool, answers c1 (in metadata)"),
        ({"tool_call_id": "0"}, "tool, answers nothing"),
    ],
)
def test_a_result_says_what_it_answers(row, title):
    assert make_cell({"role": "tool", "content": "ok", **row}).title == title


def test_a_call_that_is_none_is_shown_as_it_is():
    cell = make_cell({"role": "assistant", "tool_calls": ["é", {"id": "c1", "name": 5}]})
    assert cell.calls == ['calls "é" [no usable id]', "calls ? [c1]"]


@pytest.mark.parametrize("length", [200, 201])
def test_what_is_too_wide_is_cut(length):
    rows = [None, {"role": "assistant", "tool_calls": [{"id": "c1", "name": "\u4e2d" * length}]}]
    lines = list(draw("run:1", treated(rows), {}, 80, False))
    (line,) = {line.split("|")[0].rstrip() for line in lines if "calls \u4e2d" in line}
    assert line.endswith("\u4e2d...")


@given(plain_histories(), OPTIONS)
def test_every_history_can_be_drawn(case, options):
    view = treated(case.messages, **options)
    text = "\n".join(draw("run:1", view, options, 80, False))
    assert text.replace("\n", "").isprintable()
    painted = "\n".join(draw("run:1", view, options, 80, True))
    assert re.sub("\x1b\\[[0-9;]*m", "", painted) == text
    check_page(section("run:1", view, options))


class Checker(HTMLParser):
    """Reads a page and refuses what would load or run anything."""

    VOID = ("meta",)

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open = []
        self.text = ""

    def handle_starttag(self, tag, attributes):
        assert tag not in ("script", "img", "link", "iframe", "object", "a", "form")
        for name, _ in attributes:
            assert name in ("class", "lang", "charset", "name", "content", "http-equiv")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def check_page(html):
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert checker.open == []
    assert html.replace("\n", "").isprintable()
    return checker.text


class TestPage:
    def test_a_page_of_the_example(self, tmp_path):
        page = tmp_path / "page.html"
        assert main(["explain", str(EXAMPLES / "crashed_run.json"), "--html", str(page)]) == 0
        html = page.read_text(encoding="utf-8")
        text = check_page(html)
        stored = json.loads((EXAMPLES / "crashed_run.json").read_bytes())["messages"]
        for record in explain_conversation(stored).records:
            assert text.count(record.sentence) == 1
        assert "url(" not in html
        assert "http:" not in html
        assert "https:" not in html
        assert os.listdir(tmp_path) == ["page.html"]

    def test_everything_is_escaped(self, tmp_path):
        messages = [
            {"role": NASTY, "content": NASTY},
            {"role": "assistant", "tool_calls": [{"id": NASTY, "name": NASTY, "args": {NASTY: 1}}]},
            {"role": "tool", "tool_call_id": NASTY + "2", "content": [NASTY]},
            NASTY,
        ]
        file = tmp_path / (NASTY.replace("/", "").replace("\x00", "") + ".json")
        file.write_text(json.dumps({"messages": messages}))
        page = tmp_path / "page.html"
        assert main(["explain", str(file), "--html", str(page)]) == 0
        text = check_page(page.read_text(encoding="utf-8"))
        assert text.count("</div><script>alert('x')</script>&amp;\\x1b[2J\\u202e\\x00") >= 8

    def test_long_text_is_folded_and_all_there(self):
        view = treated([{"role": "user", "content": "word " * 2000}, None])
        html = section("run:1", view, {})
        assert html.count("<details>") == 2
        assert check_page(html).count("word ") == 4000

    def test_no_page_is_overwritten_without_force(self, tmp_path, capsys):
        page = tmp_path / "page.html"
        page.write_text("precious")
        arguments = ["explain", str(EXAMPLES / "runs.jsonl"), "--html", str(page)]
        assert main(arguments) == 2
        assert "exists already; --force overwrites it" in capsys.readouterr().err
        assert page.read_text() == "precious"
        assert main([*arguments, "--force"]) == 0
        assert page.read_text().startswith("<!DOCTYPE html>")

    def test_no_page_of_what_cannot_be_read(self, tmp_path):
        file = tmp_path / "torn.jsonl"
        file.write_bytes(b"[null]\n[torn\n")
        assert main(["explain", str(file), "--html", str(tmp_path / "page.html")]) == 2
        assert os.listdir(tmp_path) == ["torn.jsonl"]


class TestText:
    def test_lines_can_be_chosen(self, capfd):
        runs = str(EXAMPLES / "runs.jsonl")
        assert main(["explain", runs, "--line", "3"]) == 0
        out = capfd.readouterr().out
        assert f"{runs}:3: 5 stored entries -> 4 messages to send" in out
        assert f"{runs}:2" not in out
        assert main(["explain", runs, "--line", "9"]) == 2
        assert "flowdrop-fast: no conversation on line 9" in capfd.readouterr().err

    def test_what_needs_no_change_takes_one_line(self, capfd):
        runs = str(EXAMPLES / "runs.jsonl")
        assert main(["explain", runs, "--line", "1"]) == 0
        assert capfd.readouterr().out == f"{runs}:1: 2 messages, nothing to change\n"

    @pytest.mark.parametrize(
        ("arguments", "environment", "coloured"),
        [
            ([], {}, False),
            (["--color", "always"], {}, True),
            (["--color", "always"], {"NO_COLOR": "1"}, True),
            (["--color", "never"], {}, False),
        ],
    )
    def test_colours_in_a_pipe(self, arguments, environment, coloured):
        done = subprocess.run(
            [sys.executable, "-m", "flowdrop_fast", "explain", *arguments, "crashed_run.json"],
            cwd=EXAMPLES,
            env={**os.environ, **environment},
            capture_output=True,
            timeout=60,
            check=True,
        )
        assert (b"\x1b[" in done.stdout) == coloured
        assert (b"\x1b[9;31m" in done.stdout) == coloured  # dropped rows are struck out
