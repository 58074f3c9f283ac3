"""Each row of the specification's tables, and each sentence about pairing, quoted and tested."""

import dataclasses
import json
import math
from collections import OrderedDict, UserDict, UserList, UserString, deque
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType, SimpleNamespace
from unittest.mock import Mock
from uuid import UUID

import pydantic
import pytest
from hostile import (
    MAPPINGS,
    NO_MAPPINGS,
    Bits,
    CallersError,
    Dict,
    Dumps,
    DumpsForever,
    DumpsItself,
    EndlessEnum,
    List,
    Model,
    Named,
    Nested,
    NoClass,
    Number,
    NumberEnum,
    RaisesLater,
    RaisesWhenCompared,
    RaisingEnum,
    RaisingMapping,
    Real,
    RefusesToDump,
    Row,
    Text,
    TextEnum,
    Tuple,
    refuse,
)
from rows import (
    INTERRUPTED,
    content_of,
    drops_of,
    interrupted,
    kinds_of,
    messages_of,
    notes_of,
    result,
    system,
    turn,
    user,
)

from flowdrop_fast import _content

HUGE = 10**5000  # Python refuses to print an int of so many digits

every_verb = pytest.mark.parametrize(
    "verb", ["normalize_conversation", "repair_tool_pairing", "explain_conversation"]
)
every_mapping = pytest.mark.parametrize("as_mapping", MAPPINGS.values(), ids=MAPPINGS)


def each(name, *values):
    """Parametrize over values whose repr may be long, or raise."""
    params = [
        pytest.param(value, id=f"{n}-{type(value).__name__}") for n, value in enumerate(values)
    ]
    return pytest.mark.parametrize(name, params)


def each_pair(*pairs):
    """Parametrize over what is given and what is expected."""
    params = [pytest.param(*pair, id=f"{n}-{pair[1]}"[:40]) for n, pair in enumerate(pairs)]
    return pytest.mark.parametrize(("given", "expected"), params)


# ---- 1. Coercion to the flat shape: the list itself ---------------------------------------------


class IndexedOnly:
    """Iterable by the old protocol alone."""

    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, index):
        return self.rows[index]


class LyingLength(list):
    def __len__(self):
        return 10**15


class RaisingLength(list):
    __len__ = refuse


@every_verb
@pytest.mark.parametrize(
    "as_iterable",
    [list, tuple, iter, deque, UserList, IndexedOnly, LyingLength, RaisingLength],
    ids=lambda kind: kind.__name__,
)
def test_the_list_is_any_iterable(backend, verb, as_iterable):
    """any iterable of entries except `str`, `bytes`, `bytearray` and mappings"""
    rows = [user(), turn("c1"), result("c1")]
    assert getattr(backend, verb)(as_iterable(rows))[:2] == (rows, 0)


@every_verb
@each_pair(
    ("[]", "str"),
    (Text("[]"), "Text"),
    (b"[]", "bytes"),
    (bytearray(b"[]"), "bytearray"),
    ({}, "dict"),
    (user(), "dict"),
    (Dict(), "Dict"),
    (MappingProxyType({}), "mappingproxy"),
    (RaisingMapping(), "RaisingMapping"),
    (None, "NoneType"),
    (5, "int"),
    (HUGE, "int"),
    (1.5, "float"),
    (object(), "object"),
    (list, "type"),
    (Row("user", "hi"), "Row"),
)
def test_the_list_is_refused(backend, verb, given, expected):
    """those, and anything not iterable (`None` too), raise `TypeError` naming the type received"""
    with pytest.raises(TypeError, match=rf"messages must be .*\b{expected}$"):
        getattr(backend, verb)(given)


@every_verb
def test_the_list_is_read_once_before_anything_else(backend, verb):
    """It is read once, into a snapshot, before anything else"""
    seen = []

    class Entry:
        def model_dump(self):
            seen.append("entry")
            return user()

    def entries():
        for _ in range(3):
            seen.append("list")
            yield Entry()

    getattr(backend, verb)(entries())
    assert seen == ["list"] * 3 + ["entry"] * 3


@every_verb
@pytest.mark.parametrize("error", [CallersError, KeyboardInterrupt, TypeError, MemoryError])
def test_what_the_lists_iterator_raises_passes_through(backend, verb, error):
    """what its own iterator raises passes through"""

    def entries():
        yield user()
        raise error("halfway")

    with pytest.raises(error, match="halfway"):
        getattr(backend, verb)(entries())


# ---- An entry ---------------------------------------------------------------------------------


@every_mapping
def test_an_entry_is_what_can_be_read_as_a_mapping(backend, as_mapping):
    """what can be *read as a mapping*: … tried in this order"""
    entries = [
        as_mapping({"role": "assistant", "content": "x", "tool_calls": [{"id": "c1"}]}),
        as_mapping({"role": "tool", "content": "y", "metadata": {"tool_call_id": "c1"}}),
    ]
    assert messages_of(backend, *entries) == [turn({"id": "c1"}, content="x"), result("c1", "y")]


def test_an_entry_that_is_a_dict_subclass(backend):
    """a `dict` (a subclass: its stored items, whatever it overrides)"""
    assert messages_of(backend, Dict(role="user", content="held")) == [user("held")]


def test_an_entry_is_tried_in_this_order(backend):
    """a `dict` …; any other `Mapping` …; an object with a `model_dump` method …; a dataclass"""

    class DictThatDumps(dict):
        model_dump = refuse

    class MappingThatDumps(UserDict):
        model_dump = refuse

    @dataclasses.dataclass
    class RowThatDumps(Row):
        def model_dump(self):
            return user("dumped")

    assert messages_of(
        backend, DictThatDumps(user("a")), MappingThatDumps(user("b")), RowThatDumps("user", "c")
    ) == [user("a"), user("b"), user("dumped")]


@each("entry", *NO_MAPPINGS)
def test_what_is_no_entry(backend, entry):
    """Anything else, a class, and whatever raises while it is read, is dropped: `not_a_message`"""
    assert notes_of(backend, user(), entry) == [("not_a_message", 1, None)]
    assert backend.repair_tool_pairing([entry, user()]) == ([user()], 1)


@pytest.mark.parametrize("key", ["role", "content", "metadata", "tool_call_id", "healed"])
def test_an_entry_whose_keys_raise(backend, key):
    """whatever raises while it is read, is dropped: `not_a_message`"""
    entry = result("c1", metadata={})
    entry.pop(key, None)
    entry[RaisesWhenCompared(key)] = "x"
    assert kinds_of(backend, entry) == ["not_a_message"]


# ---- Role -------------------------------------------------------------------------------------


@each("role", "", "  ", "\n\t", "\u00a0", Text(" "), None, 5, True, ["user"], b"user", {}, HUGE)
def test_a_role_that_is_none(backend, role):
    """`entry["role"]`, a `str` that is not blank; otherwise dropped: `no_role`"""
    assert notes_of(backend, {"role": role, "content": "x"}) == [("no_role", 0, None)]


