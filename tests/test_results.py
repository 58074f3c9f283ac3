"""The result types: plain tuples of the same classes from both backends, safe to pass around."""

import copy
import inspect
import pickle
import re

import pytest
from rows import INTERRUPTED, result, turn, user

import flowdrop_fast
from flowdrop_fast import Explanation, Normalized, Record, TextMessage

HISTORY = [user(), None, turn("c1"), {"role": "system", "content": "late"}]


def results(backend):
    return [
        (backend.normalize_conversation(HISTORY), Normalized),
        (backend.repair_tool_pairing(HISTORY), Normalized),
        (backend.explain_conversation(HISTORY), Explanation),
        (backend.text_to_message("hi", "tool", "c1"), TextMessage),
        (backend.text_to_message(""), TextMessage),
        (backend.explain_conversation(HISTORY).records[0], Record),
    ]


def test_types(backend):
    for value, kind in results(backend):
        assert type(value) is kind
    assert type(backend.explain_conversation(HISTORY).records) is list
    assert type(backend.normalize_conversation(HISTORY).dropped) is int


def test_unpacking(backend):
    messages, dropped = backend.normalize_conversation(HISTORY)
    assert (len(messages), dropped) == (4, 1)
    messages, dropped, records = backend.explain_conversation(HISTORY)
    assert (len(messages), dropped, len(records)) == (4, 1, 3)
    messages, message = backend.text_to_message("hi")
    assert messages == [message] == [user()]


def test_fields():
    assert Normalized._fields == ("messages", "dropped")
    assert Explanation._fields == ("messages", "dropped", "records")
    assert TextMessage._fields == ("messages", "message")
    assert list(inspect.signature(Record).parameters) == ["kind", "index", "id", "sentence"]


def test_keyword_use(backend):
    for verb in ("normalize_conversation", "repair_tool_pairing", "explain_conversation"):
        function = getattr(backend, verb)
        assert function(messages=HISTORY) == function(HISTORY)
    assert backend.coerce_content(value=[1]) == "[1]"
    made = backend.text_to_message(tool_call_id="c1", role="tool", text="x")
    assert made.message == result("c1", "x")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickling(backend, protocol):
    for value, kind in results(backend):
        back = pickle.loads(pickle.dumps(value, protocol))
        assert type(back) is kind
        assert back == value


def test_functions_pickle(backend):
    """Process pools and Spark send the functions themselves."""
    for name in ("normalize_conversation", "text_to_message"):
        function = getattr(backend, name)
        assert pickle.loads(pickle.dumps(function)) is function


def test_copying(backend):
    for value, kind in results(backend):
        shallow, deep = copy.copy(value), copy.deepcopy(value)
        assert type(shallow) is type(deep) is kind
        assert shallow == deep == value
    normalized = backend.normalize_conversation(HISTORY)
    assert copy.copy(normalized).messages is normalized.messages
    assert copy.deepcopy(normalized).messages[0] is not normalized.messages[0]


def test_immutability(backend):
    for value, _ in results(backend):
        names = getattr(value, "_fields", ("kind", "index", "id", "sentence"))
        for name in (*names, "other"):
            with pytest.raises((AttributeError, TypeError)):
                setattr(value, name, 1)
            with pytest.raises((AttributeError, TypeError)):
                delattr(value, name)


def test_repr_can_be_read(backend):
    normalized = backend.normalize_conversation([user(), None])
    assert repr(normalized) == f"Normalized(messages={[user()]}, dropped=1)"
    (record,) = backend.explain_conversation([None]).records
    assert repr(record) == (
        f"Record(kind='not_a_message', index=0, id=None, sentence={record.sentence!r})"
    )


def test_records_are_values(backend):
    one = backend.explain_conversation(HISTORY).records
    other = backend.explain_conversation(HISTORY).records
    assert one == other
    assert len({*one, *other}) == len(one)


def test_sentences(backend):
    """one plain sentence for each record"""
    entries = [
        None,
        {},
        result("c1"),
        user(),
        {"role": "system", "content": ""},
        turn("c1", "c2", None),
        turn("c1"),
        user(),
        result("c2"),
        result("c2"),
        result(" "),
        result("it's"),
    ]
    records = backend.explain_conversation(entries).records
    assert len({record.kind for record in records}) == 11
    for record in records:
        assert re.search(rf"\b[Ee]ntry {record.index} ", record.sentence)
        assert (record.id is None) == (repr(record.id) not in record.sentence)
        assert record.sentence[0].isupper()
        assert record.sentence.endswith(".")
        assert "\n" not in record.sentence
        made_or_moved = record.kind.startswith(("interrupted", "moved"))
        assert ("was dropped" in record.sentence) != made_or_moved


def test_facade_is_one_of_the_backends():
    """The public functions are those of the backend that `BACKEND` names."""
    module = __import__(f"flowdrop_fast._{flowdrop_fast.BACKEND}", fromlist=["_"])
    for name in ("normalize_conversation", "explain_conversation", "coerce_content"):
        assert getattr(flowdrop_fast, name) is getattr(module, name)


def test_facade_names():
    assert set(flowdrop_fast.__all__) <= set(dir(flowdrop_fast))
    assert flowdrop_fast.__all__ == sorted(flowdrop_fast.__all__)
    assert INTERRUPTED in flowdrop_fast.normalize_conversation.__doc__
