"""Spark on one machine: rows, sources and sinks, and columns that cannot be used."""

import gzip

import pytest

from flowdrop_fast.spark import normalize

from .conversations import assert_rows, make_text

TEXTS = [make_text(seed) for seed in range(300)]


@pytest.fixture(scope="module")
def runs(local_spark):
    """All conversations, numbered, in four partitions."""
    rows = list(enumerate(TEXTS))
    return local_spark.createDataFrame(rows, "id int, messages string").repartition(4).cache()


def assert_normalized(df, texts=TEXTS):
    rows = df.orderBy("id").select("messages", "dropped", "records", "error").collect()
    assert_rows([tuple(row) for row in rows], texts)


def test_rows(runs):
    assert runs.rdd.getNumPartitions() == 4
    assert_normalized(normalize(runs))


def test_schema_and_other_columns(local_spark):
    df = local_spark.sql(
        """
        SELECT * FROM VALUES
          (DATE'2024-02-29', '[null]', map('a', array(1.5D, NULL)), TIMESTAMP'2024-02-29 12:00:00'),
          (NULL, '[]', NULL, NULL)
        AS rows(day, `the talk`, scores, at)
        """
    )
    normalized = normalize(df, "the talk")
    assert normalized.schema.simpleString() == (
        "struct<day:date,the talk:string,scores:map<string,array<double>>,at:timestamp,"
        "dropped:bigint,records:string,error:string>"
    )
    before, after = df.collect(), normalized.collect()
    for name in ("day", "scores", "at"):
        assert [row[name] for row in after] == [row[name] for row in before]
    assert [row["the talk"] for row in after] == ["[]", "[]"]


@pytest.mark.parametrize("large", ["true", "false"])
def test_large_arrow_types(local_spark, runs, large):
    name = "spark.sql.execution.arrow.useLargeVarTypes"
    before = local_spark.conf.get(name)
    local_spark.conf.set(name, large)
    try:
        assert_normalized(normalize(runs))
    finally:
        local_spark.conf.set(name, before)


def test_parquet(local_spark, runs, tmp_path):
    runs.write.parquet(f"{tmp_path}/before")
    normalize(local_spark.read.parquet(f"{tmp_path}/before")).write.parquet(f"{tmp_path}/after")
    assert_normalized(local_spark.read.parquet(f"{tmp_path}/after"))
    assert list(tmp_path.glob("after/*.zstd.parquet"))


def test_json_text(local_spark, tmp_path):
    # A carriage return is a blank in JSON: only a line feed ends a line.
    lines = ['[\r{"role": "user"}]', "{", "[]"]
    with gzip.open(tmp_path / "runs.jsonl.gz", "wt", newline="") as file:
        file.write("".join(f"{line}\n" for line in lines))
    df = local_spark.read.text(str(tmp_path), lineSep="\n").withColumnRenamed("value", "messages")
    normalized = normalize(df)
    rows = [tuple(row) for row in normalized.collect()]
    assert_rows(rows, lines)
    normalized.select("messages").write.text(f"{tmp_path}/after")
    (written,) = tmp_path.glob("after/part-*")
    assert written.read_bytes() == b'[{"role":"user","content":""}]\n{\n[]\n'


def test_jdbc(local_spark, runs, tmp_path):
    # Spark brings Derby along; a CLOB holds what no VARCHAR does.
    url = f"jdbc:derby:{tmp_path}/runs;create=true"
    options = {"driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver"}
    runs.write.jdbc(url, "runs", properties=options)
    stored = local_spark.read.jdbc(url, "runs", properties=options).toDF("id", "messages")
    normalize(stored).write.jdbc(url, "normalized", properties=options)
    names = ["id", "messages", "dropped", "records", "error"]
    assert_normalized(local_spark.read.jdbc(url, "normalized", properties=options).toDF(*names))


def test_options(runs):
    texts = [text for text in TEXTS if text and "call_0_0" in text]
    calling = runs.where("messages LIKE '%call_0_0%'").drop("id")
    made = normalize(calling, interrupted="Nothing came.").where("records LIKE '%interrupted%'")
    assert 0 < made.count() < len(texts)
    assert made.where("messages NOT LIKE '%Nothing came.%'").count() == 0
    with pytest.raises(ValueError, match="pending must be 'interrupt' or 'keep', not 'leave'"):
        normalize(calling, pending="leave")


def test_columns_that_cannot_be_used(local_spark, runs):
    with pytest.raises(ValueError, match=r"no column named 'talk' among \['id', 'messages'\]"):
        normalize(runs, "talk")
    with pytest.raises(TypeError, match="column 'id' is of type int, and must hold JSON text"):
        normalize(runs, "id")
    with pytest.raises(ValueError, match="2 columns named 'messages'"):
        normalize(runs.select("messages", "messages"))
    # Spark tells names of columns apart by their letters alone, not by their case.
    with pytest.raises(ValueError, match=r"columns \['Error'\] exist already"):
        normalize(runs.withColumnRenamed("id", "Error"))
    inferred = local_spark.sql("SELECT array(named_struct('role', 'user')) AS messages")
    with pytest.raises(TypeError, match=r"array<struct<role:string>>.* no schema inferred"):
        normalize(inferred)
