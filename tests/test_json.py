"""The JSON codec: the same values and texts whether orjson is there or not."""

import json
import math
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowdrop_fast import _json, _pure


@pytest.fixture(params=["orjson", "orjson, pure", "standard"])
def every_reader(request, monkeypatch):
    """Every way to read and write; orjson must be there, or this fails."""
    if request.param == "standard":
        monkeypatch.setattr(_json, "orjson", None)
    else:
        assert _json.orjson is not None, "these tests need orjson: pip install -e '.[test]'"
    if request.param == "orjson, pure":
        monkeypatch.setattr(_json, "backend", _pure)


every_way = pytest.mark.usefixtures("every_reader")


def without_orjson(function, *args):
    saved, _json.orjson = _json.orjson, None
    try:
        return outcome(function, *args)
    finally:
        _json.orjson = saved


def outcome(function, *args):
    try:
        return function(*args)
    except ValueError as error:
        return f"ValueError: {error}"


SPELLED_THE_SAME = [
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "-9223372036854775809",
    '{"id":123456789012345678901234567890}',
    '["é","\\u0000","\\ud800","a\\udfffb"]',
    '{"\\ud800":1}',
    "[NaN,Infinity,-Infinity,null]",
    '"\U0001f600\u2028\x7f"',
    "[-0.0,1.5,1e+16]",
    "{}",
    '[true,false,null,"",[],{}]',
]


@every_way
@pytest.mark.parametrize("text", SPELLED_THE_SAME)
@pytest.mark.parametrize("kind", [str, str.encode])
def test_a_compact_text_comes_back_byte_for_byte(text, kind):
    value, write = _json.read(kind(text))
    assert write(value) == text.encode()
    assert _json.dumps(value) == text.encode()


@every_way
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-0", 0),
        ("1E5", 100000.0),
        ("1e-400", 0.0),
        (' {"a": 1, "b": 2, "a": 3}\r\n', {"a": 3, "b": 2}),
        ('"\\ud83d\\ude00"', "\U0001f600"),
        ("[1, -9223372036854775809]", [1, -9223372036854775809]),
        ("-" + "9" * 4300, -int("9" * 4300)),
        ("123456789012345678901234567890.5", 1.2345678901234568e29),
        ('{"snowflake": "12345678901234567890"}', {"snowflake": "12345678901234567890"}),
    ],
)
def test_read(text, value):
    found = _json.loads(text)
    assert (found, type(found)) == (value, type(value))
    assert _json.loads(text.encode()) == value


@every_way
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "Expecting value"),
        (b"[1,]", "Expecting value|trailing comma"),
        (b'"\x01"', "Invalid control character"),
        (b'"\xff"', "can't decode byte 0xff"),
        (b'"\xed\xa0\x80"', "can't decode byte 0xed"),
        ("[]".encode("utf-16"), "can't decode byte"),
        ("[]".encode("utf-8-sig"), "byte order mark"),
        (b"[] []", "Extra data"),
        (b"[1e400]", "number out of range: 1e400"),
        (b"-" + b"9" * 400 + b".5", r"number out of range: -9{19}\.\.\."),
        (b"9" * 4301, "4300"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b"nan", "Expecting value"),
    ],
)
def test_what_cannot_be_read_is_a_value_error(text, reason):
    with pytest.raises(ValueError, match=reason):
        _json.loads(text)
    assert outcome(_json.loads, text) == without_orjson(_json.loads, text)


@every_way
@pytest.mark.parametrize("depth", [254, 255, 500])
def test_nesting_up_to_500_levels(depth):
    for text in (b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth):
        value, write = _json.read(text)
        assert write(value) == text
        assert _json.dumps(value) == text


