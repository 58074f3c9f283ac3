"""Reading and writing JSON: with orjson and without it the same values, and none that is lost."""

import json
import math
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowdrop_fast.cli import codec, layout
from flowdrop_fast.cli.arguments import _cpus
from flowdrop_fast.cli.cells import make_cell
from flowdrop_fast.cli.console import amount, progress_line
from flowdrop_fast.cli.conversations import find_messages, parse_pointer, treat
from flowdrop_fast.cli.errors import UnreadableError

numbers = st.one_of(
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.sampled_from([2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**25]),
    st.floats(),
)
texts = st.one_of(
    st.text(), st.sampled_from(["\ud800", "\u2028", "9" * 25, ": 99999999999999999999"])
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(texts, inner)),
    max_leaves=12,
)


def same(one, other):
    """Equal, types and all; NaN equals NaN."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    return one == other


@given(values, st.booleans())
def test_what_is_read_is_written_and_read_again(value, ascii_only):
    text = json.dumps(value, ensure_ascii=ascii_only).encode(errors="surrogatepass")
    try:
        text.decode()
    except UnicodeDecodeError:  # a lone surrogate that is not escaped
        with pytest.raises(UnreadableError, match="not UTF-8"):
            codec.load(text)
        return
    read, write = codec.load(text)
    assert same(read, value)
    assert same(json.loads(write(read)), value)
    assert b"\n" not in write(read)


@given(st.binary(max_size=40))
def test_whatever_is_no_json_says_so(text):
    try:
        expected = json.loads(text.decode())
    except (ValueError, RecursionError):
        with pytest.raises(UnreadableError):
            codec.load(text)
    else:
        assert same(codec.load(text)[0], expected)


@pytest.mark.parametrize("depth", [200, 260, 700])
def test_deep_values_survive(depth):
    text = b"[" * depth + b"]" * depth
    read, write = codec.load(text)
    assert write(read) == text


def test_values_that_are_too_deep_say_so():
    with pytest.raises(UnreadableError, match="nested too deeply"):
        codec.load(b"[" * 200_000 + b"]" * 200_000)


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def test_a_document_that_is_too_deep_to_be_written_says_so():
    with pytest.raises(UnreadableError, match="nested too deeply"):
        codec.dump_document(nested(100_000), "  ")


def test_a_call_that_is_too_deep_to_be_shown_says_so():
    call = {"id": "c1", "name": "search", "args": nested(100_000)}
    cell = make_cell({"role": "assistant", "content": "", "tool_calls": [call]})
    assert cell.calls == ["calls search [c1] (nested too deeply to be shown)"]


def test_a_text_for_which_there_is_no_memory_says_so(monkeypatch):
    def without_memory(_text):
        raise MemoryError

    monkeypatch.setattr(codec, "read", without_memory)
    with pytest.raises(UnreadableError, match="too long for the memory there is"):
        codec.load(b"[]")


def test_amounts_and_rates():
    assert amount(5e15) == "5000.0 TB"
    assert progress_line(1000, None, 7, 0.0) == "1.0 kB  7 conversations  0 B/s"
    assert progress_line(1000, None, 7, 2.0) == "1.0 kB  7 conversations  500 B/s"


def test_processes_for_each_cpu(monkeypatch):
    assert 1 <= _cpus() <= os.cpu_count()
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert _cpus() == os.cpu_count()
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert _cpus() == 1


class TestLayout:
    @pytest.mark.parametrize(
        ("text", "document"),
        [
            (b"", False),
            (b"[]", False),
            (b"[]\n", False),
            (b"\n\n[]\n\n[]", False),
            (b"[\n]", True),
            (b"\xef\xbb\xbf\n[\n]\n", True),
            (b'{\n"messages": []}\n', True),
            (b'{"messages": [\n{"role": "user"}\n]}', True),
            (b'[{"role": "user"}\n,{"role": "user"}\n]', True),
            (b'[{"torn": "\n[]\n[]\n', False),
            (b'[{"torn":\n[]\n[]\n', False),
            (b"garbage\n[]\n", False),
            (b"garbage\ngarbage\n", False),
            (b'[\n  {"role" "user"}\n]', True),
            (b"[\n" + b"[" * 200_000 + b"]" * 200_000 + b"\n]", True),
        ],
    )
    def test_what_is_a_document(self, text, document):
        assert layout.is_document(text, True) == document

    @pytest.mark.parametrize(
        "text",
        [
            b"[\n" + b"[" * 200_000 + b"]" * 200_000 + b",\n",
            b'[\n{"cost": ' + b"9" * 5000 + b"},\n",
            b"[\n]\n",
        ],
    )
    def test_a_beginning_that_may_go_on(self, text):
        assert layout.is_document(text, False)

    @given(
        st.lists(st.dictionaries(st.text(max_size=3), st.text(max_size=9)), min_size=1),
        st.sampled_from([0, 1, 2, "\t"]),
        st.data(),
    )
    def test_a_beginning_is_enough(self, value, indent, data):
        text = json.dumps(value, indent=indent).encode()
        size = data.draw(st.integers(text.find(b"\n") + 2, len(text)))
        assert layout.is_document(text[:size], False)


class TestFinding:
    @pytest.mark.parametrize("text", ["messages", "/a~2", "/~", "a/b"])
    def test_what_is_no_pointer(self, text):
        with pytest.raises(ValueError, match="is no JSON pointer"):
            parse_pointer(text)

    @given(st.lists(st.text(max_size=4), max_size=4))
    def test_pointers_name_every_key(self, keys):
        pointer = "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)
        assert parse_pointer(pointer) == tuple(keys)
        value = messages = [{"role": "user", "content": "hi"}]
        for key in reversed(keys):
            value = {key: value, "other" + key: 1}
        assert find_messages(value, parse_pointer(pointer))[0] is messages

    @pytest.mark.parametrize("index", ["-1", "01", "1", "x", "9" * 30])
    def test_indexes_that_lead_nowhere(self, index):
        with pytest.raises(UnreadableError, match="no conversation at /a/"):
            treat({"a": [[]]}, ("a", index))

    def test_other_values_at_the_usual_places(self):
        value = {"messages": "none", "body": {"messages": [None]}}
        assert treat(value).value == {"messages": "none", "body": {"messages": []}}
