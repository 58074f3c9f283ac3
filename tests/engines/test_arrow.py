"""The kernel: rows, types, columns, and rows that are wrong."""

import doctest
import json
import sys
import tracemalloc

import pyarrow as pa
import pytest

from flowdrop_fast import _json, arrow
from flowdrop_fast.arrow import normalize_batch, normalize_table, normalized_schema

from .conversations import UNREADABLE, assert_rows, make_text

TEXT_TYPES = [pa.string(), pa.large_string(), pa.string_view()]
DICTIONARIES = [pa.dictionary(pa.int32(), kind) for kind in TEXT_TYPES[:2]]


def rows_of(batch):
    names = ["messages", "dropped", "records", "error"]
    return list(zip(*(batch[name].to_pylist() for name in names), strict=True))


def batch_of(texts, kind=None):
    return pa.record_batch({"messages": pa.array(texts, kind or pa.string())})


def test_the_examples_of_the_docstrings():
    found = doctest.testmod(arrow)
    assert found.attempted > 5
    assert not found.failed


@pytest.mark.parametrize("with_orjson", [True, False])
@pytest.mark.parametrize("kind", TEXT_TYPES + DICTIONARIES, ids=str)
def test_rows_of_every_text_type(kind, with_orjson, monkeypatch):
    assert _json.orjson is not None, "these tests need orjson"
    if not with_orjson:
        monkeypatch.setattr(_json, "orjson", None)
    texts = [make_text(seed) for seed in range(400)]
    batch = normalize_batch(batch_of(texts, kind))
    batch.validate(full=True)
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    assert batch.schema.types == [plain, pa.int64(), plain, plain]
    assert_rows(rows_of(batch), texts)


def test_a_second_time_nothing_changes():
    texts = [make_text(seed) for seed in range(400)]
    once = normalize_batch(batch_of(texts))
    twice = normalize_batch(once.select(["messages"]))
    assert twice["messages"].equals(once["messages"])
    assert set(twice["dropped"].to_pylist()) == {0}
    assert set(twice["records"].to_pylist()) == {"[]"}


def test_a_text_in_which_nothing_changes_leaves_byte_for_byte():
    text = ' { "cost" : 1.10, "messages":[{"content":"\\u00e9","role":"user"}] , "a":1,"a":1e5}\n'
    assert rows_of(normalize_batch(batch_of([text]))) == [(text, 0, "[]", None)]


def test_other_fields_keep_their_place_and_value():
    text = '{"id":18446744073709551616,"messages":[null],"scores":[NaN,null,"\\ud800"]}'
    (row,) = rows_of(normalize_batch(batch_of([text])))
    assert row[0] == text.replace("[null]", "[]", 1)
    assert [record["kind"] for record in json.loads(row[2])] == ["not_a_message"]


def test_an_integer_beyond_64_bits_is_an_id_like_any_other():
    id = 2**64
    messages = [
        {"role": "assistant", "content": "", "tool_calls": [{"tool_call_id": id, "id": "c1"}]},
        {"role": "tool", "content": "rain", "tool_call_id": str(id)},
    ]
    (row,) = rows_of(normalize_batch(batch_of([json.dumps(messages)])))
    messages[0]["tool_calls"][0]["tool_call_id"] = str(id)
    assert json.loads(row[0]) == messages
    assert row[1:] == (0, "[]", None)


def test_bad_rows_stay_as_they_are_and_say_why():
    rows = rows_of(normalize_batch(batch_of(UNREADABLE)))
    assert [row[:3] for row in rows] == [(text, 0, "[]") for text in UNREADABLE]
    errors = [row[3] for row in rows]
    assert errors[0] == "null, not JSON text"
    assert errors[2].startswith("not JSON: Expecting property name")
    assert errors[3] == "no conversation: a number, not a list or an object"
    assert errors[6] == "no conversation: an object without the key 'messages'"
    assert errors[7] == "no conversation: 'messages' is an object, not a list"
    assert errors[8] == "not JSON: number out of range: 1e400"
    assert errors[9] == "not JSON: nested too deeply"


def test_bytes_that_are_no_text_stay_as_they_are():
    texts = pa.array([b"\xff", b"[null]"], pa.binary())
    batch = normalize_batch(pa.record_batch({"messages": texts.view(pa.string())}))
    assert batch["messages"].cast(pa.binary()).to_pylist() == [b"\xff", b"[]"]
    assert batch["error"][0].as_py().startswith("not JSON: 'utf-8' codec can't decode byte 0xff")
    assert batch["error"][1].as_py() is None


def test_one_row_that_raises_does_not_fail_the_others(monkeypatch):
    explain = arrow.backend.explain_conversation

    def failing(messages):
        if messages == [1]:
            raise RuntimeError("odd: \ud800")
        return explain(messages)

    monkeypatch.setattr(arrow.backend, "explain_conversation", failing)
    rows = rows_of(normalize_batch(batch_of(["[1]", "[2]"])))
    assert rows[0] == ("[1]", 0, "[]", "RuntimeError: odd: \\ud800")
    assert rows[1][:2] == ("[]", 1)


