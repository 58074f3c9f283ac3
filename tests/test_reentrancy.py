"""The caller's own code runs while a conversation is read, and changes it under our hands.

Nothing may crash, and what leaves is as well-formed as ever: what was read stays as it was read.
"""

import functools
import gc
import json
import sys
import warnings
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from enum import Enum

import pytest
from checks import assert_sendable, frozen
from hostile import forget_calls
from hypothesis import given
from rows import result, system, turn, user
from strategies import nasty_histories

pytestmark = pytest.mark.usefixtures("quick_collector")

VERBS = ["normalize_conversation", "repair_tool_pairing", "explain_conversation"]


@pytest.fixture
def collector():
    """The collector, with its settings as they were afterwards."""
    threshold = gc.get_threshold()
    yield gc
    gc.set_threshold(*threshold)
    gc.enable()


# ---- Values whose reading runs `act`, and which then say what they hold -------------------------


def dumping(act, said):
    class Dumping:
        def model_dump(self, **_options):
            act()
            return said

    return Dumping()


def mapping_that_iterates(act, said):
    class Iterating(Mapping):
        def __iter__(self):
            for key in said:
                act()
                yield key

        def __getitem__(self, key):
            return said[key]

        def __len__(self):
            return len(said)

    return Iterating()


def mapping_that_looks_up(act, said):
    class LookingUp(Mapping):
        def __iter__(self):
            return iter(said)

        def __getitem__(self, key):
            act()
            return said[key]

        def __len__(self):
            act()
            return len(said)

    return LookingUp()


def with_class(act, _said):
    class Classed:
        @property
        def __class__(self):
            act()
            return Classed

    return Classed()


def enum_member(act, said):
    class Member(Enum):
        ONE = 1

        @property
        def value(self):
            act()
            return said if isinstance(said, str) else "text"

    return Member.ONE


def scalar(act, _said):
    class Amount(Decimal):
        def __str__(self):
            act()
            return "1"

    return Amount(1)


def day(act, _said):
    class Day(date):
        def isoformat(self):
            act()
            return "today"

    return Day(2024, 2, 29)


READERS = [
    dumping,
    mapping_that_iterates,
    mapping_that_looks_up,
    with_class,
    enum_member,
    scalar,
    day,
]


class Key:
    """A key that collides with a text, and acts when it is compared or hashed, once it is armed."""

    act = None

    def __init__(self, text):
        self.text = text

    def __hash__(self):
        if self.act:
            self.act()
        return hash(self.text)

    def __eq__(self, other):
        if self.act:
            self.act()
        return self is other


# ---- Conversations, with one such value somewhere in them ---------------------------------------

PLACES = [
    "entry",
    "role",
    "content",
    "metadata",
    "tool_calls",
    "call",
    "call id",
    "tool_call_id",
    "stored tool_calls",
    "healed",
]


def conversation(place, make, act):
    """A conversation whose row 2 holds, at a place, what `make` makes."""
    said = {"role": "user", "content": "hi", "id": "c9", "name": "search"}
    said = {"entry": said, "role": "assistant", "metadata": {"tool_calls": [said]}}.get(place, said)
    value = make(act, said)
    row = turn("c2", content="text", metadata={"tool_calls": [{"id": "m1"}]})
    if place == "entry":
        row = value
    elif place == "call":
        row["tool_calls"].append(value)
    elif place == "call id":
        row["tool_calls"].append({"tool_call_id": value, "id": "c3"})
    elif place == "stored tool_calls":
        row["tool_calls"] = []
        row["metadata"]["tool_calls"] = value
    elif place in ("tool_call_id", "healed"):
        row = result("c1", metadata={"tool_call_id": "c1"})
        row[place] = value
    else:
        row[place] = value
    return [user(), turn("c1"), row, result("c1"), system(), result("c2"), turn("c3"), {}]


def clear_list(messages):
    messages.clear()


def grow_list(messages):
    if len(messages) < 50:
        messages.insert(0, user("new"))
        messages.append(result("c2", "new"))


def swap_rows(messages):
    messages[:] = [user("new") for _ in messages]


def clear_rows(messages):
    for row in messages:
        if type(row) is dict:
            row.clear()


def widen_rows(messages):
    for row in messages:
        if type(row) is dict:
            row.update(dict.fromkeys(map(str, range(100))))