@every_way
def test_what_cannot_be_written():
    circle = []
    circle.append(circle)
    deep = None
    for _ in range(200_000):
        deep = [deep]
    for value in (circle, deep):
        with pytest.raises(ValueError, match=r"nested too deeply|Circular"):
            _json.dumps(value)
    while deep:
        deep = deep.pop()  # freed step by step: nothing recurses
    with pytest.raises(TypeError):
        _json.dumps({"a": {1, 2}})


@every_way
def test_numbers_that_are_not_finite_are_never_written_as_null():
    assert _json.dumps({"a": None, "b": math.nan}) == b'{"a":null,"b":NaN}'
    assert _json.dumps([math.inf, "null"]) == b'[Infinity,"null"]'
    assert _json.dumps([None, 10**30]) == b"[null,1000000000000000000000000000000]"
    assert _json.dumps([None, "\ud800"]) == b'[null,"\\ud800"]'


@every_way
def test_long_integers_are_seen_wherever_they_stand():
    for before in range(40):
        for number in (2**64, -(2**63) - 1, 10**25, -(10**60)):
            for filler in ("x", "1"):
                text = f'{{"{filler * before}":{number},"b":1.5}}'
                assert _json._may_hold_long_integer(text.encode()), text
                assert _json.loads(text) == {filler * before: number, "b": 1.5}
                assert _json.loads(f"{' ' * before}{number}") == number


def test_short_numbers_are_not_taken_for_long_ones():
    text = json.dumps({"id": "12345678901234567890123", "at": 1718000000.123456, "n": 10**17})
    assert not _json._may_hold_long_integer(text.encode())


numbers = st.one_of(
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False),
    st.sampled_from([2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, -0.0, 1e22]),
)
text = st.text(st.characters(codec=None))  # lone surrogates, too
values = st.recursive(
    st.none() | st.booleans() | numbers | text,
    lambda inner: st.lists(inner) | st.dictionaries(text, inner),
)


@given(values)
def test_both_ways_read_and_write_the_same(value):
    for ascii_only in (True, False):
        spelled = json.dumps(value, ensure_ascii=ascii_only)
        found, write = _json.read(spelled)
        assert repr(found) == repr(without_orjson(_json.loads, spelled))
        assert repr(_json.loads(write(found))) == repr(found)
        assert repr(_json.loads(without_orjson(_json.dumps, found))) == repr(found)


@given(st.binary() | st.text(st.characters(codec=None), max_size=30))
def test_any_text_gives_the_same_value_or_the_same_error(text):
    assert repr(outcome(_json.loads, text)) == repr(without_orjson(_json.loads, text))


def test_a_damaged_text_gives_the_same_value_or_the_same_error():
    seed = random.Random(5)
    whole = '[{"role":"tool","n":-12345678901234567890,"x":[1.5e3,NaN,"\\ud83d\\ude00 \\"é"]},null]'
    for _ in range(3000):
        at = seed.randrange(len(whole))
        put = seed.choice('0-"\\u{}[],:eEN\x00 é')
        damaged = whole[:at] + put + whole[at + seed.randrange(3) :]
        found = outcome(_json.loads, damaged)
        assert repr(found) == repr(without_orjson(_json.loads, damaged))


@given(st.text('0129.e-a "', max_size=70).map(str.encode), st.integers(1, 25))
def test_digits_in_a_row(backend, text, count):
    expected = re.search(rb"[0-9]{%d}" % count, text) is not None
    assert backend.has_digits_in_a_row(text, count) == expected


def test_no_digits_in_a_row_are_no_question(backend):
    with pytest.raises(ValueError, match="count must be 1 or more"):
        backend.has_digits_in_a_row(b"1", 0)


@pytest.mark.parametrize(
    ("version", "used"), [("3.8.3", False), ("3.9.14", False), ("3.9.15", True), ("3.10.0", True)]
)
def test_an_orjson_that_overflows_the_stack_is_not_used(monkeypatch, version, used):
    monkeypatch.setattr(_json.orjson, "__version__", version)
    assert (_json._safe_orjson() is not None) == used
