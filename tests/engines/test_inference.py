"""The evidence behind "a conversation is one JSON text": what inference does to conversations."""

import json

import pyarrow as pa
import pytest

from flowdrop_fast.arrow import normalize_batch

from .inference import CASES, READERS, conversations, outcome


@pytest.mark.parametrize("reader", READERS)
def test_every_engine_that_infers_a_schema_loses_some_arguments(reader, local_spark, tmp_path):
    assert local_spark.getActiveSession() is not None
    found = {}
    for number, case in enumerate(CASES):
        (tmp_path / str(number)).mkdir()
        found[case], told = outcome(reader, case, tmp_path / str(number))
        print(case, found[case], told)
    # Text in one conversation and an object in the other is beyond all of them.
    assert found["arguments as text, as object"] in {"changed", "failed"}


def test_a_conversation_that_all_can_read_is_kept_by_all(local_spark, tmp_path, monkeypatch):
    """The measure itself: what is regular must count as kept."""
    assert local_spark.getActiveSession() is not None
    monkeypatch.setitem(CASES, "regular", [{"city": "Oslo"}, {"city": "Bergen"}])
    for number, reader in enumerate(READERS):
        (tmp_path / str(number)).mkdir()
        assert outcome(reader, "regular", tmp_path / str(number))[0] == "kept", reader


@pytest.mark.parametrize("case", CASES)
def test_text_keeps_all_of_them(case):
    answer = {"role": "tool", "content": "rain", "tool_call_id": "c1"}
    rows = [[*row, answer] for row in conversations(case)]
    torn = [[None, *row] for row in rows]
    batch = normalize_batch(pa.record_batch({"messages": [json.dumps(row) for row in torn]}))
    assert [json.loads(text) for text in batch["messages"].to_pylist()] == rows
    assert batch["dropped"].to_pylist() == [1, 1]
