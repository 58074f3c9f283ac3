"""Memory is steady: what a call takes it gives back, for clean, broken and hostile input alike.

On a debug interpreter every reference is counted (`sys.gettotalrefcount`). Elsewhere it is blocks
and bytes: the input is made anew for each call, so that a reference kept keeps memory too.
"""

import gc
import json
import sys
import tracemalloc

import pytest
from rows import result, system, turn, user

pytestmark = pytest.mark.usefixtures("quick_collector")

CALLS = 150
ROUNDS = 3  # a leak is there in each; what CPython caches when code has run often enough is not
VERBS = ["normalize_conversation", "repair_tool_pairing", "explain_conversation"]


class Stop(BaseException):
    """What passes through: no `Exception`, as KeyboardInterrupt is none."""


class Stops:
    def model_dump(self, **_options):
        raise Stop


class Raises:
    def model_dump(self, **_options):
        raise ValueError

    def __str__(self):
        raise ValueError


class Key(str):
    """A key that is no exact str."""

    __slots__ = ()


def decoded(*rows):
    """What a decoder would give: every row, id and text a new object, past any cache."""
    return json.loads(json.dumps(rows))


def clean():
    return decoded(
        system("be \u00e9 brief"),
        user("ask"),
        turn("c1", "c2"),
        result("c1", "one"),
        result("c2", "two"),
        {"role": "assistant", "content": "done"},
    )


def stored():
    return decoded(
        {"role": "user", "content": "ask", "timestamp": 1},
        {"role": "assistant", "content": None, "metadata": {"tool_calls": [{"id": "s1"}]}},
        {"role": "tool", "content": {"a": 1}, "metadata": {"tool_call_id": " s1 "}},
    )


def broken():
    return decoded(
        result("c9", "orphan"),
        result("c1", "early"),
        "no message",
        {"content": "no role"},
        user("ask"),
        turn("c1", "c1", "0", "c2", "c3"),
        user("in between"),
        result("c2", "Tool call was interrupted; no result."),
        result("c2", "moved"),
        result("c2", "duplicate"),
        turn("c1"),
        system("late"),
        {"role": "assistant", "content": "", "tool_calls": '[{"id": 7}]'},
        {"role": "tool", "content": "seven", "tool_call_id": 7},
    )


def many_calls():
    """More calls than fit the first table."""
    ids = [f"call_{n}" for n in range(100)]
    return decoded(turn(*ids), *(result(one, one) for one in reversed(ids)), turn(*ids))


def hostile():
    circular = {"role": "user"}
    circular["content"] = [circular]
    return [
        *decoded(turn("c1")),
        {"role": "tool", "content": Raises(), "tool_call_id": "c1"},
        {Key("role"): "user", 5: "x", "content": "\udce9\udc00"},
        {"role": "assistant", "content": {1, 2}, "tool_calls": [Raises(), {Key("id"): "k"}, None]},
        Raises(),
        {"role": "user", "r\u00f4le": "no key that is read"},
        circular,
        {"role": "tool", "content": b"", "metadata": '{"tool_call_id": "k"}'},
    ]


def stopping():
    return [*broken(), Stops(), *clean()]


def stopping_in_content():
    return [*broken(), {"role": "user", "content": [Stops()]}]


def stopping_in_calls():
    return [*clean(), {"role": "assistant", "tool_calls": [{"id": "c5"}, Stops()]}]


HISTORIES = [
    clean,
    stored,
    broken,
    many_calls,
    hostile,
    stopping,
    stopping_in_content,
    stopping_in_calls,
]


def held():
    """Return what this process holds: references, where they are counted, and blocks."""
    gc.collect()
    references = getattr(sys, "gettotalrefcount", lambda: 0)()
    return references, sys.getallocatedblocks()


def assert_steady(use):
    """Call `use` many times; less is kept than would be if every tenth call kept one object."""

    def calls(count):
        for _ in range(count):
            use()

    calls(CALLS)
    for _ in range(ROUNDS):
        before = held()
        calls(CALLS)
        after = held()
        references, blocks = (now - then for now, then in zip(after, before, strict=True))
        if references < CALLS / 10 and blocks < CALLS / 10:
            break
    assert references < CALLS / 10
    assert blocks < CALLS / 10

    # Blocks are small ones alone; arrays and long texts are seen by their bytes.
    tracemalloc.start()
    try:
        calls(10)
        for _ in range(ROUNDS):
            gc.collect()
            then = tracemalloc.get_traced_memory()[0]
            calls(50)
            gc.collect()
            kept = tracemalloc.get_traced_memory()[0] - then
            if kept < 50 * 16:
                break
    finally:
        tracemalloc.stop()
    assert kept < 50 * 16


@pytest.mark.parametrize("make", HISTORIES, ids=lambda make: make.__name__)
@pytest.mark.parametrize("verb", VERBS)
def test_conversations(backend, verb, make):
    function = getattr(backend, verb)

    def use():
        try:
            function(make())
        except Stop:
            assert make.__name__.startswith("stopping")

    assert_steady(use)


@pytest.mark.parametrize("make", HISTORIES, ids=lambda make: make.__name__)
@pytest.mark.parametrize("verb", VERBS)
def test_what_stops_the_program_passes_through(backend, verb, make):
    reads_content = verb != "repair_tool_pairing"
    stops = make.__name__.startswith("stopping") and (
        reads_content or make is not stopping_in_content
    )
    try:
        getattr(backend, verb)(make())
    except Stop:
        assert stops
    else:
        assert not stops


@pytest.mark.parametrize("messages", ["text", None, 5, {"role": "user"}])
def test_refused_lists(backend, messages):
    def use():
        with pytest.raises(TypeError):
            backend.normalize_conversation(messages)

    assert_steady(use)


@pytest.mark.parametrize(
    "options",
    [
        {"ids": "rescue"},
        {"pending": "keep"},
        {"system": "merge"},
        {"keep": ("name",)},
        {"content": "parts"},
        {"copy": False},
    ],
    ids=str,
)
def test_options(backend, options):
    assert_steady(lambda: backend.normalize_conversation(broken(), **options))


def test_unknown_options(backend):
    def use():
        with pytest.raises(ValueError, match="ids"):
            backend.normalize_conversation(broken(), ids="unknown")

    assert_steady(use)


def contents():
    return [
        *decoded("plain", "\u00e9\udce9", {"a": [1, None, 0.5]}, 10**30),
        {1, 2},
        Raises(),
        [Raises()],
        10**5000,
    ]


def test_coerce_content(backend):
    assert_steady(lambda: [backend.coerce_content(value) for value in contents()])


def test_text_to_message(backend):
    def use():
        for value in contents():
            for role in (*decoded("tool", "user", "no role"), None, Raises()):
                for id in (*decoded(" c1 ", "", 7), None):
                    backend.text_to_message(value, role, id)

    assert_steady(use)


def test_a_kept_object_is_seen():
    """One object kept by each call, or an array of a hundred bytes, is seen by this very check."""
    kept = []
    with pytest.raises(AssertionError):
        assert_steady(lambda: kept.append(object()))
    with pytest.raises(AssertionError):
        assert_steady(lambda: kept.append(bytearray(100)))
