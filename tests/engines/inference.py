"""What engines make of irregular tool arguments when they infer a schema for them.

Run as a script, it prints the table that stands in docs/engines.md.
"""

import json
import tempfile
from importlib.metadata import version
from pathlib import Path

# The arguments of one call in each of two conversations.
CASES = {
    "other keys": [{"city": "Oslo"}, {"days": 3}],
    "no keys": [{}, {"city": "Oslo"}],
    "null or absent": [{"city": None}, {}],
    "number, text": [{"days": 3}, {"days": "three"}],
    "text, object": [{"city": "Oslo"}, {"city": {"name": "Oslo"}}],
    "list, text": [{"city": ["Oslo"]}, {"city": "Oslo"}],
    "arguments as text, as object": ['{"city": "Oslo"}', {"city": "Oslo"}],
    "dates": [{"day": "2024-02-29"}, {"day": "2024-03-01"}],
    "keys that differ in case": [{"City": "Oslo"}, {"city": "Oslo"}],
    "integer beyond 64 bits": [{"id": 10**25 + 1}, {"id": 1}],
}


def conversations(case):
    """Two conversations with one call each."""
    return [
        [
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "look", "arguments": it}}
                ],
            }
        ]
        for it in CASES[case]
    ]


def pyarrow_json(path):
    import pyarrow.json

    return pyarrow.json.read_json(path)["messages"].to_pylist()


def pyarrow_array(rows):
    import pyarrow as pa

    return pa.array(rows).to_pylist()


def polars_ndjson(path):
    import polars as pl

    return pl.read_ndjson(path)["messages"].to_list()


def polars_frame(rows):
    import polars as pl

    return pl.DataFrame({"messages": rows})["messages"].to_list()


def duckdb_json(path):
    import duckdb

    return [row[0] for row in duckdb.sql(f"SELECT messages FROM read_json('{path}')").fetchall()]


def datasets_json(path):
    import datasets

    return list(
        datasets.load_dataset(
            "json", data_files=str(path), split="train", cache_dir=f"{path}.cache"
        )["messages"]
    )


def datasets_list(rows):
    import datasets

    return list(datasets.Dataset.from_list([{"messages": row} for row in rows])["messages"])


def spark_json(path):
    from pyspark.sql import SparkSession

    df = SparkSession.getActiveSession().read.json(str(path))
    return [row.asDict(recursive=True)["messages"] for row in df.collect()]


FILE_READERS = {
    "pyarrow `read_json`": pyarrow_json,
    "Polars `read_ndjson`": polars_ndjson,
    "DuckDB `read_json`": duckdb_json,
    "datasets `json`": datasets_json,
    "Spark `read.json`": spark_json,
}
VALUE_READERS = {
    "pyarrow `array`": pyarrow_array,
    "Polars `DataFrame`": polars_frame,
    "datasets `from_list`": datasets_list,
}
READERS = [*FILE_READERS, *VALUE_READERS]


def outcome(reader, case, folder):
    """`kept`, `changed` or `failed`, and what came back or was raised."""
    rows = conversations(case)
    path = Path(folder) / "runs.jsonl"
    path.write_text("".join(json.dumps({"messages": row}) + "\n" for row in rows))
    try:
        found = (
            FILE_READERS[reader](path) if reader in FILE_READERS else VALUE_READERS[reader](rows)
        )
    except Exception as error:
        return "failed", error
    spelled = [json.dumps(value, sort_keys=True, default=str) for value in (found, rows)]
    return ("kept" if spelled[0] == spelled[1] else "changed"), found


def main():
    import datasets
    from conftest import start_spark

    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory() as folder:
        spark = start_spark("local[2]", Path(folder))
        print(f"| | {' | '.join(READERS)} |")
        print(f"|---|{'---|' * len(READERS)}")
        for number, case in enumerate(CASES):
            cells = []
            for column, reader in enumerate(READERS):
                place = Path(folder) / f"{number}-{column}"
                place.mkdir()
                cells.append(outcome(reader, case, place)[0])
            print(f"| {case} | {' | '.join(cells)} |")
        spark.stop()
    print(", ".join(f"{name} {version(name)}" for name in PACKAGES))


PACKAGES = ["pyarrow", "polars", "duckdb", "datasets", "pyspark"]

if __name__ == "__main__":
    main()
