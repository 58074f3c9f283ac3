"""**Linear**, with every option: nothing stored makes the search for ids or calls quadratic."""

import pytest
from rows import INTERRUPTED, system, turn, user
from test_scaling import (
    BOUND,
    SHAPES,
    TIMES,
    assert_takes_less,
    calls,
    ids,
    interleaved,
    no_collector,  # noqa: F401
    peak,
    placeholders,
    results,
    turns,
)

pytestmark = pytest.mark.usefixtures("quick_collector")

SMALL = 150

EVERY_OPTION = {
    "ids": "rescue",
    "pending": "keep",
    "interrupted": "never ran",
    "system": "merge",
    "keep": ("name", "reasoning_content"),
    "content": "parts",
    "copy": False,
}


def equal(n):
    return ["c"] * n


def nameless(names, content="ok"):
    return [{"role": "tool", "content": content, "name": name} for name in names]


def idless(names):
    return [{"name": name} for name in names]


def one_turn_each(made):
    return [turn(call) for call in made]


RESCUE_SHAPES = {
    "equal ids, then the results": lambda n: turns(equal(n)) + results(equal(n)),
    "equal ids in one turn": lambda n: [turn(*calls(equal(n))), *results(equal(n))],
    "equal ids, users between": lambda n: interleaved(turns(equal(n)), [user()] * n),
    "equal ids, users between, results last": lambda n: (
        interleaved(turns(equal(n)), [user()] * n) + results(equal(n))
    ),
    "equal ids, then results and users": lambda n: (
        turns(equal(n)) + interleaved(results(equal(n)), [user()] * n)
    ),
    "equal ids, placeholders, then answers": lambda n: (
        turns(equal(n)) + placeholders(equal(n)) + results(equal(n))
    ),
    "equal ids, placeholders, users, answers": lambda n: (
        interleaved(turns(equal(n)), placeholders(equal(n)), [user()] * n) + results(equal(n))
    ),
    "two ids, users between": lambda n: (
        interleaved(turns(["a"] * n), [user()] * n, turns(["b"] * n))
        + interleaved(results(["b"] * n), [user()] * n, results(["a"] * n))
    ),
    "no ids, names apart": lambda n: [turn(*idless(ids(n))), *nameless(ids(n))],
    "no ids, names apart, reversed": lambda n: [turn(*idless(ids(n))), *nameless(ids(n)[::-1])],
    "no ids, names that none has": lambda n: [turn(*idless(equal(n))), *nameless(ids(n))],
    "no ids, no names": lambda n: [turn(*[{} for _ in range(n)]), *nameless([None] * n)],
    "no ids, named calls, nameless results": lambda n: (
        one_turn_each(idless(ids(n))) + nameless([None] * n)
    ),
    "no ids, nameless calls, named results": lambda n: (
        one_turn_each([{} for _ in range(n)]) + nameless(ids(n))
    ),
    "no ids, users between": lambda n: interleaved(
        one_turn_each(idless(ids(n))), [user()] * n, nameless(ids(n))
    ),
    "no ids, one name taken out of many": lambda n: [
        turn(*idless(ids(n)), *idless(equal(n))),
        *interleaved(nameless(equal(n)), nameless(ids(n)[::-1])),
    ],
    "the only open call of a turn": lambda n: [
        turn(*calls(ids(n))),
        *results(ids(n)[1:]),
        *nameless([None] * n, INTERRUPTED),
        *nameless([None] * n),
    ],
    "never the only open call": lambda n: [turn(*calls(ids(n))), *nameless([None] * n)],
    "occupied numbers": lambda n: [
        turn(*calls([f"c~{number}" for number in range(n)])),
        turn(*calls(equal(n))),
    ],
    "occupied numbers behind": lambda n: [
        turn(*calls(equal(n))),
        *results([f"c~{number}" for number in range(n)]),
    ],
    "occupied counters": lambda n: [
        turn(*calls([f"call_{number}" for number in range(n)])),
        turn(*[{} for _ in range(n)]),
    ],
    "occupied numbers of many ids": lambda n: [
        turn(*calls([*ids(n), *[f"{id}~2" for id in ids(n)]])),
        turn(*calls(ids(n) * 2)),
    ],
    "long equal ids": lambda n: [turn(*calls(["c" * 50] * n)), *results(["c" * 50] * n)],
}
OTHER_SHAPES = {
    "system rows with parts": lambda n: [system([{"type": "text", "text": "x"}])] * n,
    "one row of parts": lambda n: [user([{"type": "text", "text": "x"}] * n)],
    "one row of parts but one": lambda n: [user([*[{"type": "text"}] * n, {}])],
    "pending": lambda n: [turn(*calls(ids(n))), *results(ids(n)[::2]), *results(["x"] * n)],
    "kept keys": lambda n: [user(name="n", reasoning_content="x") for _ in range(n)],
}

every_shape = pytest.mark.parametrize(
    "shape", [*RESCUE_SHAPES.values(), *OTHER_SHAPES.values()], ids=[*RESCUE_SHAPES, *OTHER_SHAPES]
)
every_shape_of_all = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


def explain(backend, messages):
    return lambda: backend.explain_conversation(messages, **EVERY_OPTION)


def assert_grows_linearly(backend, shape):
    small, large = shape(SMALL), shape(SMALL * TIMES)
    assert_takes_less(explain(backend, large), explain(backend, small), BOUND)


@every_shape
@pytest.mark.usefixtures("no_collector")
def test_time(backend, shape):
    assert_grows_linearly(backend, shape)


@every_shape_of_all
@pytest.mark.usefixtures("no_collector")
def test_time_of_the_other_shapes(backend, shape):
    assert_grows_linearly(backend, shape)


@every_shape_of_all
@pytest.mark.usefixtures("no_collector")
def test_time_of_sharing(backend, shape):
    small, large = shape(SMALL), shape(SMALL * TIMES)
    normalize = backend.normalize_conversation
    assert_takes_less(
        lambda: normalize(large, copy=False), lambda: normalize(small, copy=False), BOUND
    )


@every_shape
def test_memory(backend, shape):
    def run(messages):
        return explain(backend, messages)()

    small, large = peak(run, shape(SMALL // 3)), peak(run, shape(SMALL // 3 * TIMES))
    assert large < max(small, 10_000) * TIMES * 2


def test_hostile_sizes(backend):
    """A hundred thousand equal ids in one turn, and none of their results lost."""
    n = 100_000
    history = [turn(*calls(equal(n))), *results(equal(n))]
    messages, dropped = backend.normalize_conversation(history, ids="rescue")
    assert (len(messages), dropped) == (n + 1, 0)
    assert messages[n]["tool_call_id"] == f"c~{n}"
