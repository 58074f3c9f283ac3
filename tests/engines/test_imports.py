"""What importing brings along, and what it says where an engine is missing."""

import subprocess
import sys

import pytest

ENGINES = ["pyarrow", "pandas", "numpy", "pyspark", "ray", "polars", "duckdb", "datasets", "orjson"]


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("module", ["flowdrop_fast", "flowdrop_fast.nodes"])
def test_the_core_imports_no_engine(module):
    done = run(f"import sys, {module}; print([name for name in {ENGINES} if name in sys.modules])")
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.parametrize(
    ("module", "missing", "said"),
    [
        (
            "arrow",
            "pyarrow",
            "flowdrop_fast.arrow needs pyarrow: pip install 'flowdrop-fast[arrow]'",
        ),
        (
            "spark",
            "pyspark",
            "flowdrop_fast.spark needs pyspark: pip install 'flowdrop-fast[spark]'",
        ),
        ("ray", "ray", "flowdrop_fast.ray needs Ray: pip install 'flowdrop-fast[ray]'"),
    ],
)
def test_a_missing_engine_is_named_with_the_way_to_get_it(module, missing, said):
    done = run(f"import sys; sys.modules[{missing!r}] = None; import flowdrop_fast.{module}")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"ImportError: {said}"
