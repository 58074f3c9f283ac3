"""Ray Data. The test on a cluster is optional: where Ray doesn't start, the summary says so."""

import inspect
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ray.data import Dataset

from flowdrop_fast.ray import normalize

from .conftest import did_not_run
from .conversations import assert_rows, make_text
from .test_recipes import RECIPES

TEXTS = [make_text(seed) for seed in range(200)]
QUIET = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
PORTS = [
    "port",
    "node-manager-port",
    "object-manager-port",
    "dashboard-agent-listen-port",
    "dashboard-agent-grpc-port",
    "runtime-env-agent-port",
    "metrics-export-port",
]


class RecordingDataset:
    """Takes what the real one takes, and runs it on one block."""

    def __init__(self, block):
        self.block = block

    def map_batches(self, *arguments, **options):
        call = inspect.signature(Dataset.map_batches).bind(self, *arguments, **options).arguments
        assert call.pop("batch_format") == "pyarrow"
        assert call.pop("self") is self
        self.block = call.pop("fn")(self.block, **call.pop("fn_kwargs"))
        self.options = call
        return self


def test_the_kernel_and_the_options_go_to_map_batches():
    dataset = RecordingDataset(pa.table({"talk": TEXTS}))
    ray_options = {"batch_size": 50, "num_cpus": 0.5}
    normalized = normalize(dataset, "talk", ray_options=ray_options, pending="interrupt")
    assert_rows([tuple(row.values()) for row in normalized.block.to_pylist()], TEXTS)
    assert normalized.options["batch_size"] == 50
    assert normalized.options["num_cpus"] == 0.5
    with pytest.raises(ValueError, match="pending must be 'interrupt' or 'keep'"):
        normalize(dataset, "talk", pending="leave")


@pytest.fixture
def cluster(tmp_path):
    """The address of a cluster of one node with one processor, started for this test."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in PORTS]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    command = [Path(sys.executable).parent / "ray", "start", "--head", "--block", "--num-cpus=1"]
    command += ["--node-ip-address=127.0.0.1", "--include-dashboard=false"]
    command += ["--object-store-memory=100000000", "--disable-usage-stats"]
    command += [f"--{name}={port}" for name, port in zip(PORTS, ports, strict=True)]
    log = tmp_path / "log"
    with log.open("wb") as output:
        head = subprocess.Popen(
            command,
            env={**os.environ, **QUIET},
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + 60
        while "Ray runtime started" not in log.read_text():
            if head.poll() is not None or time.monotonic() > deadline:
                did_not_run("the Ray cluster test", "Ray did not start", log.read_text())
            time.sleep(0.2)
        yield f"127.0.0.1:{ports[0]}"
    finally:
        # Its processes are of its group: all that was started here ends, and nothing else.
        os.killpg(head.pid, signal.SIGKILL)
        head.wait()


def test_the_recipe_on_a_cluster(cluster, tmp_path):
    table = pa.table({"messages": TEXTS, "id": range(len(TEXTS))})
    pq.write_table(table, tmp_path / "runs.parquet")
    recipe = re.sub(r'parquet\("', f'parquet("{tmp_path}/', RECIPES["Ray Data"])
    script = f"import ray\nray.init('{cluster}', log_to_driver=False)\n{recipe}"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **QUIET},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    written = pq.read_table(tmp_path / "normalized").sort_by("id").drop_columns("id")
    assert_rows([tuple(row.values()) for row in written.to_pylist()], TEXTS)
