"""Where stack or memory end, a call gives its answer or raises: it never loses what it reads."""

import json
import operator
import sys
from collections import UserDict
from functools import partial

import pytest
from hostile import MAPPINGS, Dumps, Named, Tuple
from rows import result, turn, user

from flowdrop_fast import _content

CALL = {"id": 5, "name": "search"}
CONVERSATIONS = {
    "content": [user({"a": [1, 2]})],
    "odd content": [user([Tuple((Named.USER,))])],
    "object as content": [user(Dumps({"a": 1}))],
    "metadata": [{"role": "assistant", "metadata": json.dumps({"tool_calls": [CALL]})}],
    "calls": [turn(content="", tool_calls=json.dumps([CALL])), result(5)],
    **{name: [read(user())] for name, read in MAPPINGS.items()},
}


def with_frames_left(frames, function):
    """Call a function when only so many frames are left."""
    top = sys._getframe()
    depth = 0
    while top is not None:
        top, depth = top.f_back, depth + 1

    def descend(levels):
        return function() if levels <= 0 else descend(levels - 1)

    return descend(sys.getrecursionlimit() - depth - frames)


@pytest.mark.parametrize("name", CONVERSATIONS)
@pytest.mark.parametrize("verb", ["normalize_conversation", "repair_tool_pairing"])
def test_nothing_is_lost_where_the_stack_ends(backend, verb, name):
    function, rows = getattr(backend, verb), CONVERSATIONS[name]
    expected = function(rows)
    raised = 0
    for frames in range(1, 80):
        try:
            assert with_frames_left(frames, lambda: function(rows)) == expected
        except RecursionError:
            raised += 1
    assert 0 < raised < 79


def test_a_value_that_uses_up_the_stack_itself(backend):
    class Endless:
        def model_dump(self, **options):
            return self.model_dump(**options)

    assert backend.normalize_conversation([user(Endless()), Endless()]) == ([user("")], 1)


def test_memory_that_does_not_suffice_for_a_text(backend, monkeypatch):
    # So many repetitions of the content's parts are more than any memory holds.
    monkeypatch.setattr(_content, "_encode_plain", partial(operator.mul, sys.maxsize))
    with pytest.raises(MemoryError):
        backend.coerce_content([1, 2])


def test_memory_that_runs_out_in_a_value_of_its_own(backend):
    """cannot be serialized: […] an object whose own code raises"""

    class Greedy(UserDict):
        def __iter__(self):
            return iter([self] * sys.maxsize)

    assert backend.normalize_conversation([user(Greedy()), Greedy()]) == ([user("")], 1)
