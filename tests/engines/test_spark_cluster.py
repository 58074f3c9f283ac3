"""Spark on a cluster of two workers, one of which dies at work."""

import os
from pathlib import Path

from flowdrop_fast.spark import normalize

from .conversations import assert_rows, make_text

PARTITIONS = 12


def test_all_rows_are_right_though_an_executor_is_killed(cluster_spark, tmp_path):
    texts = [make_text(seed) for seed in range(600)]
    rows = list(enumerate(texts))
    df = cluster_spark.createDataFrame(rows, "id int, messages string").repartition(PARTITIONS)
    note = str(tmp_path / "killed")

    def kill_executor_once(batches):
        """Kill the first executor that is in the middle of the fifth task."""
        import os
        import signal
        from pathlib import Path

        from pyspark import TaskContext

        fifth = TaskContext.get().partitionId() == 4
        for number, batch in enumerate(batches):
            if number == 2 and fifth and not Path(note).exists():
                daemon = Path(f"/proc/{os.getppid()}/status").read_text()
                executor = int(daemon.split("PPid:")[1].split()[0])
                command = Path(f"/proc/{executor}/cmdline").read_text()
                assert "CoarseGrainedExecutorBackend" in command
                Path(note).write_text(str(executor))
                os.kill(executor, signal.SIGKILL)
            yield batch

    normalized = normalize(df)
    killing = normalized.mapInArrow(kill_executor_once, normalized.schema)
    killing.write.parquet(f"{tmp_path}/after")

    executor = int(Path(note).read_text())
    assert executor != os.getpid()
    assert not Path(f"/proc/{executor}/cmdline").exists()
    after = cluster_spark.read.parquet(f"{tmp_path}/after").orderBy("id").collect()
    assert [row["id"] for row in after] == list(range(600))
    assert_rows([tuple(row)[1:] for row in after], texts)
