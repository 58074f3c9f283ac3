"""**Same:** for every input, both backends return equal values of equal types, or raise the same.

Both read the very same objects here, so that what an output shares with its input shows.
"""

import inspect

import pytest
from checks import assert_same, containers, frozen, outcome
from hostile import MAPPINGS, NO_MAPPINGS, Dict, List, Text, Tuple
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import INTERRUPTED, result, turn, user
from strategies import SEEDED, SHRINKING, Maker, nasty_histories

VERBS = ["normalize_conversation", "repair_tool_pairing", "explain_conversation"]
FUNCTIONS = [*VERBS, "coerce_content", "text_to_message"]

MANY = 50 * settings().max_examples  # 20,000 with HYPOTHESIS_PROFILE=ci


def assert_equal_outcomes(both_backends, name, *arguments, **options):
    shared = containers(frozen(arguments))
    pure, native = (
        outcome(getattr(module, name), *arguments, **options) for module in both_backends
    )
    assert pure[0] == native[0]
    assert_same(pure[1], native[1], shared)


@settings(max_examples=MANY)
@given(nasty_histories(SEEDED))
def test_many_conversations(both_backends, case):
    for verb in VERBS:
        assert_equal_outcomes(both_backends, verb, case.messages)


@given(nasty_histories())
def test_conversations_that_shrink(both_backends, case):
    for verb in VERBS:
        assert_equal_outcomes(both_backends, verb, case.messages)


@given(st.builds(Maker, SHRINKING, st.just(0.5), st.just(False)))
def test_texts_and_contents(both_backends, maker):
    content = maker.content()
    assert_equal_outcomes(both_backends, "coerce_content", content)
    role, id = maker.role(), maker.id()
    assert_equal_outcomes(both_backends, "text_to_message", content, role, id)


OPTIONS = {
    "ids": ["strict", "rescue", "other", None],
    "pending": ["interrupt", "keep", "other", 5],
    "interrupted": ["No result.", INTERRUPTED, "", " ", None, "\ud800"],
    "system": ["keep", "merge", "other"],
    "keep": [(), ("name", "timestamp"), [], {"name": 1}.keys(), "name", ("role",), (5,), None],
    "content": ["text", "parts", "other"],
    "copy": [True, False, None, 1],
}
REPAIR_OPTIONS = ("ids", "pending", "interrupted")


@given(nasty_histories(SEEDED), st.data())
def test_options(both_backends, case, data):
    for verb in VERBS:
        names = REPAIR_OPTIONS if verb == "repair_tool_pairing" else list(OPTIONS)
        options = {
            name: data.draw(st.sampled_from(OPTIONS[name]), label=name)
            for name in data.draw(st.sets(st.sampled_from(names), max_size=3), label="names")
        }
        assert_equal_outcomes(both_backends, verb, case.messages, **options)


ROWS = [user("ü"), turn(" c1 ", "c2", None), result("c1"), result(7)]
LISTS = [
    *NO_MAPPINGS,
    *(as_mapping({"role": "user"}) for as_mapping in MAPPINGS.values()),
    Dict(ROWS[0]),
    List(ROWS),
    Tuple(ROWS),
    Text("text"),
    tuple(ROWS),
    dict(enumerate(ROWS)).values(),
    range(3),
    memoryview(b"xyz"),
]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "messages",
    [pytest.param(value, id=f"{n}-{type(value).__name__}") for n, value in enumerate(LISTS)],
)
def test_lists_of_any_type(both_backends, verb, messages):
    assert_equal_outcomes(both_backends, verb, messages)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_look_the_same(both_backends, name):
    """The same functions, same names: as the caller, and `help`, see them."""
    pure, native = (getattr(module, name) for module in both_backends)
    assert native is not pure
    assert (native.__name__, native.__doc__) == (pure.__name__, pure.__doc__)
    assert pure.__doc__
    pure, native = (inspect.signature(function).parameters for function in (pure, native))
    assert [(p.name, p.kind, p.default) for p in native.values()] == [
        (p.name, p.kind, p.default) for p in pure.values()
    ]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_wrong_arguments_are_type_errors(both_backends, name):
    for module in both_backends:
        function = getattr(module, name)
        for arguments, options in [((), {}), (([], 1, 2, 3, 4), {}), (([],), {"unknown": 1})]:
            with pytest.raises(TypeError, match=name):
                function(*arguments, **options)


def test_backends_are_two(both_backends):
    """Both can be imported and called, side by side, in one process."""
    pure, native = both_backends
    assert pure.__file__.endswith("_pure.py")
    assert not native.__file__.endswith(".py")
