"""Spark: the Arrow kernel over the rows of a DataFrame.

Only the call into Spark lives here; what happens to a row is `arrow`'s business. Workers need the
package as the driver does: install the wheel there, or submit the pure package as a zip.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .arrow import ADDED_COLUMNS, DROPPED, ERROR, RECORDS, checked_options, normalize_batch

try:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import LongType, StringType, StructField, StructType
except ModuleNotFoundError as error:
    raise ImportError(
        "flowdrop_fast.spark needs pyspark: pip install 'flowdrop-fast[spark]'"
    ) from error

if TYPE_CHECKING:
    import pyarrow as pa


def normalize(df: DataFrame, column: str = "messages", **options: Any) -> DataFrame:
    """Normalize every conversation of a DataFrame, in the workers (MEM-5).

    Args:
        df: any columns; the conversations are JSON text in one of type string.
        column: the name of that column.
        options: as for `normalize_conversation`.

    Returns:
        The same rows and columns in the same order, the text normalized, and behind them
        `dropped` (long), `records` (string) and `error` (string), as `arrow.normalize_batch` gives
        them. As ever in Spark, nothing runs before an action does.

    Raises:
        ValueError, TypeError: as `arrow.normalize_batch`, before anything runs.

    Example::

        normalize(spark.read.parquet("runs")).write.parquet("normalized", compression="zstd")
    """
    schema = _normalized_schema(df, column)
    options = checked_options(options)

    def kernel(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield normalize_batch(batch, column, **options)

    return df.mapInArrow(kernel, schema)


def _normalized_schema(df: DataFrame, column: str) -> StructType:
    fields = list(df.schema.fields)
    positions = [i for i, field in enumerate(fields) if field.name == column]
    if len(positions) != 1:
        found = "no column" if not positions else f"{len(positions)} columns"
        raise ValueError(f"{found} named {column!r} among {df.columns}")
    taken = [name for name in df.columns if name.lower() in ADDED_COLUMNS]
    if taken:
        raise ValueError(f"columns {taken} exist already: drop or rename them first")
    field = fields[positions[0]]
    if not isinstance(field.dataType, StringType):
        raise TypeError(
            f"column {column!r} is of type {field.dataType.simpleString()}, and must hold JSON "
            "text in strings: read the text itself, with no schema inferred"
        )
    added = [
        StructField(DROPPED, LongType(), nullable=False),
        StructField(RECORDS, StringType(), nullable=False),
        StructField(ERROR, StringType()),
    ]
    return StructType(fields + added)
