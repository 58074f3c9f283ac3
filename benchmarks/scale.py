"""What a file of conversations costs in each of the ways to normalize it, and whether they agree.

    python -m benchmarks.scale make runs.jsonl --megabytes 1000
    python -m benchmarks.scale measure runs.jsonl

Costs are processor seconds, of all processes and threads together: on a shared machine they say
more than the clock does. The figures stand in docs/scale.md.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from .histories import encoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parent.parent

# The loop that a user would write, and the kernel under Arrow, each as a program of its own.
LOOP = """
import sys, orjson
from flowdrop_fast import normalize_conversation
with open(sys.argv[1], "rb") as source, open(sys.argv[2], "wb") as output:
    for line in source:
        try:
            value = orjson.loads(line)
        except ValueError:
            output.write(line)
            continue
        value["messages"] = normalize_conversation(value["messages"]).messages
        output.write(orjson.dumps(value) + b"\\n")
"""
KERNEL = """
import sys, pyarrow as pa
from flowdrop_fast import _json
from flowdrop_fast.arrow import normalize_batch, normalized_schema
if sys.argv[3] == "standard":
    _json.orjson = None
with pa.memory_map(sys.argv[1]) as source, pa.ipc.open_file(source) as reader:
    with pa.ipc.new_file(sys.argv[2], normalized_schema(reader.schema)) as writer:
        for number in range(reader.num_record_batches):
            writer.write_batch(normalize_batch(reader.get_batch(number)))
"""
DISTINCT = 1200  # histories, which come round again and again: making them takes long
SPARK = ROOT / "examples" / "spark_normalize.py"


def make(path: Path, megabytes: int) -> None:
    """Write conversations of 2 to 22 messages: one in four torn, one in a thousand cut short."""
    draw = random.Random(0)
    histories = [
        encoded(
            draw.randrange(2, 23),
            ("flat", "stored", "provider")[seed % 3],
            broken=0.2 if seed % 4 == 0 else 0.0,
            seed=seed,
        )
        for seed in range(DISTINCT)
    ]
    size, number = 0, 0
    with path.open("wb") as file:
        while size < megabytes * 1_000_000:
            line = b'{"id":%d,"messages":%b}' % (number, histories[number % DISTINCT])
            if number % 1000 == 999:
                line = line[: len(line) // 2]
            size += file.write(line + b"\n")
            number += 1
    print(f"{path}: {number} conversations, {size / 1e6:.0f} MB")


def run(command: list[str | Path], out: Path, **environment: str) -> tuple[float, float, Path]:
    """Run a program that writes a file.

    Returns:
        The processor seconds that it and all its children took, the clock's, and the file.
    """
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    # 1 is what the command line says when it has set lines aside.
    if done.returncode not in {0, 1} or not out.exists():
        sys.exit(f"{command} failed:\n{done.stderr[-3000:]}")
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, clock, out


def hold(source: Path, path: Path) -> None:
    """Put a file's lines into an Arrow file, a thousand a batch, as an engine would hold them."""
    import pyarrow as pa

    with (
        source.open("rb") as file,
        pa.ipc.new_file(path, pa.schema({"messages": pa.string()})) as writer,
    ):
        while lines := list(itertools.islice(file, 1000)):
            texts = pa.array([line[:-1] for line in lines], pa.binary()).view(pa.string())
            writer.write_batch(pa.record_batch({"messages": texts}))


