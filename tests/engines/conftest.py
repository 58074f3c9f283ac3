"""Spark sessions for the engines' tests. An engine that is not installed is an error here."""

import os
import sys

import pytest

# The driver's machine is the only one; its name may resolve to an address that leads nowhere.
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
# Tests are short: what a JVM does to run long and wide costs more than it brings.
os.environ["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

SETTINGS = {
    "spark.shuffle.io.retryWait": "1s",  # how long to ask a dead executor for its rows again
    "spark.sql.execution.arrow.maxRecordsPerBatch": "7",  # many batches in every task
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

# What engines say of other packages; a warning that we cause stays an error.
WARNINGS = ["ignore:PySpark does not yet fully support pandas:FutureWarning"]


def pytest_configure(config):
    for warning in WARNINGS:
        config.addinivalue_line("filterwarnings", warning)


# Optional tests that could not run, and why.
NOT_RUN = []


def did_not_run(what, why, output=""):
    """Skip an optional test, and have the summary say so; where it is required, fail."""
    if os.environ.get("FLOWDROP_FAST_REQUIRE_OPTIONAL") == "1":
        pytest.fail(f"{what} did not run: {why}\n{output}")
    NOT_RUN.append(f"{what} DID NOT RUN: {why}")
    pytest.skip(NOT_RUN[-1])


def pytest_terminal_summary(terminalreporter):
    for line in NOT_RUN:
        terminalreporter.write_line(line, red=True, bold=True)


def start_spark(master, folder):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master)
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    builder = builder.config("spark.local.dir", str(folder))
    builder = builder.config("spark.sql.warehouse.dir", str(folder / "warehouse"))
    log = f"-Dderby.stream.error.file={folder}/derby.log"
    return builder.config("spark.driver.extraJavaOptions", log).getOrCreate()


@pytest.fixture(scope="module")
def local_spark(tmp_path_factory):
    """One driver with two threads."""
    spark = start_spark("local[2]", tmp_path_factory.mktemp("spark"))
    yield spark
    spark.stop()


@pytest.fixture(scope="module")
def cluster_spark(tmp_path_factory):
    """A cluster of two workers with one core and a gigabyte each, all on this machine."""
    spark = start_spark("local-cluster[2,1,1024]", tmp_path_factory.mktemp("spark"))
    yield spark
    spark.stop()
