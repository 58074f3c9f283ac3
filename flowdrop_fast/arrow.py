"""The kernel for engines that hold Arrow: record batches in, record batches out.

A conversation is one JSON text in a string column; reading that text and putting it back lives
here. How an engine calls the kernel is that engine's module, or a recipe in docs/engines.md.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from . import _json
from ._backend import backend
from ._results import Explanation, Record

try:
    import pyarrow as pa
except ModuleNotFoundError as error:
    raise ImportError(
        "flowdrop_fast.arrow needs pyarrow: pip install 'flowdrop-fast[arrow]'"
    ) from error

DROPPED = "dropped"
RECORDS = "records"
ERROR = "error"
ADDED_COLUMNS = (DROPPED, RECORDS, ERROR)

_TEXT_TYPES = ("string", "large_string", "string_view")
_NO_RECORDS = b"[]"


def normalize_batch(
    batch: pa.RecordBatch, column: str = "messages", **options: Any
) -> pa.RecordBatch:
    """Normalize every conversation of a record batch (MEM-5).

    A conversation is the JSON text of a list of messages, or of an object with such a list under
    `"messages"`, whose other fields are kept. A text in which nothing changes leaves byte for
    byte as it came. A row that cannot be read never fails a batch: its text stays as it is, and
    `error` says why.

    Args:
        batch: any columns. The conversations stand in one of type string, large string or string
            view; a dictionary of these leaves as its plain value type.
        column: the name of that column.
        options: as for `normalize_conversation`.

    Returns:
        The same rows and columns in the same order, and behind them `dropped` (int64: how many
        entries, calls and results were dropped), `records` (string: a JSON list of objects with
        `kind`, `index`, `id` and `sentence`, as `explain_conversation` gives them) and `error`
        (string, null where all went well). A row with an error has 0 and `[]`.

    Raises:
        ValueError: the column is missing or there twice, one of the added ones exists already, or
            an option names nothing that there is.
        TypeError: the column holds no strings, or an option is of the wrong type.

    >>> import pyarrow as pa
    >>> batch = pa.record_batch({"id": [7, 8], "messages": ['[{"role": "user"}, null]', "[{]"]})
    >>> normalize_batch(batch).select(["messages", "dropped", "error"]).to_pylist()[0]
    {'messages': '[{"role":"user","content":""}]', 'dropped': 1, 'error': None}
    >>> normalize_batch(batch).column("error")[1].as_py()[:9]
    'not JSON:'
    """
    schema = normalized_schema(batch.schema, column)
    position = batch.schema.get_field_index(column)
    explain = partial(backend.explain_conversation, **checked_options(options))
    texts, records, errors = _TextColumn(), _TextColumn(), _TextColumn()
    dropped = array("q")
    for value in _plain(batch.column(position)).cast(pa.large_binary()):
        row = _normalize_text(value.as_py(), explain)
        texts.append(row.text)
        dropped.append(row.dropped)
        records.append(row.records)
        errors.append(row.error)
    columns = list(batch.columns)
    columns[position] = texts.finish(schema.field(position).type)
    columns += [
        pa.Array.from_buffers(pa.int64(), len(dropped), [None, pa.py_buffer(dropped)]),
        records.finish(schema.field(RECORDS).type),
        errors.finish(schema.field(ERROR).type),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def normalize_table(table: pa.Table, column: str = "messages", **options: Any) -> pa.Table:
    """Normalize every conversation of a table, batch by batch, as `normalize_batch` does.

    >>> import pyarrow as pa
    >>> normalize_table(pa.table({"messages": ["[null]"]}))["dropped"].to_pylist()
    [1]
    """
    schema = normalized_schema(table.schema, column)
    options = checked_options(options)
    batches = [normalize_batch(batch, column, **options) for batch in table.to_batches()]
    return pa.Table.from_batches(batches, schema)


def normalized_schema(schema: pa.Schema, column: str = "messages") -> pa.Schema:
    """The schema that batches of a given schema leave with.

    Raises:
        ValueError, TypeError: as `normalize_batch`.

    >>> import pyarrow as pa
    >>> normalized_schema(pa.schema({"messages": pa.string()})).names
    ['messages', 'dropped', 'records', 'error']
    """
    positions = schema.get_all_field_indices(column)
    if len(positions) != 1:
        found = "no column" if not positions else f"{len(positions)} columns"
        raise ValueError(f"{found} named {column!r} among {schema.names}")
    taken = [name for name in ADDED_COLUMNS if name in schema.names]
    if taken:
        raise ValueError(f"columns {taken} exist already: drop or rename them first")
    field = schema.field(positions[0])
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if str(kind) not in _TEXT_TYPES:
        raise TypeError(
            f"column {column!r} is of type {field.type}, and must hold JSON text in strings"
        )
    schema = schema.set(positions[0], field.with_type(kind))
    added = (
        pa.field(DROPPED, pa.int64(), nullable=False),
        pa.field(RECORDS, kind, nullable=False),
        pa.field(ERROR, kind),
    )
    for field in added:
        schema = schema.append(field)
    return schema


def checked_options(options: dict[str, Any]) -> dict[str, Any]:
    """Options that serve for many conversations; raises what normalization says of wrong ones."""
    if isinstance(options.get("keep"), Iterator):
        options = {**options, "keep": tuple(options["keep"])}
    backend.explain_conversation([], **options)
    return options


class _Row(NamedTuple):
    text: bytes | None
    dropped: int = 0
    records: bytes = _NO_RECORDS
    error: bytes | None = None


def _normalize_text(text: bytes | None, explain: Callable[[list[Any]], Explanation]) -> _Row:
    if text is None:
        return _Row(text, error=b"null, not JSON text")
    try:
        value, write = _read(text)
        messages = _messages(value)
        explanation = explain(messages)
        if explanation.messages != messages:
            text = write(_put_back(value, explanation))
        return _Row(text, explanation.dropped, _records_text(explanation.records))
    except ValueError as error:
        return _failed(text, str(error))
    except Exception as error:  # whatever is wrong with one row, the others are not lost
        return _failed(text, f"{type(error).__name__}: {error}")


def _failed(text: bytes, reason: str) -> _Row:
    return _Row(text, error=reason.encode(errors="backslashreplace"))


def _read(text: bytes) -> tuple[Any, _json.Writer]:
    try:
        return _json.read(text)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from None


def _messages(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        raise ValueError(f"no conversation: {_json.describe(value)}, not a list or an object")
    if "messages" not in value:
        raise ValueError("no conversation: an object without the key 'messages'")
    messages = value["messages"]
    if not isinstance(messages, list):
        raise ValueError(f"no conversation: 'messages' is {_json.describe(messages)}, not a list")
    return messages


def _put_back(value: Any, explanation: Explanation) -> Any:
    if isinstance(value, list):
        return explanation.messages
    return {**value, "messages": explanation.messages}


def _records_text(records: list[Record]) -> bytes:
    if not records:
        return _NO_RECORDS
    return _json.dumps(
        [
            {
                "kind": record.kind,
                "index": record.index,
                "id": record.id,
                "sentence": record.sentence,
            }
            for record in records
        ]
    )


def _plain(texts: pa.Array) -> pa.Array:
    return texts.dictionary_decode() if pa.types.is_dictionary(texts.type) else texts


class _TextColumn:
    """A column that grows row by row, so that the bytes of one row serve the next one again."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.ends = array("q", [0])
        self.valid: list[bool] = []

    def append(self, text: bytes | None) -> None:
        if text is not None:
            self.data += text
        self.ends.append(len(self.data))
        self.valid.append(text is not None)

    def finish(self, kind: pa.DataType) -> pa.Array:
        """The column as an array that takes the memory over; text is not checked to be UTF-8."""
        bitmap = pa.array(self.valid, pa.bool_()).buffers()[1]
        buffers = [bitmap, pa.py_buffer(self.ends), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(pa.large_string(), len(self.valid), buffers).cast(kind)