def ways(source: Path, folder: Path) -> Iterator[tuple[str, float, float, Path]]:
    """Normalize a file in every way; yield the way's name, its costs, and what it wrote."""
    python = sys.executable
    out = folder / "loop.jsonl"
    yield "a loop with orjson", *run([python, "-c", LOOP, source, out], out)
    held = folder / "held.arrow"
    hold(source, held)
    for backend, parser in (("native", "orjson"), ("pure", "orjson"), ("native", "standard")):
        out = folder / f"{backend}-{parser}.arrow"
        command = [python, "-c", KERNEL, held, out, parser]
        name = f"Arrow kernel, {backend}, {'orjson' if parser == 'orjson' else 'no orjson'}"
        yield name, *run(command, out, FLOWDROP_FAST_BACKEND=backend)
    for processes in (1, 2):
        out = folder / f"cli-{processes}.jsonl"
        command = [python, "-m", "flowdrop_fast", "normalize", source, "-o", out]
        command += ["--jobs", str(processes), "--errors", f"{out}.errors", "--progress", "never"]
        yield f"command line, {processes} process{'es' * (processes > 1)}", *run(command, out)
    submit = Path(sys.executable).parent / "spark-submit"
    for threads in (1, 2):
        out = folder / f"spark-{threads}"
        command = [submit, "--master", f"local[{threads}]", "--driver-memory", "2g"]
        command += ["--conf", "spark.sql.execution.arrow.maxRecordsPerBatch=1000"]
        command += ["--conf", "spark.ui.enabled=false", SPARK, source, out]
        local = {"PYSPARK_PYTHON": python, "SPARK_LOCAL_IP": "127.0.0.1"}
        yield f"Spark, local[{threads}]", *run(command, out, **local)


def texts(path: Path) -> Iterator[bytes]:
    """The conversations that a way wrote, in its own order, those it could not read left out."""
    if path.suffix == ".jsonl":
        with path.open("rb") as file:
            yield from (line[:-1] for line in file)
        return
    import pyarrow.dataset

    kind = "arrow" if path.suffix == ".arrow" else "parquet"
    dataset = pyarrow.dataset.dataset(path, format=kind)
    for batch in dataset.to_batches(columns=["messages"], batch_size=1000):
        yield from batch["messages"].cast("binary").to_pylist()


def digest(conversations: Iterable[bytes]) -> tuple[int, str]:
    """How many conversations there are, and a sum over them that their order does not change."""
    count, total = 0, 0
    for text in conversations:
        try:
            value = orjson.loads(text)
        except ValueError:
            continue
        spelled = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        total += int.from_bytes(hashlib.blake2b(spelled, digest_size=12).digest(), "big")
        count += 1
    return count, f"{total % 2**96:024x}"


def normalize(source: Path) -> Iterator[tuple[str, float, float, tuple[int, str]]]:
    """Yield each way's name, its costs, and the digest of what it wrote, which is then removed."""
    with tempfile.TemporaryDirectory(dir=source.parent) as folder:
        for name, spent, clock, written in ways(source, Path(folder)):
            yield name, spent, clock, digest(texts(written))
            shutil.rmtree(written) if written.is_dir() else written.unlink()


def measure(source: Path) -> None:
    """Print a table of costs, and stop where two ways don't agree.

    A tenth of the file is normalized first: what it costs beyond its share is the cost of starting.
    """
    with tempfile.TemporaryDirectory(dir=source.parent) as folder:
        tenth = Path(folder) / "tenth.jsonl"
        with source.open("rb") as file, tenth.open("wb") as some:
            total = sum(1 for _ in file)
            file.seek(0)
            few = total // 10
            some.writelines(itertools.islice(file, few))
        small = {name: spent for name, spent, _, _ in normalize(tenth)}
    print(f"{total} conversations, {source.stat().st_size / total / 1000:.1f} kB each\n")
    print("| | to start, s | each, µs | a billion, hours | clock for all, s |")
    print("|---|--:|--:|--:|--:|")
    agreed: set[tuple[int, str]] = set()
    for name, spent, clock, answer in normalize(source):
        each = (spent - small[name]) / (total - few)
        start = max(0.0, small[name] - each * few)
        hours = each * 1e9 / 3600
        costs = f"{start:.1f} | {each * 1e6:.0f} | {hours:.0f} | {clock:.1f}"
        print(f"| {name} | {costs} |", flush=True)
        agreed.add(answer)
        if len(agreed) != 1:
            sys.exit(f"{name} gave another answer than those before it: {agreed}")
    print(f"\nAll gave the same {next(iter(agreed))[0]} conversations.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    actions = parser.add_subparsers(dest="action", required=True)
    making = actions.add_parser("make", help="write a file to measure with")
    making.add_argument("file", type=Path)
    making.add_argument("--megabytes", type=int, default=1000)
    measuring = actions.add_parser("measure", help="normalize it in every way")
    measuring.add_argument("file", type=Path)
    options = parser.parse_args()
    if options.action == "make":
        make(options.file, options.megabytes)
    else:
        measure(options.file)


if __name__ == "__main__":
    main()