def change_rows(messages):
    for row in messages:
        if type(row) is dict:
            row.update(role="tool", content=7, tool_call_id="c1", metadata="x", tool_calls=5)


def clear_calls(messages):
    for row in messages:
        if type(row) is dict and type(row.get("tool_calls")) is list:
            row["tool_calls"].clear()


def grow_calls(messages):
    for row in messages:
        if (
            type(row) is dict
            and type(row.get("tool_calls")) is list
            and len(row["tool_calls"]) < 50
        ):
            row["tool_calls"][:0] = [{"id": "new"}, None]


def clear_metadata(messages):
    for row in messages:
        if type(row) is dict and type(row.get("metadata")) is dict:
            row["metadata"].clear()


def collect(_messages):
    gc.collect()


DEEDS = [
    clear_list,
    grow_list,
    swap_rows,
    clear_rows,
    widen_rows,
    change_rows,
    clear_calls,
    grow_calls,
    clear_metadata,
    collect,
]


def meddled(place, make, deed):
    """A conversation whose row 2, when it is read, does the deed to the conversation."""
    messages = []
    messages += conversation(place, make, lambda: deed(messages))
    return messages


every_deed = pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.__name__)
every_reader = pytest.mark.parametrize("make", READERS, ids=lambda make: make.__name__)
every_place = pytest.mark.parametrize("place", PLACES)


def as_text(returned):
    """JSON text of what a function returns, with types for the values of this file."""
    return json.dumps(
        [returned.messages, returned.dropped, repr(returned[2:])],
        default=lambda value: type(value).__name__,
    )


@every_deed
@every_reader
def test_reading_changes_the_conversation(backend, make, deed):
    for place in PLACES:
        messages = meddled(place, make, deed)
        assert_sendable(backend.normalize_conversation(messages).messages)
        assert_sendable(backend.explain_conversation(meddled(place, make, deed)).messages)
        repaired = backend.repair_tool_pairing(meddled(place, make, deed))
        assert all(row is not None for row in repaired.messages)


@every_reader
@pytest.mark.parametrize("deed", [clear_list, grow_list, swap_rows], ids=lambda deed: deed.__name__)
def test_the_list_is_a_snapshot(backend, make, deed):
    """It is read once, into a snapshot, before anything else"""
    for place in PLACES:
        for verb in VERBS:
            function = getattr(backend, verb)
            undisturbed = as_text(function(meddled(place, make, lambda _messages: None)))
            assert as_text(function(meddled(place, make, deed))) == undisturbed


@every_reader
@pytest.mark.parametrize("deed", [clear_calls, grow_calls], ids=lambda deed: deed.__name__)
def test_the_calls_of_a_turn_are_read_at_once(backend, make, deed):
    """Reading one call changes neither which others there are, nor what becomes of them."""
    for verb in VERBS:
        messages = []
        call = make(functools.partial(deed, messages), {"id": "c2"})
        messages += [turn({"id": "c1"}, call, {"id": "c3"})]
        names = [row["tool_call_id"] for row in getattr(backend, verb)(messages).messages[1:]]
        assert names in (["c1", "c3"], ["c1", "c2", "c3"])


@every_deed
@every_reader
def test_backends_read_in_the_same_order(both_backends, make, deed):
    """Both backends see the same, whatever is changed while they read."""
    for place in PLACES:
        for verb in ("normalize_conversation", "explain_conversation"):
            pure, native = (
                as_text(getattr(module, verb)(meddled(place, make, deed)))
                for module in both_backends
            )
            assert pure == native


@every_deed
@pytest.mark.parametrize(
    "text", ["role", "content", "tool_calls", "tool_call_id", "metadata", "healed", "id", "other"]
)
def test_comparing_keys_changes_the_conversation(backend, text, deed):
    for row in (turn("c2", metadata={"tool_calls": [{"id": "c3"}]}), result("c1"), user()):
        for held in (row, row.get("metadata", {}), *row.get("tool_calls", ())):
            messages = [turn("c1"), row, result("c1"), system(), user()]
            kept = dict(held)
            held.clear()
            key = Key(text)
            held.update({**kept, "spare": 1, key: 1})
            del held["spare"]  # a dict with a gap is copied key by key
            key.act = lambda messages=messages: deed(messages)
            for verb in VERBS:
                left = getattr(backend, verb)(list(messages)).messages
                assert None not in [type(row) for row in left]