@each(
    *("role", Named.NOTHING, Named.LIST, NumberEnum.ONE, Bits.A),
    *(RaisingEnum.MEMBER, EndlessEnum.MEMBER, NoClass()),
)
def test_a_role_that_can_not_be_read(backend, role):
    assert notes_of(backend, {"role": role}, {}) == [("no_role", 0, None), ("no_role", 1, None)]


@each_pair((Named.USER, "user"), (Nested.ROLE, "tool"), (Named.ASSISTANT, "assistant"))
def test_a_role_that_is_an_enum_member(backend, given, expected):
    """A plain `Enum` member counts as its value."""
    rows = messages_of(backend, turn("c1"), {**result("c1", ""), "role": given})
    assert rows[-1]["role"] == expected


@pytest.mark.parametrize("role", ["developer", "function", "User", " tool ", "SYSTEM", "ünï"])
def test_a_role_is_kept_as_spelled(backend, role):
    """Kept exactly as spelled, unknown roles too (`developer`, `function`, `User`)"""
    row = {"role": role, "content": "x"}
    more = {"tool_calls": [{"id": "c1"}], "tool_call_id": "c1"}
    assert messages_of(backend, user(), {**row, **more}) == [user(), row]


@each("role", Text("user"), TextEnum.USER)
def test_a_role_of_a_str_subclass(backend, role):
    """A `str` subclass (an enum member, say) leaves as the plain `str` it holds"""
    (row,) = messages_of(backend, {"role": role, "content": "x"})
    assert type(row["role"]) is str
    assert row["role"] == "user"


def test_a_role_of_a_str_subclass_decides(backend):
    entries = [
        {"role": Text("assistant"), "content": "", "tool_calls": [{"id": "c1"}]},
        {"role": Text("tool"), "content": "ok", "tool_call_id": "c1"},
        {"role": Text("system"), "content": "be brief"},
    ]
    assert messages_of(backend, *entries) == [system(), turn({"id": "c1"}), result("c1")]


# ---- Content ----------------------------------------------------------------------------------


def test_content_absent_or_none(backend):
    """content: absent or `None` → `""`"""
    assert messages_of(backend, {"role": "user"}, user(None)) == [user(""), user("")]
    assert content_of(backend, None) == ""


