"""Ray Data: the Arrow kernel over the blocks of a dataset.

Only the call into Ray lives here; what happens to a row is `arrow`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .arrow import checked_options, normalize_table

try:
    from ray.data import Dataset
except ModuleNotFoundError as error:
    raise ImportError("flowdrop_fast.ray needs Ray: pip install 'flowdrop-fast[ray]'") from error


def normalize(
    dataset: Dataset,
    column: str = "messages",
    *,
    ray_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> Dataset:
    """Normalize every conversation of a Ray dataset, in its workers (MEM-5).

    Args:
        dataset: any columns; the conversations are JSON text in one of type string.
        column: the name of that column.
        ray_options: for `Dataset.map_batches`: `batch_size`, `num_cpus` and the like.
        options: as for `normalize_conversation`.

    Returns:
        The same rows and columns, the text normalized, and behind them `dropped`, `records` and
        `error`, as `arrow.normalize_batch` gives them. Nothing runs before the dataset is used.

    Raises:
        ValueError, TypeError: of a wrong option. What is wrong with a column is raised as
            `arrow.normalize_batch` does, within Ray's own error, once it runs.

    Example::

        normalize(ray.data.read_parquet("runs.parquet")).write_parquet("normalized")
    """
    arguments = {"column": column, **checked_options(options)}
    return dataset.map_batches(
        normalize_table, batch_format="pyarrow", fn_kwargs=arguments, **(ray_options or {})
    )
