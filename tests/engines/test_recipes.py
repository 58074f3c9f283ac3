"""The recipes of docs/engines.md, run as they stand there."""

import re
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from .conversations import assert_rows, make_text

PAGE = (Path(__file__).parents[2] / "docs" / "engines.md").read_text()
RECIPES = dict(re.findall(r"^### ([^\n]*)\n\n```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))

# DuckDB reads a file only where every line is JSON, and lines are never null.
TEXTS = [text for text in map(make_text, range(300)) if text and text[-1] in "]}"]
TEXTS = [text for text in TEXTS if "1e400" not in text]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the conversations as Parquet and as JSON Lines, to run a recipe in."""
    table = pa.table({"messages": TEXTS, "id": range(len(TEXTS))})
    pq.write_table(table, tmp_path / "runs.parquet", row_group_size=100)
    lines = "".join(f"{text}\n" for text in TEXTS)
    (tmp_path / "runs.jsonl").write_text(lines, newline="\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return tmp_path


def run(recipe, code=None, **names):
    exec(compile(code or RECIPES[recipe], f"docs/engines.md, {recipe}", "exec"), names)


def assert_written(path):
    rows = pq.read_table(path).select(["messages", "dropped", "records", "error"]).to_pylist()
    assert_rows([tuple(row.values()) for row in rows], TEXTS)


def test_all_recipes_are_run_here_or_on_a_cluster():
    assert list(RECIPES) == ["Polars", "DuckDB", "Hugging Face datasets", "Spark", "Ray Data"]


@pytest.mark.parametrize("recipe", ["Polars", "DuckDB", "Hugging Face datasets"])
def test_recipe(recipe, folder):
    run(recipe)
    assert_written(folder / "normalized.parquet")


def test_spark_recipe(local_spark, folder):
    # Spark's relative paths start where its JVM did.
    code = re.sub(r'(text|parquet)\("', rf'\1("{folder}/', RECIPES["Spark"])
    run("Spark", code, spark=local_spark)
    assert_written(folder / "normalized")
