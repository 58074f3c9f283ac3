"""**Linear:** time and memory grow with the number of entries, calls and text; no order or choice
of ids makes it worse.

The bound lies between the two: 32 times the entries may take 32 times as long, and a quadratic
pass takes 1,024 times. The time of one size is only ever compared with another's in the same run.
"""

import gc
import itertools
import json
import math
import time
import tracemalloc

import pytest
from rows import INTERRUPTED, result, system, turn, user

pytestmark = pytest.mark.usefixtures("quick_collector")

SMALL = 200
TIMES = 32
BOUND = 5 * TIMES


def ids(n):
    return [f"call_{number}" for number in range(n)]


def colliding_ids(n, bits):
    """Ids whose hashes agree in all the bits by which a table of their size tells them apart."""
    low = (1 << bits) - 1
    names = (f"call_{number}" for number in itertools.count())
    return list(itertools.islice((name for name in names if hash(name) & low == 0), n))


def calls(names):
    return [{"id": name, "name": "search"} for name in names]


def one_turn(names, answers):
    return [turn(*calls(names)), *(result(name) for name in answers)]


def turns(names):
    return [turn(*calls([name])) for name in names]


def interleaved(*lists):
    return [row for rows in zip(*lists, strict=True) for row in rows]


def results(names):
    return [result(name) for name in names]


def placeholders(names):
    return [result(name, INTERRUPTED) for name in names]


SHAPES = {
    "one turn, answered": lambda n: one_turn(ids(n), ids(n)),
    "one turn, unanswered": lambda n: one_turn(ids(n), []),
    "one turn, reversed": lambda n: one_turn(ids(n), reversed(ids(n))),
    "one turn, every other reversed": lambda n: one_turn(ids(n), ids(n)[::-2]),
    "one turn of unusable calls": lambda n: [turn(*calls(["0"] * n), content="x")],
    "one turn of equal ids": lambda n: one_turn(["c1"] * n, ["c1"] * n),
    "one turn as JSON text": lambda n: [
        {"role": "assistant", "tool_calls": json.dumps(calls(ids(n)))}
    ],
    "one turn with holes": lambda n: [
        {"role": "assistant", "tool_calls": dict(enumerate(calls(ids(n))))}
    ],
    "orphans": lambda n: results(ids(n)),
    "results without an id": lambda n: results([None] * n),
    "equal results": lambda n: [turn("c1"), *results(["c1"] * n)],
    "equal ids": lambda n: interleaved(turns(["c1"] * n), results(["c1"] * n)),
    "early results": lambda n: results(ids(n)) + turns(ids(n)),
    "all turns, then all results": lambda n: turns(ids(n)) + results(ids(n)),
    "all turns, then all results reversed": lambda n: turns(ids(n)) + results(reversed(ids(n))),
    "placeholders": lambda n: one_turn(ids(n), []) + placeholders(ids(n)),
    "placeholders, then answers": lambda n: (
        one_turn(ids(n), []) + placeholders(ids(n)) + results(reversed(ids(n)))
    ),
    "placeholders for one call": lambda n: [turn("c1"), *placeholders(["c1"] * n), result("c1")],
    "users": lambda n: [user() for _ in range(n)],
    "systems": lambda n: [system() for _ in range(n)],
    "alternating systems": lambda n: interleaved([user()] * n, [system()] * n),
    "alternating": lambda n: interleaved(turns(ids(n)), results(ids(n)), [user()] * n),
    "alternating, results late": lambda n: interleaved(
        turns(ids(n)), [user()] * n, [system()] * n, results(ids(n))
    ),
    "no messages": lambda n: [None, {}, 5] * n,
    "stored": lambda n: [
        {"role": "tool", "metadata": json.dumps({"tool_call_id": name})} for name in ids(n)
    ],
    "one long text": lambda n: [user("ü" * 100 * n)],
    "one long broken text": lambda n: [user("\ud800" * 10 * n)],
    "one wide content": lambda n: [user([{"text": "x"}] * n)],
    "one wide odd content": lambda n: [user([("x",), {1: "x"}] * n)],
    "one wide row": lambda n: [user(**dict.fromkeys(ids(n), 1))],
    "one long id": lambda n: [turn(" " * 100 * n + "c1"), result("c1" + " " * 100 * n)],
}

every_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


def assert_takes_less(one, other, times):
    """The least of some times is compared: in it, whatever else the machine does shows least."""
    least = [math.inf, math.inf]
    for _ in range(20):
        for place, run in enumerate((one, other)):
            start = time.thread_time()
            run()
            least[place] = min(least[place], time.thread_time() - start)
        if least[0] < times * least[1]:
            return
    raise AssertionError(f"{least[0]:.6f} s is not less than {times} times {least[1]:.6f} s")


@pytest.fixture
def no_collector():
    """Collections cost by what else lives in the process."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@every_shape
@pytest.mark.usefixtures("no_collector")
def test_time(backend, shape):
    small, large = shape(SMALL), shape(SMALL * TIMES)
    for function in (backend.explain_conversation, backend.repair_tool_pairing):
        assert_takes_less(lambda run=function: run(large), lambda run=function: run(small), BOUND)


@pytest.mark.usefixtures("no_collector")
def test_time_of_colliding_ids(backend):
    n, bits = 2_000, 11
    ordinary = one_turn(ids(n), ids(n)[::-1])
    names = colliding_ids(n, bits)
    colliding = one_turn(names, names[::-1])
    function = backend.normalize_conversation
    assert_takes_less(lambda: function(colliding), lambda: function(ordinary), 4)


def peak(function, messages):
    tracemalloc.start()
    try:
        function(messages)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@every_shape
def test_memory(backend, shape):
    function = backend.explain_conversation
    small, large = peak(function, shape(SMALL // 4)), peak(function, shape(SMALL // 4 * TIMES))
    assert large < max(small, 10_000) * TIMES * 2


def test_hostile_sizes(backend):
    """A hundred thousand of each, once: no recursion, no limit."""
    n = 100_000
    names = ids(n)
    messages, dropped = backend.normalize_conversation(one_turn(names, reversed(names)))
    assert (len(messages), dropped) == (n + 1, 0)
    assert [row["tool_call_id"] for row in messages[1:]] == names
