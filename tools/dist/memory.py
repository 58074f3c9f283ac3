"""Memory: references on a debug interpreter, sanitizers, allocations that fail, fuzzing.

A check that finds nothing is worth what it would have found, so each is also put to an extension
with a fault planted in it, which it has to find.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from .artefacts import Tools
from .installing import environment
from .machine import Interpreter, last_line, need, run
from .verdicts import Failed, NotProved

PLACE = "    Py_INCREF(first)\n    PyTuple_SET_ITEM(made, 0, first)\n"
LEAK = "    Py_INCREF(first)\n" + PLACE
SIZED = "memset(&rows[self.room], 0, (room - self.room) * sizeof(PyObject*))\n"
OVERRUN = "memset(&rows[self.room], 0, (room - self.room) * sizeof(PyObject*) + 1)\n"

SANITIZED_TESTS = [
    f"tests/test_{name}.py"
    for name in (
        *("semantics", "vectors", "backends", "invariants", "reentrancy", "results"),
        *("steadiness", "threads"),
    )
]
SANITIZED = {
    "CFLAGS": "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g -O1",
    "LDFLAGS": "-fsanitize=address,undefined",
    "CC": "gcc",
}


def planted(tree: Path, place: Path, old: str, new: str) -> Path:
    """Copy the tree and plant a fault in the compiled backend."""
    shutil.copytree(tree, place)
    source = place / "src" / "_native.pyx"
    text = source.read_text()
    if text.count(old) != 1:
        raise Failed(f"the place of the planted fault is no more in {source.name}: {old!r}")
    source.write_text(text.replace(old, new))
    return place


def install(tools: Tools, interpreter: Interpreter, tree: Path, place: Path, **env: str) -> Path:
    """Install a tree, compiled, with what its tests need; return the environment's bin."""
    if not interpreter.headers:
        raise NotProved(f"{interpreter} has no headers here")
    bin = environment(tools, interpreter, place)
    command = [bin / "python", "-m", "pip", "install", "-q"]
    run([*command, "--group", f"{tree / 'pyproject.toml'}:suite"], cwd=place)
    run(
        [*command, "--no-deps", tree],
        cwd=place,
        env={"FLOWDROP_FAST_BUILD": "require", "PIP_NO_CACHE_DIR": "1", **env},
    )
    return bin


def run_tests(bin: Path, tree: Path, names: list[str], **env: str) -> tuple[int, str]:
    """Run named tests of a tree against what is installed; return the exit code and all output."""
    place = bin.parent / "suite"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for name in ("tests", "docs", "examples"):
        shutil.copytree(tree / name, place / name)
    for name in ("README.md", "pyproject.toml"):
        shutil.copy(tree / name, place)
    command = [bin / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *names]
    done = run(command, cwd=place, env=env, timeout=1800, may_fail=True)
    return done.returncode, done.stdout


def must_pass(outcome: tuple[int, str]) -> str:
    code, said = outcome
    if code or " passed" not in last_line(said):
        print("\n".join(said.splitlines()[-60:]))
        raise Failed(f"exited with {code}: {last_line(said)}")
    return last_line(said)


def sanitizers(logs: Path) -> dict[str, str]:
    """Return the environment in which an interpreter without sanitizers loads code with them."""
    gcc = need("gcc")
    libraries = []
    for name in ("libasan.so", "libubsan.so"):
        done = subprocess.run(
            [gcc, f"-print-file-name={name}"], capture_output=True, text=True, check=True
        )
        path = Path(done.stdout.strip())
        if not path.is_absolute():
            raise NotProved(f"gcc has no {name} here")
        libraries.append(str(path.resolve()))
    return {
        "LD_PRELOAD": " ".join(libraries),
        # To files: what pytest has captured dies with the process.
        "ASAN_OPTIONS": f"detect_leaks=0:exitcode=86:log_path={logs}",
        "UBSAN_OPTIONS": f"print_stacktrace=1:halt_on_error=1:log_path={logs}",
        "PYTHONMALLOC": "malloc",
    }


def reports(logs: Path) -> str:
    """Return what the sanitizers wrote."""
    return "\n".join(path.read_text() for path in sorted(logs.parent.glob(f"{logs.name}.*")))


def fuzz(tools: Tools, interpreter: Interpreter, tree: Path, place: Path, seconds: int) -> str:
    bin = install(tools, interpreter, tree, place)
    command = [bin / "python", "-m", "pip", "install", "-q", "--only-binary", ":all:", "atheris==3.0.0"]
    if run(command, cwd=place, may_fail=True).returncode:
        raise NotProved(f"no atheris for {interpreter}")
    harness = tree / "tools" / "fuzz.py"
    done = run(
        [bin / "python", harness, f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=4096"],
        cwd=place,
        timeout=seconds + 300,
    )
    runs = [line for line in done.stdout.splitlines() if line.startswith("Done ")]
    if not runs:
        raise Failed(f"the fuzzer did not come to its end: {last_line(done.stdout)}")
    return runs[-1]


# No leak is looked for here: CPython itself leaks when it has no memory, in pure Python too.
STARVE = """
import _testcapi, gc, sys
sys.path.insert(0, sys.argv[1])
sys.unraisablehook = lambda _unraisable: None  # a generator that can't be closed for want of memory
import test_steadiness as steadiness
from flowdrop_fast import _native

starved = 0
for verb in steadiness.VERBS:
    function = getattr(_native, verb)
    for make in steadiness.HISTORIES:
        if make.__name__.startswith("stopping"):
            continue
        for start in range(1, 4000):
            messages = make()
            gc.disable()
            _testcapi.set_nomemory(start, start + 1)
            try:
                function(messages)
            except MemoryError:
                starved += 1
            finally:
                _testcapi.remove_mem_hooks()
                gc.enable()
print(f"{starved} MemoryErrors, no crash")
sys.exit(starved < 1000)
"""


def starve(bin: Path, tree: Path) -> str:
    """Let every single allocation fail once, in turn: a MemoryError, or the right answer."""
    probe = [bin / "python", "-c", "import _testcapi; _testcapi.set_nomemory"]
    if run(probe, cwd=bin.parent, may_fail=True).returncode:
        raise NotProved("this interpreter has no _testcapi")
    done = run([bin / "python", "-c", STARVE, tree / "tests"], cwd=bin.parent, timeout=1200)
    return last_line(done.stdout)