@each_pair(
    ("", ""),
    ("hi", "hi"),
    ("ünï 𝄞", "ünï 𝄞"),
    (Text("held"), "held"),
    (TextEnum.ID, "c1"),
    (True, "true"),
    (False, "false"),
    (0, "0"),
    (-7, "-7"),
    (10**30, "1" + "0" * 30),
    (Number(7), "7"),
    (0.1, "0.1"),
    (1e16, "1e+16"),
    (1e15, "1000000000000000.0"),
    (1e-5, "1e-05"),
    (-0.0, "-0.0"),
    (5e-324, "5e-324"),
    (Real(0.5), "0.5"),
    (math.nan, "NaN"),
    (math.inf, "Infinity"),
    (-math.inf, "-Infinity"),
    (Real(math.inf), "Infinity"),
    (Named.USER, "user"),
    (Nested.ROLE, "tool"),
    (Named.NOTHING, ""),
    (Named.LIST, '[1,"two"]'),
    (Named.INNER, '{"a":1}'),
    (NumberEnum.ONE, "1"),
    (Bits.A, "1"),
    (date(2024, 2, 29), "2024-02-29"),
    (time(12, 30), "12:30:00"),
    (datetime(2024, 2, 29, 1, 2, 3), "2024-02-29T01:02:03"),
    (datetime(2024, 2, 29, tzinfo=timezone.utc), "2024-02-29T00:00:00+00:00"),
    (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
    (Decimal("1.50"), "1.50"),
    (Decimal("NaN"), "NaN"),
    (Decimal("1E+400"), "1E+400"),
)
def test_content_scalar(backend, given, expected):
    """`str` as it is …; `True`/`False` → `true`/`false`; `int` → decimal; finite `float` → …"""
    assert content_of(backend, given) == expected


@each_pair(
    ("a\ud800b", "a\ufffdb"),
    ("\udc00", "\ufffd"),
    ("\ud83d\ude00", "\U0001f600"),
    ("\ud83d\ud83d\ude00\ude00", "\ufffd\U0001f600\ufffd"),
    ("\ude00\ud83d", "\ufffd\ufffd"),
    ("𝄞\ud800𝄞", "𝄞\ufffd𝄞"),
    (Text("\ud800"), "\ufffd"),
    (["\ud800", "\udc00"], '["\ufffd","\ufffd"]'),
    ({"\ud83d\ude00": "\ud800"}, '{"\U0001f600":"\ufffd"}'),
    (Tuple(["\ud800"]), '["\ufffd"]'),
)
def test_content_lone_surrogates(backend, given, expected):
    """a high one followed by a low one is their character, any other is U+FFFD"""
    assert content_of(backend, given) == expected


@pytest.mark.parametrize("odd", [False, True], ids=["plain", "odd"])
@each_pair(
    ({}, "{}"),
    ([], "[]"),
    ((), "[]"),
    ([1, "two", None, True, 1.5], '[1,"two",null,true,1.5]'),
    ({"b": 1, "a": {"c": []}}, '{"b":1,"a":{"c":[]}}'),
    ({"ü": "é𝄞"}, '{"ü":"é𝄞"}'),
    (['"\\/\b\f\n\r\t\x00\x1f\x7f\u2028'], '["\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\u2028"]'),
    ([math.nan, math.inf, -math.inf], "[null,null,null]"),
    ([1e16, 0.1, -0.0, 10**30], "[1e+16,0.1,-0.0,1000000000000000000000000000000]"),
    ([[], {}, [{}]], "[[],{},[{}]]"),
)
def test_content_structure(backend, given, expected, odd):
    """compact JSON text (RFC 8259): separators `,` `:`, non-ASCII kept, key order kept, …"""
    if odd:  # a tuple subclass at the end keeps the standard encoder out
        given, expected = [given, Tuple()], f"[{expected},[]]"
    assert content_of(backend, given) == expected


@each_pair(
    (Text("held"), '"held"'),
    (TextEnum.ID, '"c1"'),
    (Number(7), "7"),
    (Real(0.5), "0.5"),
    (Real(math.nan), "null"),
    (Named.USER, '"user"'),
    (Named.NOTHING, "null"),
    (Named.LIST, '[1,"two"]'),
    (Nested.ROLE, '"tool"'),
    (NumberEnum.ONE, "1"),
    (date(2024, 2, 29), '"2024-02-29"'),
    (time(12, 30), '"12:30:00"'),
    (datetime(2024, 2, 29), '"2024-02-29T00:00:00"'),
    (UUID(int=7), '"00000000-0000-0000-0000-000000000007"'),
    (Decimal("1.50"), '"1.50"'),
    (List([1]), "[1]"),
    (Tuple([1]), "[1]"),
    (Dict(a=1), '{"a":1}'),
    (MappingProxyType({"a": 1}), '{"a":1}'),
    (Row("user", (1, 2)), '{"role":"user","content":[1,2]}'),
    (Dumps({"a": (1,)}), '{"a":[1]}'),
    (Dumps("text"), '"text"'),
)
def test_content_values_that_python_programs_put_there(backend, given, expected):
    """objects with `model_dump`, dataclass instances (their fields), and the scalars …"""
    assert content_of(backend, [given]) == f"[{expected}]"
    assert content_of(backend, {"a": given}) == f'{{"a":{expected}}}'


@every_mapping
def test_content_mapping(backend, as_mapping):
    assert content_of(backend, as_mapping({"b": [1], "a": None})) == '{"b":[1],"a":null}'


def test_content_of_an_ordered_dict_in_its_own_order(backend):
    """key order kept"""
    ordered = OrderedDict(a=1, b=2, c=3)
    ordered.move_to_end("a")
    ordered.move_to_end("c", last=False)
    assert content_of(backend, ordered) == '{"c":3,"b":2,"a":1}'
    dict.__setitem__(ordered, "d", 4)  # behind its back: its order knows nothing of it
    assert content_of(backend, ordered) == '{"c":3,"b":2,"a":1,"d":4}'
    dict.__delitem__(ordered, "b")
    assert content_of(backend, ordered) == '{"a":1,"c":3,"d":4}'


def test_content_model_dump_is_asked_for_json(backend):
    """objects with `model_dump` (called with `mode="json"`)"""

    class Part(pydantic.BaseModel):
        on: date

    class Asked:
        def model_dump(self, *arguments, **options):
            return [arguments, options]

    assert content_of(backend, Part(on=date(2024, 2, 29))) == '{"on":"2024-02-29"}'
    assert content_of(backend, Asked()) == '[[],{"mode":"json"}]'


KEYS = [None, True, False, 1, -1, 1.5, 1e16, math.nan, -math.inf, "text", 10**30, NumberEnum.ONE]


@each("key", *KEYS, TextEnum.ID, Text("held"), Real(0.5))
def test_content_keys(backend, key):
    """Keys as `json.dumps` spells them"""
    expected = json.dumps({key: 1}, separators=(",", ":"))
    assert content_of(backend, {key: 1}) == expected
    assert content_of(backend, MappingProxyType({key: 1})) == expected


class Slots:
    __slots__ = ()


def circular_list():
    around = []
    around.append({"around": (around,)})
    return around


def circular_dict():
    around = {}
    around["around"] = MappingProxyType({"a": around})
    return around


def nested(levels, value):
    for level in range(levels):
        value = {"a": value} if level % 2 else [value]
    return value


@each(
    "value",
    {1, 2},
    frozenset(),
    b"bytes",
    bytearray(b"x"),
    memoryview(b"x"),
    1j,
    Fraction(1, 2),
    timedelta(1),
    object(),
    Slots(),
    SimpleNamespace(a=1),
    UserString("x"),
    UserList([1]),
    deque([1]),
    range(3),
    iter([]),
    ValueError("x"),
    len,
    str,
    Model,
    Row,
    Named,
    {(1,): 1},
    {b"a": 1},
    {Named.ID: 1},
    {date(2024, 2, 29): 1},
    {Decimal(1): 1},
    {HUGE: 1},
    circular_list(),
    circular_dict(),
    nested(10**5, 1),
    nested(10**5, Tuple()),
    HUGE,
    -HUGE,
    Number(HUGE),
    DumpsItself(),
    DumpsForever(),
    RefusesToDump(),
    RaisingMapping(),
    RaisingEnum.MEMBER,
    EndlessEnum.MEMBER,
    NoClass(),
    Mock(),
    Mock(spec=str),
    Mock(spec=dict),
    Mock(spec=list),
)
def test_content_that_cannot_be_serialized(backend, value):
    """`""`, and the row stays: sets, bytes, other objects, keys that JSON has no spelling for, …"""
    assert content_of(backend, value) == ""
    assert content_of(backend, [1, value]) == ""
    assert content_of(backend, {"a": (value,)}) == ""


def test_content_for_which_the_stack_has_no_room(backend, monkeypatch):
    """The standard encoder recurses, and how deep it may depends on who calls; ours does not."""
    value = {"a": [1, {"b": "\ud800", "c": (0.5, None)}]}
    expected = content_of(backend, value)

    def without_room(_value):
        raise RecursionError

    monkeypatch.setattr(_content, "_encode_plain", without_room)
    assert content_of(backend, value) == expected == '{"a":[1,{"b":"\ufffd","c":[0.5,null]}]}'


def test_content_shared_is_not_circular(backend):
    part = {"a": []}
    assert content_of(backend, [part, part, [part]]) == '[{"a":[]},{"a":[]},[{"a":[]}]]'


def deepest(backend, value):
    """How many levels around a value can still be serialized."""
    fits, fails = 0, 10**4
    while fails - fits > 1:
        levels = (fits + fails) // 2
        if backend.coerce_content(nested(levels, value)):
            fits = levels
        else:
            fails = levels
    return fits


def far_down(levels, function, *arguments):
    return far_down(levels - 1, function, *arguments) if levels else function(*arguments)


def test_content_depth(backend):
    """too deeply nested values: which are, depends neither on types nor on the stack"""
    depth = deepest(backend, [])
    assert depth >= 100
    assert {deepest(backend, value) for value in ((), {}, List(), Dict(), Row(1, 2))} == {depth}
    assert far_down(500, deepest, backend, []) == depth


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_no_exception_means(backend, error):
    """No exception escapes, `KeyboardInterrupt`-like ones aside."""

    class Interrupted:
        def model_dump(self, **_options):
            raise error("stop")

    for entry in (
        user(Interrupted()),
        Interrupted(),
        turn(Interrupted()),
        result("c", [Interrupted()]),
    ):
        with pytest.raises(error, match="stop"):
            backend.normalize_conversation([entry])
    with pytest.raises(error, match="stop"):
        backend.coerce_content(Interrupted())


# ---- Metadata ---------------------------------------------------------------------------------


@every_mapping
def test_metadata_is_what_can_be_read_as_a_mapping(backend, as_mapping):
    """what can be read as a mapping, as above"""
    call = {
        "role": "assistant",
        "content": "",
        "metadata": as_mapping({"tool_calls": [{"id": "c"}]}),
    }
    answer = {"role": "tool", "content": "x", "metadata": as_mapping({"tool_call_id": "c"})}
    assert messages_of(backend, call, answer) == [turn({"id": "c"}), result("c", "x")]


@each(
    "as_text",
    json.dumps,
    lambda fields: Text(json.dumps(fields)),
    lambda f: json.dumps(f, indent=1),
)
def test_metadata_in_json_text(backend, as_text):
    """a `str` that is a JSON object (SQL stores keep it so) counts as that object"""
    call = {"role": "assistant", "metadata": as_text({"tool_calls": [{"id": "c1"}]})}
    guess = {
        "role": "tool",
        "content": "?",
        "metadata": as_text({"tool_call_id": "c1", "healed": True}),
    }
    assert messages_of(backend, call, guess) == [turn({"id": "c1"}), result("c1", "?")]
    assert drops_of(backend, call, guess, result("c1")) == [("duplicate_result", 1, "c1")]


@each("metadata", *NO_MAPPINGS, "", "[1]", "null", '"x"', '{"tool_calls":', "[" * 10**5, HUGE)
def test_metadata_that_counts_as_absent(backend, metadata):
    """anything else counts as absent"""
    rows = [turn(content="x"), turn("c1"), result("c1")]
    entries = [{**row, "metadata": metadata} for row in rows]
    del rows[0]["tool_calls"]
    assert backend.normalize_conversation(entries) == (rows, 0)
    orphan = {"role": "tool", "content": "x", "metadata": metadata}
    assert kinds_of(backend, orphan) == ["orphan_result"]
    assert backend.repair_tool_pairing(entries) == (entries, 0)


def test_metadata_whose_keys_raise(backend):
    """whatever raises while it is read …: what can't be looked up is not there"""
    metadata = {RaisesWhenCompared(key): 1 for key in ("tool_calls", "tool_call_id", "healed")}
    assert messages_of(backend, turn("c1", metadata=metadata), result("c1", metadata=metadata)) == [
        turn("c1"),
        result("c1"),
    ]
    lost = turn({"id": ""}, content="text", metadata=metadata)
    assert backend.repair_tool_pairing([lost]).dropped == 1


# ---- Tool calls -------------------------------------------------------------------------------


def test_tool_calls_are_read_on_assistant_rows_only(backend):
    """read on `assistant` rows only"""
    rows = [
        user(),
        system(),
        {"role": "developer", "content": ""},
        {"role": "Assistant", "content": ""},
    ]
    calls = {"tool_calls": [{"id": ""}], "metadata": {"tool_calls": [{"id": "c1"}]}}
    assert kinds_of(backend, *({**row, **calls} for row in rows), result("c1")) == [
        "moved_system",
        "orphan_result",
    ]


def test_tool_calls_are_never_merged(backend):
    """from the entry, or, when that gives no calls, from `metadata`; never merged"""
    both = turn("e1", metadata={"tool_calls": [{"id": "m1"}]})
    assert messages_of(backend, both) == [turn("e1"), interrupted("e1")]
    unusable = turn({"id": ""}, metadata={"tool_calls": [{"id": "m1"}]})
    assert kinds_of(backend, unusable) == ["unusable_call", "emptied_turn"]


@each_pair(
    ('[{"id": "c1"}, {"id": "c2"}]', ["c1", "c2"]),
    (Text('[{"id": "c1"}]'), ["c1"]),
    ('{"id": "c1"}', ["c1"]),
    ('{"1": {"id": "c1"}, "0": {"id": "c2"}}', ["c1", "c2"]),
    (json.dumps('[{"id": "c1"}]'), ["c1"]),
    ([{"id": "c1"}], ["c1"]),
    (({"id": "c1"}, {"id": "c2"}), ["c1", "c2"]),
    (List([{"id": "c1"}]), ["c1"]),
    (Tuple([{"id": "c1"}]), ["c1"]),
    ({"id": "c1"}, ["c1"]),
    (Dict(id="c1"), ["c1"]),
    (Dumps({"id": "c1"}), ["c1"]),
    ({"tool_call_id": "c1", "id": "c2"}, ["c1"]),
    ({"id": 7}, ["7"]),
    ({"0": {"id": "c1"}, "2": {"id": "c2"}}, ["c1", "c2"]),
    (Dict(a={"id": "c1"}), ["c1"]),
    (MappingProxyType({0: {"id": "c1"}}), ["c1"]),
    ({"id": {"id": "c1"}}, ["c1"]),
)
@pytest.mark.parametrize("stored", [False, True], ids=["entry", "metadata"])
def test_tool_calls_shapes(backend, given, expected, stored):
    """A `str` that is JSON counts as what it says. A list or tuple is the calls; a mapping …"""
    calls = {"tool_calls": given}
    row, *results = messages_of(
        backend, {"role": "assistant", **({"metadata": calls} if stored else calls)}
    )
    assert [row["tool_call_id"] for row in results] == expected
    assert kinds_of(backend, {"role": "assistant", **calls}) == ["interrupted_result"] * len(
        expected
    )
    assert type(row["tool_calls"]) is list


@each(
    "nothing",
    *(None, False, 0, 0.0, -0.0, 0j, Decimal(0), Fraction(0), Number(0), "", " \n", Text(" ")),
    *([], (), {}, set(), frozenset(), b"", bytearray(), deque(), range(0), List(), Tuple(), Dict()),
    *("null", "false", "0", "0.0", '""', '" "', "[]", "{}", UserDict(), UserList(), UserString("")),
)
def test_tool_calls_that_are_none(backend, nothing):
    """`None`, `False`, zero, blank text and empty containers are no calls"""
    assert messages_of(backend, {"role": "assistant", "content": "", "tool_calls": nothing}) == [
        {"role": "assistant", "content": ""}
    ]
    stored = {"tool_calls": [{"id": "c1"}]}
    row = {"role": "assistant", "content": "", "tool_calls": nothing, "metadata": stored}
    assert messages_of(backend, row) == [turn({"id": "c1"}), interrupted("c1")]
    assert backend.repair_tool_pairing([row]).messages[0] is row


@each(
    "value",
    *(True, 1, -1, 0.5, math.nan, HUGE, 1j, "x", "[", "1", "true", '"x"', "[" * 10**5, "9" * 5000),
    *(b"[]", {1}, {"id"}, object(), list, Named.ID, Mock(), NoClass(), RaisingMapping(), len),
)
def test_tool_calls_of_any_other_value(backend, value):
    """any other value is one unusable call"""
    kept = {"role": "assistant", "content": "text", "tool_calls": value}
    assert drops_of(backend, kept) == [("unusable_call", 0, None)]
    assert messages_of(backend, kept) == [{"role": "assistant", "content": "text"}]
    assert drops_of(backend, {**kept, "content": ""}) == [
        ("unusable_call", 0, None),
        ("emptied_turn", 0, None),
    ]


# ---- Ids --------------------------------------------------------------------------------------


def test_tool_call_id_is_read_on_tool_rows_only(backend):
    """read on `tool` rows only: the first usable one of the entry's and `metadata`'s"""
    assert messages_of(backend, turn("c1"), user(tool_call_id="c1"), result("c1")) == [
        turn("c1"),
        result("c1"),
        user(),
    ]


@each_pair(
    (("e", "m"), "e"),
    ((" e ", "m"), "e"),
    ((5, "m"), "5"),
    (("", "m"), "m"),
    (("0", "m"), "m"),
    ((None, "m"), "m"),
    ((True, " m"), "m"),
    ((["e"], 7), "7"),
    ((HUGE, "m"), "m"),
)
def test_tool_call_id_is_the_first_usable_one(backend, given, expected):
    entry, metadata = given
    calls = turn("e", "m", "5", "7")
    row = result(entry, metadata={"tool_call_id": metadata})
    assert result(expected) in messages_of(backend, calls, row)


def test_a_calls_id(backend):
    """the first usable one of `call["tool_call_id"]`, `call["id"]`"""
    calls = [
        {"tool_call_id": "a", "id": "x"},
        {"tool_call_id": "", "id": "b"},
        {"tool_call_id": "0", "id": "c"},
        {"tool_call_id": None, "id": "d"},
        {"tool_call_id": False, "id": "e"},
        {"id": "f"},
    ]
    assert messages_of(backend, turn(*calls)) == [turn(*calls), *map(interrupted, "abcdef")]


@pytest.mark.parametrize("patience", range(12))
def test_a_calls_id_whose_key_raises_at_last(backend, patience):
    """A call is usable or it is not, whenever its own code begins to raise."""
    call = {RaisesLater("id", patience): 7, "name": "search"}
    kinds = kinds_of(backend, turn(call))
    assert kinds in (["unusable_call", "emptied_turn"], ["interrupted_result"])
    if patience in (0, 11):
        assert kinds == (["interrupted_result"] if patience else ["unusable_call", "emptied_turn"])


@each_pair(
    ("c1", "c1"),
    (" c1\n", "c1"),
    ("\u2003c1\u00a0", "c1"),
    ("c 1", "c 1"),
    ("C1", "C1"),
    ("00", "00"),
    ("0.0", "0.0"),
    ("-0", "-0"),
    ("null", "null"),
    ("é\ud800", "é\ud800"),
    (1, "1"),
    (-1, "-1"),
    (10**30, "1" + "0" * 30),
    (Number(7), "7"),
    (NumberEnum.ONE, "1"),
    (Text("c1"), "c1"),
    (Text(" c1 "), "c1"),
    (TextEnum.ID, "c1"),
)
def test_a_usable_id(backend, given, expected):
    """a `str` that, trimmed, is neither empty nor `"0"`; an `int` … counts as its decimal string"""
    call, answer = messages_of(backend, turn({"id": given}), result(given))
    assert answer == result(expected)
    assert type(answer["tool_call_id"]) is str
    left = call["tool_calls"][0]["id"]
    assert isinstance(left, str)
    assert str.__str__(left) == expected
    assert messages_of(backend, turn({"id": expected}), result(given))[1] == result(expected)


@each(
    "id",
    *("", " ", "\n", "0", " 0 ", "0\n", Text(""), Text("0"), 0, Number(0), True, False, None, 1.0),
    *(0.0, math.nan, Named.ID, b"c1", ["c1"], ("c1",), {"id": "c1"}, {"c1"}, HUGE, -HUGE, object()),
    *(UUID(int=1), Decimal(1), Mock(), Mock(spec=str), Mock(spec=int), NoClass(), str, Bits.A),
)
def test_an_unusable_id(backend, id):
    """Nothing else is usable."""
    assert notes_of(backend, turn({"id": id}, content="x"), result(id)) == [
        ("unusable_call", 0, None),
        ("orphan_result", 1, None),
    ]
    assert notes_of(backend, turn({"tool_call_id": id, "id": "c1"}), result(id)) == [
        ("interrupted_result", 0, "c1"),
        ("orphan_result", 1, None),
    ]


def test_ids_are_compared_exactly(backend):
    """compared exactly; no case folding"""
    for one, other in [("c1", "C1"), ("é", "e\u0301"), ("1", "01"), ("a", "a\0"), ("ß", "SS")]:
        assert drops_of(backend, turn(one), result(other)) == [("orphan_result", 1, other)]


# ---- A usable call ----------------------------------------------------------------------------


def test_a_dict_call_passes_by_reference(backend):
    """A `dict` passes through by reference, all its keys with it"""
    call = {"id": "c1", "type": "function", "function": {"arguments": "{"}, "extra": object()}
    for id in ("c1", Text("c1")):
        call["id"] = id
        for entry in (turn(call), {"role": "assistant", "metadata": {"tool_calls": (call,)}}):
            assert messages_of(backend, entry)[0]["tool_calls"][0] is call


@each_pair((" c1 ", "c1"), (7, "7"), (Text(" c1"), "c1"), (NumberEnum.ONE, "1"), (Number(7), "7"))
@pytest.mark.parametrize("key", ["id", "tool_call_id"])
def test_a_call_whose_id_is_cleaned(backend, given, expected, key):
    """a shallow copy carries the clean id under the key it was read from"""
    inner = []
    call = {"name": "search", key: given, "inner": inner}
    if key == "id":
        call["tool_call_id"] = " 0"
    (left,) = messages_of(backend, turn(call))[0]["tool_calls"]
    assert left == {**call, key: expected}
    assert list(left) == list(call)
    assert type(left[key]) is str
    assert left["inner"] is inner
    assert call[key] is given


@every_mapping
def test_a_call_of_another_kind(backend, as_mapping):
    """Any other mapping or object leaves as a new `dict`."""
    inner = []
    call = as_mapping({"id": "c1", "inner": inner})
    (left,) = messages_of(backend, turn(call))[0]["tool_calls"]
    assert type(left) is dict
    assert left == {"id": "c1", "inner": inner}
    assert (left is call) == (type(call) is dict)


@each("call", *NO_MAPPINGS, {}, {"name": "search"}, {"id": None}, {"ID": "c1"}, Row("user", "x"))
def test_an_unusable_call(backend, call):
    """what can be read as a mapping and has a usable id"""
    entry = {**turn(), "tool_calls": [{"id": "c1"}, call, {"id": "c2"}]}
    assert drops_of(backend, entry) == [("unusable_call", 0, None)]


# ---- Everything else --------------------------------------------------------------------------


def test_everything_else_is_left_behind(backend):
    """left behind: `metadata`, `timestamp`, `name`, … Leaving a key behind is not a drop"""
    more = {"metadata": {"a": 1}, "timestamp": 5, "name": "ann", "refusal": None, 1: 2}
    named = {"tool_calls": [{"id": "x"}], "tool_call_id": "x"}
    rows = [system(), user(), turn("c1"), result("c1"), {"role": "developer", "content": ""}]
    entries = [
        {**more, **(named if row["role"] not in ("assistant", "tool") else {}), **row}
        for row in rows
    ]
    entries[2]["tool_call_id"] = "x"
    entries[3]["tool_calls"] = [{"id": "x"}]
    assert backend.normalize_conversation(entries) == (rows, 0)


def test_key_order_of_a_flat_row(backend):
    """`role`, `content`, then `tool_calls` or `tool_call_id`"""
    rows = [turn("c1"), result("c1"), user(), system()]
    backwards = [dict(reversed(row.items())) for row in rows]
    orders = [list(row) for row in messages_of(backend, *backwards)]
    assert orders == [
        ["role", "content"],
        ["role", "content", "tool_calls"],
        ["role", "content", "tool_call_id"],
        ["role", "content"],
    ]


def test_an_empty_tool_calls_never_leaves(backend):
    """An empty `tool_calls` never leaves"""
    assert messages_of(backend, turn(), turn({"id": ""}, content="x")) == [
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": "x"},
    ]


# ---- 2. System first --------------------------------------------------------------------------


def test_system_rows_come_first(backend):
    """Rows whose role is exactly `system` come first, in their own order; the rest follow"""
    entries = [
        user("1"),
        system("a"),
        {"role": "System", "content": "2"},
        system(""),
        user("3"),
        system("b"),
    ]
    messages, dropped, records = backend.explain_conversation(entries)
    assert [row["content"] for row in messages] == ["a", "", "b", "1", "2", "3"]
    assert dropped == 0
    assert [(r.kind, r.index) for r in records] == [("moved_system", n) for n in (1, 3, 5)]


def test_a_system_row_behind_dropped_rows_has_not_moved(backend):
    entries = [None, {}, result("x"), system(), turn({"id": "0"}), system("more")]
    assert not {"moved_system"} & set(kinds_of(backend, *entries))


# ---- 3. and 4. Pairing: declarations ----------------------------------------------------------


def test_an_unusable_call_is_dropped(backend):
    """A call that is not usable is dropped (`unusable_call`)"""
    assert messages_of(backend, turn("c1", {"id": "0"}, None, "c2")) == [
        turn("c1", "c2"),
        interrupted("c1"),
        interrupted("c2"),
    ]


def test_a_duplicate_call_is_dropped(backend):
    """a call whose id was declared before, in an earlier turn or earlier in the same one"""
    first, again = {"id": "c1", "name": "first"}, {"tool_call_id": " c1", "name": "again"}
    entries = [turn(first, again, "c2"), turn(again, "c3"), user()]
    assert messages_of(backend, *entries) == [
        turn(first, "c2"),
        interrupted("c1"),
        interrupted("c2"),
        turn("c3"),
        interrupted("c3"),
        user(),
    ]
    assert drops_of(backend, *entries) == [("duplicate_call", 0, "c1"), ("duplicate_call", 1, "c1")]


@each_pair(
    ("", True), (None, True), ({1}, True), (HUGE, True), (" ", False), ([], False), (0, False)
)
def test_an_emptied_turn_is_dropped(backend, given, expected):
    """A turn that declared calls, keeps none and has empty content is dropped itself"""
    entry = turn({"id": "0"}, content=given)
    assert ("emptied_turn" in kinds_of(backend, entry)) is expected
    assert backend.repair_tool_pairing([entry]).dropped == 1 + expected
    without = {"role": "assistant", "content": given}
    assert kinds_of(backend, without, {**without, "tool_calls": []}) == []


def test_the_first_declaration_owns_the_id(backend):
    """The first declaration owns the id."""
    entries = [turn("c1"), user(), turn("c1"), result("c1")]
    assert messages_of(backend, *entries) == [turn("c1"), result("c1"), user()]
    assert drops_of(backend, *entries) == [("duplicate_call", 2, "c1"), ("emptied_turn", 2, None)]


# ---- Results ----------------------------------------------------------------------------------


def test_an_orphan_result_is_dropped(backend):
    """No usable id, or one that no kept call declares: dropped (`orphan_result`)"""
    entries = [turn("c1"), result("zz"), result(None), result("c1"), turn({"id": "0"}), result("0")]
    assert drops_of(backend, *entries) == [
        ("orphan_result", 1, "zz"),
        ("orphan_result", 2, None),
        ("unusable_call", 4, None),
        ("emptied_turn", 4, None),
        ("orphan_result", 5, None),
    ]


@each("ahead", [], [user()], [system()], [turn("other")], [system(), user(), turn(content="x")])
def test_an_early_result_is_dropped(backend, ahead):
    """Declared only by a later turn: dropped (`early_result`); … behind a user or system …"""
    entries = [*ahead, result("c1", "early"), turn("c1")]
    assert drops_of(backend, *entries) == [("early_result", len(ahead), "c1")]
    assert messages_of(backend, *entries)[-2:] == [turn("c1"), interrupted("c1")]
    assert messages_of(backend, *entries, result("c1", "real"))[-1] == result("c1", "real")


def test_a_duplicate_result_is_dropped(backend):
    """Already answered: dropped (`duplicate_result`)"""
    entries = [turn("c1"), result("c1", "one"), user(), result("c1", "two"), result("c1", "one")]
    assert messages_of(backend, *entries) == [turn("c1"), result("c1", "one"), user()]
    assert drops_of(backend, *entries) == [
        ("duplicate_result", 3, "c1"),
        ("duplicate_result", 4, "c1"),
    ]


PLACEHOLDERS = [
    result("c1", "?", healed=True),
    result("c1", "?", metadata={"healed": True}),
    result("c1", "?", metadata='{"healed": true}'),
    result("c1", "?", metadata=Dumps({"healed": True})),
    result("c1", "?", healed=False, metadata={"healed": True}),
    result("c1", INTERRUPTED),
    result("c1", Text(INTERRUPTED)),
    result("c1", Named.INTERRUPTED),
    {"role": "tool", "content": "?", "metadata": {"tool_call_id": " c1", "healed": True}},
]
NO_PLACEHOLDERS = [
    result("c1", "real"),
    result("c1", ""),
    result("c1", "real", healed=1),
    result("c1", "real", healed="true"),
    result("c1", "real", healed=None, metadata={"healed": "yes"}),
    result("c1", INTERRUPTED + " "),
    result("c1", [INTERRUPTED]),
    result("c1", {1}),
]


@each("placeholder", *PLACEHOLDERS)
@each("real", *NO_PLACEHOLDERS)
def test_a_guess_never_outlives_the_answer(backend, placeholder, real):
    """this one takes its place and the placeholder is what is dropped"""
    for place, answers in ((1, (placeholder, real)), (2, (real, placeholder))):
        entries = [turn("c1"), *answers]
        assert drops_of(backend, *entries) == [("duplicate_result", place, "c1")]
        answer = messages_of(backend, *entries)[1]
        assert answer == result("c1", backend.coerce_content(real["content"]))
        left = repaired(backend, *entries)
        assert [id(row) for row in left] == [id(entries[0]), id(real)]


@each("placeholder", *PLACEHOLDERS)
def test_a_placeholder_alone_stays(backend, placeholder):
    """`healed` is `True` in its `metadata` or on the row, or its content is …: it still answers"""
    assert backend.explain_conversation([turn("c1"), placeholder]).records == []
    again = result("c1", "second guess", healed=True)
    assert drops_of(backend, turn("c1"), placeholder, again) == [("duplicate_result", 2, "c1")]


def test_the_first_real_answer_stands(backend):
    entries = [
        turn("c1"),
        PLACEHOLDERS[0],
        result("c1", "one"),
        result("c1", "two"),
        PLACEHOLDERS[0],
    ]
    assert messages_of(backend, *entries)[1] == result("c1", "one")
    assert [index for _, index, _ in drops_of(backend, *entries)] == [1, 3, 4]


# ---- Order ------------------------------------------------------------------------------------


def test_one_result_for_each_call_in_the_order_of_the_calls(backend):
    """Directly after a turn that makes calls comes exactly one result for each call, in order"""
    entries = [turn("a", "b", "c"), result("c"), user(), result("a")]
    assert messages_of(backend, *entries) == [
        turn("a", "b", "c"),
        result("a"),
        interrupted("b"),
        result("c"),
        user(),
    ]
    assert notes_of(backend, *entries) == [("interrupted_result", 0, "b"), ("moved_result", 3, "a")]


def test_the_synthetic_result(backend):
    """`{"role": "tool", "content": "Tool call was interrupted; no result.", "tool_call_id": id}`"""
    synthetic = messages_of(backend, turn({"id": " c1 "}))[1]
    assert json.dumps(synthetic) == (
        '{"role": "tool", "content": "Tool call was interrupted; no result.", "tool_call_id": "c1"}'
    )


@each_pair(
    ([turn("a"), user(), result("a")], [2]),
    ([turn("a"), system(), result("a")], []),
    ([turn("a"), None, result("zz"), {}, result("a")], []),
    ([turn("a", "b"), result("b"), result("a")], [2]),
    ([turn("a"), turn("b"), result("a"), result("b")], [2]),
    ([turn("a"), turn("b"), result("b"), result("a")], [3]),
    ([turn("a", "b"), result("a"), result("b")], []),
    ([turn("a"), turn({"id": "0"}), result("a")], []),
    ([turn("a"), result("a", healed=True), result("a")], []),
    ([turn("a"), result("a", healed=True), user(), result("a")], [3]),
    (
        [turn("a", "b"), *(result(id, healed=True) for id in "ab"), result("a"), result("b")],
        [],
    ),
)
def test_a_result_is_moved_not_dropped(backend, given, expected):
    """A real result that stood further down …, or out of order, is moved, not dropped"""
    moved = [index for kind, index, _ in notes_of(backend, *given) if kind == "moved_result"]
    assert moved == expected


def test_every_other_row_keeps_its_place(backend):
    """Every other row keeps its place."""
    entries = [user("1"), turn("a"), user("2"), turn(content="3"), result("a"), user("4")]
    others = [row["content"] for row in messages_of(backend, *entries) if row["role"] != "tool"]
    assert others == ["1", "", "2", "3", "4"]


def test_the_order_of_records(backend):
    """Records … come in the order of the input index; those of one turn, calls first, …"""
    entries = [
        result("a", "early"),
        user(),
        system(),
        turn("a", None, "a", "b"),
        {},
        turn("b", {"id": 0}),
        result("zz"),
        5,
        turn("c", "d"),
        result("d", healed=True),
        result("c"),
        result("d"),
        result("d"),
    ]
    assert notes_of(backend, *entries) == [
        ("early_result", 0, "a"),
        ("moved_system", 2, None),
        ("unusable_call", 3, None),
        ("duplicate_call", 3, "a"),
        ("interrupted_result", 3, "a"),
        ("interrupted_result", 3, "b"),
        ("no_role", 4, None),
        ("duplicate_call", 5, "b"),
        ("unusable_call", 5, None),
        ("emptied_turn", 5, None),
        ("orphan_result", 6, "zz"),
        ("not_a_message", 7, None),
        ("duplicate_result", 9, "d"),
        ("duplicate_result", 12, "d"),
    ]


# ---- The repair alone -------------------------------------------------------------------------


def repaired(backend, *entries):
    return backend.repair_tool_pairing(list(entries)).messages


def test_repair_neither_coerces_nor_reorders(backend):
    """over rows as they stand: no coercion of content, no reordering of system rows"""
    parts = [{"type": "text", "text": "hi"}]
    entries = [user(parts, name="ann"), turn("c1", content=None), result("c1", {1}), system(5)]
    left = repaired(backend, *entries)
    assert [id(row) for row in left] == [id(row) for row in entries]
    assert left[0]["content"] is parts


@every_mapping
def test_repair_lets_rows_of_any_kind_leave_by_reference(backend, as_mapping):
    """Rows leave by reference, untouched"""
    call = as_mapping(
        {"role": "assistant", "content": "", "tool_calls": [as_mapping({"id": "c1"})]}
    )
    answer = as_mapping({"role": "tool", "content": "x", "metadata": {"tool_call_id": "c1"}})
    left = repaired(backend, call, answer)
    assert left[0] is call
    assert left[1] is answer


@every_mapping
def test_repair_rewrites_calls_in_the_entry(backend, as_mapping):
    """a turn that loses calls … leaves as a shallow copy with its calls rewritten where read"""
    kept, extra = {"id": "c1"}, {"deep": []}
    fields = {"tool_calls": [kept, {"id": "0"}], "role": "assistant", "content": [], "extra": extra}
    entry = as_mapping(fields)
    left = repaired(backend, entry)[0]
    assert left is not entry
    assert type(left) is dict
    assert left == {**fields, "tool_calls": [kept]}
    assert list(left) == list(fields)
    if as_mapping is not MAPPINGS["pydantic model"]:  # whose dump holds copies
        assert left["tool_calls"][0] is kept
        assert left["extra"] is extra
    assert len(fields["tool_calls"]) == 2


@every_mapping
def test_repair_rewrites_calls_in_the_metadata(backend, as_mapping):
    """… (the entry or its `metadata`, itself copied)"""
    kept, extra = {"id": "c1"}, []
    fields = {"extra": extra, "tool_calls": [kept, None], "model": "m"}
    entry = {"role": "assistant", "tool_calls": "", "metadata": as_mapping(fields), "content": ""}
    left = repaired(backend, entry)[0]
    assert left == {**entry, "metadata": {**fields, "tool_calls": [kept]}}
    assert list(left) == list(entry)
    assert type(left["metadata"]) is dict
    assert list(left["metadata"]) == list(fields)
    if as_mapping is not MAPPINGS["pydantic model"]:  # whose dump holds copies
        assert left["metadata"]["extra"] is extra
        assert left["metadata"]["tool_calls"][0] is kept
    assert len(fields["tool_calls"]) == 2


def test_repair_rewrites_calls_in_json_text(backend):
    stored = json.dumps({"tool_calls": [{"id": "c1"}, {"id": ""}], "model": "m"})
    in_metadata = {"role": "assistant", "content": "", "metadata": stored}
    assert repaired(backend, in_metadata)[0] == {
        "role": "assistant",
        "content": "",
        "metadata": {"tool_calls": [{"id": "c1"}], "model": "m"},
    }
    in_entry = {"role": "assistant", "content": "", "tool_calls": '[{"id": " c1"}]'}
    assert repaired(backend, in_entry)[0] == turn({"id": "c1"})


def test_repair_rewrites_only_where_the_calls_were_read(backend):
    entry = turn("c1", None, metadata={"tool_calls": [{"id": "other"}]})
    left = repaired(backend, entry)[0]
    assert left == {**entry, "tool_calls": [{"id": "c1", "name": "search"}]}
    assert left["metadata"] is entry["metadata"]


@pytest.mark.parametrize(
    "metadata",
    [{"tool_calls": [{"id": "x"}], "a": 1}, {"tool_calls": None}, {"a": 1}, None, "text", {}],
)
def test_repair_removes_the_key_in_both_places(backend, metadata):
    """and without the key in both places when none is left"""
    in_entry = turn(None, content="text", metadata=metadata, name="ann")
    in_metadata = {
        "role": "assistant",
        "content": "text",
        "tool_calls": [],
        "metadata": {"tool_calls": [None], **(metadata if type(metadata) is dict else {})},
    }
    left = repaired(backend, in_entry)[0]
    if type(metadata) is dict:
        assert left["metadata"] == {key: 1 for key in metadata if key == "a"}
    else:
        assert left["metadata"] is metadata
    del left["metadata"]
    assert left == {"role": "assistant", "content": "text", "name": "ann"}
    assert "tool_calls" in in_entry
    if "tool_calls" not in (metadata or ()):
        left = repaired(backend, in_metadata)[0]
        assert "tool_calls" not in left
        assert "tool_calls" not in left["metadata"]
        assert "tool_calls" in in_metadata["metadata"]


def test_repair_removes_the_key_from_json_text_too(backend):
    entry = turn(None, content="text", metadata=json.dumps({"tool_calls": [], "a": 1}))
    assert repaired(backend, entry) == [
        {"role": "assistant", "content": "text", "metadata": {"a": 1}}
    ]


def test_repair_cleans_the_id_of_a_call(backend):
    """or holds a call whose id had to be cleaned, leaves as a shallow copy"""
    clean, dirty = {"id": "c1"}, {"id": 7, "name": "f"}
    cleaned = {"id": "7", "name": "f"}
    left = repaired(backend, turn(clean, dirty))[0]
    assert left == turn(clean, cleaned)
    assert left["tool_calls"][0] is clean
    assert repaired(backend, turn(dirty, clean))[0] == turn(cleaned, clean)
    assert dirty["id"] == 7


def test_repair_leaves_calls_of_other_kinds_as_they_stand(backend):
    kept = [Dict(id="c1"), Model(id="c2"), Dumps({"id": "c3"})]
    left = repaired(backend, turn(*kept, None))[0]["tool_calls"]
    assert [id(call) for call in left] == [id(call) for call in kept]


@each_pair((" c1 ", "c1"), (7, "7"), (Text("c1 "), "c1"), (NumberEnum.ONE, "1"))
def test_repair_cleans_the_id_of_a_result(backend, given, expected):
    """a result whose id had to be cleaned likewise"""
    in_entry = {
        "tool_call_id": given,
        "role": "tool",
        "content": [],
        "metadata": {"a": 1},
        "name": "f",
    }
    left = repaired(backend, turn(expected), in_entry)[1]
    assert left == {**in_entry, "tool_call_id": expected}
    assert list(left) == list(in_entry)
    assert left["metadata"] is in_entry["metadata"]
    in_metadata = {"role": "tool", "tool_call_id": "", "metadata": {"tool_call_id": given, "a": 1}}
    left = repaired(backend, turn(expected), in_metadata)[1]
    assert left == {**in_metadata, "metadata": {"tool_call_id": expected, "a": 1}}
    assert in_metadata["metadata"]["tool_call_id"] is given
    in_text = {
        "role": "tool",
        "content": "x",
        "metadata": json.dumps({"tool_call_id": " c1", "a": 1}),
    }
    assert repaired(backend, turn("c1"), in_text)[1]["metadata"] == {"tool_call_id": "c1", "a": 1}


def test_repair_leaves_an_id_of_a_str_subclass_as_it_stands(backend):
    entries = [turn({"id": Text("c1")}), result(TextEnum.ID)]
    assert [id(row) for row in repaired(backend, *entries)] == [id(row) for row in entries]


@each_pair(
    ("", True), (None, True), ({1}, True), (RefusesToDump(), True), ([], False), (" ", False)
)
def test_repair_empties_by_what_content_would_coerce_to(backend, given, expected):
    """A turn is emptied when its content *would coerce* to `""`"""
    messages, dropped = backend.repair_tool_pairing([turn(None, content=given)])
    assert (messages == []) is expected
    assert dropped == 1 + expected


def test_repair_drops_what_is_no_message(backend):
    """What is no message or has no role is dropped as above. Synthetic results are flat."""
    entries = [None, {}, turn("c1"), {"role": " "}, NoClass()]
    assert backend.repair_tool_pairing(entries) == ([turn("c1"), interrupted("c1")], 4)


def test_repair_moves_results_past_system_rows(backend):
    entries = [turn("c1"), system(), result("c1")]
    assert repaired(backend, *entries) == [entries[0], entries[2], entries[1]]


# ---- Nodes: text_to_message -------------------------------------------------------------------


@each("text", "", None, {1}, HUGE, RefusesToDump(), Named.NOTHING, Text(""))
@pytest.mark.parametrize("role", ["user", "tool"])
def test_no_text_makes_no_message(backend, text, role):
    """Empty content (exactly `""` after coercion …) gives `[]` and `{}`, on role `tool` too"""
    made = backend.text_to_message(text, role, "c1")
    assert made == ([], {})


@pytest.mark.parametrize("text", [" ", "\n", 0, False, [], {}])
def test_blanks_are_text(backend, text):
    """blanks are text"""
    assert backend.text_to_message(text).message == user(backend.coerce_content(text))


@each_pair(
    *((role, role) for role in ("user", "assistant", "system", "tool")),
    (TextEnum.TOOL, "tool"),
    (Named.ASSISTANT, "assistant"),
    (Nested.ROLE, "tool"),
    (Text("system"), "system"),
    *(
        (role, "user")
        for role in ("User", " tool", "tool ", "developer", "", None, 5, ["tool"], b"tool")
    ),
    *(
        (role, "user")
        for role in (True, Named.ID, Named.LIST, RaisingEnum.MEMBER, Mock(), NoClass())
    ),
    *((role, "user") for role in (HUGE, str, {"tool"}, {"role": "tool"}, Mock(spec=str))),
)
def test_the_role_of_a_text(backend, given, expected):
    """one of `user`, `assistant`, `system`, `tool`, spelled exactly so …; anything else … `user`"""
    made = backend.text_to_message("x", given)
    assert made == ([{"role": expected, "content": "x"}], {"role": expected, "content": "x"})
    assert type(made.message["role"]) is str


@each_pair(
    ("c1", "c1"),
    ("  c1\t", "c1"),
    ("0", "0"),
    (0, "0"),
    (12, "12"),
    (-1, "-1"),
    (Number(7), "7"),
    (NumberEnum.ONE, "1"),
    (Text(" c1"), "c1"),
    (TextEnum.ID, "c1"),
    *(
        (id, None)
        for id in ("", "  ", Text(" "), None, True, False, 1.0, ["c1"], b"c1", {"id": "c1"})
    ),
    *(
        (id, None)
        for id in (Named.ID, HUGE, object(), Mock(), Mock(spec=str), NoClass(), UUID(int=1))
    ),
)
def test_the_id_of_a_text(backend, given, expected):
    """an `int` (no `bool`) as its decimal string, a `str` trimmed, omitted when blank; …"""
    message = backend.text_to_message("x", "tool", given).message
    id = {} if expected is None else {"tool_call_id": expected}
    assert message == {"role": "tool", "content": "x", **id}
    assert list(message) == ["role", "content", *id]
    assert all(type(value) is str for value in message.values())
    for role in ("user", "assistant", "system", "operator"):
        assert "tool_call_id" not in backend.text_to_message("x", role, given).message


def test_the_row_of_a_text_is_its_own(backend):
    """`messages` (a list of one row, or empty), `message` (an equal row of its own, or `{}`)"""
    for arguments in (("x",), ("x", "tool", "c1"), ("x", "tool")):
        messages, message = backend.text_to_message(*arguments)
        assert messages == [message]
        assert messages[0] is not message
    one, other = backend.text_to_message(""), backend.text_to_message("")
    assert one.messages is not other.messages
    assert one.message is not other.message
