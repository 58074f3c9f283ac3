"""Normalize stored conversations with Spark, and say what was wrong with them.

    spark-submit examples/spark_normalize.py runs.jsonl normalized
    spark-submit examples/spark_normalize.py s3a://runs/2024 s3a://normalized/2024 --format parquet

The input is JSON Lines, plain or compressed, whose every line is a conversation; or Parquet with a
string column of conversations. The output is Parquet (zstd) with the columns `dropped`, `records`
and `error` added; it must not exist yet.
"""

import argparse

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from flowdrop_fast.spark import normalize


def read(spark: SparkSession, path: str, kind: str, column: str) -> DataFrame:
    """Read conversations as text, for no inferred schema holds them all."""
    if kind == "parquet":
        return spark.read.parquet(path)
    return spark.read.text(path, lineSep="\n").withColumnRenamed("value", column)


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description="Normalize stored conversations with Spark.")
    parser.add_argument("input", help="folder or file to read")
    parser.add_argument("output", help="folder to write")
    parser.add_argument("--format", choices=["json", "parquet"], default="json")
    parser.add_argument("--column", default="messages", help="of a Parquet input")
    options = parser.parse_args()

    spark = SparkSession.builder.appName("flowdrop-fast").getOrCreate()
    runs = read(spark, options.input, options.format, options.column)
    normalize(runs, options.column).write.parquet(options.output, compression="zstd")

    # Counted from what was written, so that nothing is normalized twice.
    written = spark.read.parquet(options.output)
    counts = [f.count("*"), f.sum("dropped"), f.count("error")]
    total, dropped, unreadable = written.agg(*counts).first()
    print(f"{total} conversations, {dropped or 0} drops, {unreadable} unreadable")
    spark.stop()


if __name__ == "__main__":
    main()
