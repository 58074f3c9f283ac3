"""The pure wheel in Pyodide, which npm has and node runs."""

from __future__ import annotations

import shutil
from pathlib import Path

from .artefacts import Tools
from .machine import last_line, need, run
from .verdicts import Failed, NotProved

PYODIDE = "pyodide@314.0.7"  # Python 3.14; newer ones ask for a newer node
PLATFORM = "pyemscripten_2026_0_wasm32"
MEGABYTES = 256  # of stack: some tests nest deeper than what node usually has room for


def npm_install(place: Path, package: str) -> Path:
    npm = need("npm")
    place.mkdir()
    (place / "package.json").write_text('{"private": true}\n')
    command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", package]
    if run(command, cwd=place, may_fail=True).returncode:
        raise NotProved(f"npm can't install {package} here")
    return place


def run_suite(tools: Tools, wheel: Path, tree: Path, place: Path) -> str:
    node = need("node")
    home = npm_install(place, PYODIDE)
    wheels = place / "wheels"
    command = [tools("python"), "-m", "pip", "download", "-q", "-d", wheels]
    command += ["--only-binary", ":all:", "--python-version", "3.14", "--implementation", "cp"]
    command += ["--abi", "cp314", "--abi", "none", "--platform", PLATFORM]
    run([*command, "--group", f"{tree / 'pyproject.toml'}:suite"], cwd=place)
    shutil.copy(wheel, wheels)
    script = Path(__file__).parent / "pyodide.mjs"
    shell = f'ulimit -s {MEGABYTES * 1024} && exec "$0" "$@"'
    stack = f"--stack-size={MEGABYTES * 1024 * 9 // 10}"
    done = run(
        ["bash", "-c", shell, node, stack, script, home, wheels, tree], cwd=place, timeout=1200
    )
    closing = last_line(done.stdout)
    if " passed" not in closing:
        raise Failed(f"no test was run: {closing}")
    return f"{done.stdout.splitlines()[0]}: {closing}"