@pytest.mark.parametrize("verb", VERBS)
def test_the_function_is_called_while_it_runs(backend, verb):
    """Each call has a state of its own."""
    function = getattr(backend, verb)
    inner = []

    def act():
        if len(inner) < 5:
            inner.append(function([turn("c1"), result("c1"), turn("c2")]).messages)

    for make in READERS:
        for place in PLACES:
            messages = conversation(place, make, act)
            assert function(messages) == function(messages)
    assert len(inner) == 5
    assert all(messages == inner[0] for messages in inner)


# ---- Finalizers -------------------------------------------------------------------------------


class Finalized:
    """In a cycle with itself, so that only the collector frees it; then it acts."""

    def __init__(self, act):
        self.act = act
        self.around = self

    def __del__(self):
        self.act()


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("deed", [clear_list, clear_rows, swap_rows, clear_calls, change_rows])
def test_finalizers_change_the_conversation(backend, verb, deed, collector):
    """The collector may run in any allocation, and a finalizer may pull rows from under us."""
    function = getattr(backend, verb)
    finalized = []
    for threshold in range(1, 60):
        messages = [user(), turn("c1", " c2", None), result("c2"), system(), result(7)] * 4
        messages = [dict(row) for row in messages]
        messages += [
            user({"a": [1]}),
            user((1,)),
            {"role": "tool", "metadata": {"tool_call_id": "c1"}},
        ]

        def act(messages=messages):
            finalized.append(True)
            deed(messages)

        collector.disable()
        Finalized(act)
        collector.set_threshold(threshold)
        collector.enable()
        left = function(messages).messages
        collector.collect()
        assert all(type(row) is dict for row in left)
        if verb != "repair_tool_pairing" and deed is not change_rows:
            assert_sendable(left)
    assert len(finalized) == 59


@pytest.mark.parametrize("verb", ["normalize_conversation", "repair_tool_pairing"])
@pytest.mark.parametrize("size", [10, 50_000])  # so large a list gives its memory back at once
def test_finalizers_empty_a_list_while_it_is_copied(backend, verb, size, collector):
    """Until Python 3.12 a list that is sliced may be emptied by the collector halfway."""
    function = getattr(backend, verb)
    for threshold in range(1, 9):
        calls = [{"id": "c1"}] * size
        messages = [turn(*calls), *[user()] * size]
        for emptied in (messages, messages[0]["tool_calls"]):
            kept = list(emptied)

            def act(emptied=emptied):
                emptied.clear()
                collector.disable()

            collector.disable()
            Finalized(act)
            collector.set_threshold(threshold)
            collector.enable()
            left = function(messages).messages
            collector.collect()
            assert not emptied
            assert {row["role"] for row in left} <= {"assistant", "tool", "user"}
            emptied.extend(kept)


@pytest.mark.parametrize("verb", VERBS)
def test_rows_die_while_they_are_read(backend, verb):
    """The list was the only owner of its rows, and lets go of them while they are read."""

    def forget(messages):
        messages.clear()
        gc.collect()

    for place in PLACES:
        for make in READERS:
            left = getattr(backend, verb)(meddled(place, make, forget)).messages
            assert user() in left


# ---- References -------------------------------------------------------------------------------


def reference_counts(parts):
    """References to each part, but for those of caches that come and go with any other code.

    A mock's records name the texts it was called with; the interpreter's cache of attributes holds
    the names that were looked up last.
    """
    forget_calls()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        sys._clear_type_cache()
    return [sys.getrefcount(part) for part in parts]


@given(nasty_histories())
def test_no_reference_is_kept_or_lost(backend, case):
    """After a call, everything below its input is referred to as often as before."""
    parts = [
        part
        for part, _ in frozen(case.messages).values()
        if type(part) in (dict, list, tuple, str) or type(part).__module__ == "hostile"
    ]
    gc.disable()  # what it would free, of others, holds shared texts; a cycle of ours would show
    try:
        for verb in VERBS:
            getattr(backend, verb)(case.messages)
            before = reference_counts(parts)
            for _ in range(3):
                getattr(backend, verb)(case.messages)
            assert reference_counts(parts) == before
    finally:
        gc.enable()
