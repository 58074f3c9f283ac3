"""`spark-submit`: the example, and a package that comes as a zip instead of as a wheel."""

import json
import os
import shutil
import subprocess
import sysconfig
import venv
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark

import flowdrop_fast
from flowdrop_fast.arrow import normalize_batch

from .conftest import SETTINGS
from .conversations import make_text

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "spark_normalize.py"

# Asks a worker where its package is from, which backend it runs on, and for the compiled one.
ASK = """
import json
from pyspark.sql import SparkSession

def ask(batches):
    import importlib
    import pyarrow as pa
    import flowdrop_fast
    from flowdrop_fast.arrow import normalize_batch

    try:
        importlib.import_module("flowdrop_fast._native")
        native = "there"
    except ModuleNotFoundError as error:
        native = str(error)
    answer = {"file": flowdrop_fast.__file__, "backend": flowdrop_fast.BACKEND, "native": native}
    for batch in batches:
        texts = pa.array(["[null]"] * batch.num_rows)
        normalized = normalize_batch(pa.record_batch({"messages": texts}))
        answer["dropped"] = normalized["dropped"].to_pylist()
    yield pa.record_batch({"answer": [json.dumps(answer)]})

spark = SparkSession.builder.getOrCreate()
rows = spark.range(1, numPartitions=1).mapInArrow(ask, "answer string").collect()
print([row.answer for row in rows if '"dropped"' in row.answer][0])
"""


def submit(folder, *arguments, **environment):
    """Run `spark-submit` in a folder, and return what it printed."""
    command = [Path(pyspark.__file__).parent / "bin" / "spark-submit", "--master", "local[2]"]
    for name, value in {**SETTINGS, "spark.local.dir": str(folder)}.items():
        command += ["--conf", f"{name}={value}"]
    done = subprocess.run(
        [*command, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return done.stdout


def python_without_editable_packages(folder):
    """Make an environment that has what is installed here, but for editable installs.

    Such a one answers for every module of its package, wherever the package itself came from.
    """
    venv.create(folder, with_pip=False)
    (site,) = folder.glob("lib/python*/site-packages")
    # A folder named in a .pth file is searched, and the .pth files in it are not read.
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin" / "python"


def test_the_example(tmp_path):
    texts = [text for text in map(make_text, range(200)) if text]
    (tmp_path / "runs.jsonl").write_text("".join(f"{text}\n" for text in texts), newline="\n")
    printed = submit(tmp_path, EXAMPLE, "runs.jsonl", "normalized")
    rows = pq.read_table(tmp_path / "normalized").to_pylist()
    assert len(rows) == len(texts)
    dropped = sum(row["dropped"] for row in rows)
    unreadable = sum(row["error"] is not None for row in rows)
    assert 0 < unreadable < len(rows)
    assert dropped > 0
    assert printed.splitlines()[-1] == (
        f"{len(rows)} conversations, {dropped} drops, {unreadable} unreadable"
    )
    # The order of the rows is Spark's; one text always becomes the same.
    found = Counter(json.dumps(list(row.values())) for row in rows)
    normalized = normalize_batch(pa.record_batch({"messages": texts}))
    assert found == Counter(json.dumps(list(row.values())) for row in normalized.to_pylist())


def test_a_zip_brings_the_pure_package_and_never_the_compiled_backend(tmp_path):
    package = Path(flowdrop_fast.__file__).parent
    assert list(package.glob("_native.*.*")), "the extension is not built: nothing to show here"
    shutil.copytree(package, tmp_path / "zipped" / "flowdrop_fast")
    zipped = shutil.make_archive(str(tmp_path / "flowdrop_fast"), "zip", tmp_path / "zipped")
    (tmp_path / "ask.py").write_text(ASK)
    python = str(python_without_editable_packages(tmp_path / "python"))
    pythons = {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python}
    printed = submit(tmp_path, "--py-files", zipped, "ask.py", **pythons)
    answer = json.loads(printed.splitlines()[-1])
    assert Path(zipped).name in answer["file"]
    assert answer["native"] == "No module named 'flowdrop_fast._native'"
    assert (answer["backend"], answer["dropped"]) == ("pure", [1])


def test_workers_with_the_wheel_run_the_compiled_backend(tmp_path):
    (tmp_path / "ask.py").write_text(ASK)
    answer = json.loads(submit(tmp_path, "ask.py").splitlines()[-1])
    assert answer["file"] == flowdrop_fast.__file__
    assert answer["native"] == "there"
    assert (answer["backend"], answer["dropped"]) == ("native", [1])