def test_other_columns_pass_untouched_and_in_order():
    schema = pa.schema(
        [
            pa.field("day", pa.dictionary(pa.int8(), pa.string())),
            pa.field("talk", pa.large_string(), nullable=False, metadata={"from": "logs"}),
            pa.field("tags", pa.list_(pa.struct([("k", pa.decimal128(9, 2))]))),
        ],
        metadata={"made": "by hand"},
    )
    rows = [
        {"day": None, "talk": "[null]", "tags": [{"k": None}]},
        {"day": "Monday", "talk": "[]", "tags": None},
    ]
    before = pa.RecordBatch.from_pylist(rows, schema)
    after = normalize_batch(before, column="talk")
    assert after.schema.equals(normalized_schema(schema, "talk"), check_metadata=True)
    assert after.schema.names == ["day", "talk", "tags", "dropped", "records", "error"]
    assert after.schema.field("talk").equals(schema.field("talk"), check_metadata=True)
    assert after.schema.metadata == schema.metadata
    for name in ("day", "tags"):
        assert after[name].equals(before[name])
    assert after["talk"].to_pylist() == ["[]", "[]"]
    assert before["talk"].to_pylist() == ["[null]", "[]"]


def test_slices_and_no_rows():
    texts = [make_text(seed) for seed in range(50)]
    batch = batch_of(texts)
    assert_rows(rows_of(normalize_batch(batch.slice(7, 20))), texts[7:27])
    empty = normalize_batch(batch.slice(0, 0))
    assert empty.num_rows == 0
    assert empty.schema == normalized_schema(batch.schema)


def test_tables():
    texts = [make_text(seed) for seed in range(60)]
    table = pa.Table.from_batches([batch_of(texts[:20]), batch_of([]), batch_of(texts[20:])])
    assert_rows(rows_of(normalize_table(table)), texts)
    empty = normalize_table(table.slice(0, 0))
    assert (empty.num_rows, empty.schema) == (0, normalized_schema(table.schema))


def test_columns_that_cannot_be_used():
    batch = pa.record_batch({"id": [1], "text": ["[]"]})
    with pytest.raises(ValueError, match=r"no column named 'messages' among \['id', 'text'\]"):
        normalize_batch(batch)
    with pytest.raises(TypeError, match=r"column 'id' is of type int64, and must hold JSON text"):
        normalize_batch(batch, "id")
    twice = pa.RecordBatch.from_arrays([pa.array(["[]"])] * 2, names=["messages"] * 2)
    with pytest.raises(ValueError, match="2 columns named 'messages'"):
        normalize_batch(twice)
    with pytest.raises(ValueError, match=r"columns \['dropped', 'records', 'error'\] exist"):
        normalize_batch(normalize_batch(batch_of(["[]"])))
    for kind in (pa.binary(), pa.dictionary(pa.int8(), pa.int64()), pa.list_(pa.string())):
        with pytest.raises(TypeError, match="must hold JSON text in strings"):
            normalize_batch(batch_of([None], kind))


OPEN = [{"role": "assistant", "content": "", "name": "ann", "tool_calls": [{"id": "c1"}]}]


def test_options_hold_for_every_row_of_every_batch():
    text = json.dumps(OPEN, separators=(",", ":"))
    options = {"keep": iter(["name"]), "pending": "keep"}
    table = pa.Table.from_batches([batch_of([text, text]), batch_of([text])])
    for row in rows_of(normalize_table(table, **options)):
        assert json.loads(row[0]) == OPEN
        assert row[1:] == (0, "[]", None)


def test_wrong_options_are_no_matter_of_rows():
    with pytest.raises(ValueError, match="pending must be 'interrupt' or 'keep', not 'leave'"):
        normalize_batch(batch_of(["[]"]), pending="leave")
    with pytest.raises(TypeError, match="keep must be an iterable of keys"):
        normalize_table(pa.table({"messages": pa.array([], pa.string())}), keep="name")
    with pytest.raises(TypeError, match="unexpected keyword argument 'pendign'"):
        normalize_batch(batch_of(["[]"]), pendign="keep")


def test_memory_is_given_back():
    text = json.dumps([{"role": "user", "content": "x" * 200_000}, None])
    before = pa.total_allocated_bytes()
    for _ in range(5):
        normalize_batch(batch_of([text] * 20))
    assert pa.total_allocated_bytes() - before < 1_000_000


def test_memory_is_little_more_than_what_comes_out():
    text = json.dumps([{"role": "user", "content": "x" * 100_000}, None])
    batch = batch_of([text] * 200)
    tracemalloc.start()
    try:
        normalized = normalize_batch(batch)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.5 * normalized["messages"].nbytes


def test_the_type_names_of_this_pyarrow():
    assert [str(kind) for kind in TEXT_TYPES] == list(arrow._TEXT_TYPES), sys.version
