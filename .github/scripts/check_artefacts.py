"""Are these the files of a release? python .github/scripts/check_artefacts.py DIRECTORY

One sdist, one pure wheel, and one wheel for each line of tools/dist/wheels.txt: none missing, none
more, all of one version, the extension in each platform wheel and in no other.
"""

from __future__ import annotations

import re
import sys
import zipfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
WHEELS = ROOT / "tools" / "dist" / "wheels.txt"
NAME = re.compile(r"flowdrop_fast-(?P<version>[^-]+)(-(?P<tags>[^-]+-[^-]+-[^-]+)\.whl|\.tar\.gz)")
EXTENSIONS = (".so", ".pyd")
PLATFORM = re.compile(r"(manylinux|musllinux|macosx|win)_?(?:2014_|\d+_\d+_)?(\w+)")


def identifier(tags: str) -> str:
    """Return what cibuildwheel calls a wheel of these tags: cp314t-musllinux_x86_64."""
    python, abi, platforms = tags.split("-")
    found = PLATFORM.fullmatch(platforms.partition(".")[0])
    if found is None:
        return tags
    return f"{python}{'t' if abi.endswith('t') else ''}-{found[1]}_{found[2]}"


def problems(names: list[str], wanted: list[str]) -> list[str]:
    """Return what is wrong with this set of file names, a sentence each."""
    found, have, versions = [], [], set()
    for name in names:
        parts = NAME.fullmatch(name)
        if parts is None:
            found.append(f"{name} is no file of a release")
            continue
        versions.add(parts["version"])
        tags = parts["tags"]
        if tags is None:
            have.append("sdist")
        else:
            have.append("pure wheel" if tags == "py3-none-any" else identifier(tags))
    expected = Counter([*wanted, "sdist", "pure wheel"])
    found += [f"missing: {name}" for name in sorted((expected - Counter(have)).elements())]
    found += [f"too many: {name}" for name in sorted((Counter(have) - expected).elements())]
    if len(versions) > 1:
        found.append(f"of different versions: {', '.join(sorted(versions))}")
    return found


def content_problem(wheel: Path) -> str | None:
    """Return what is wrong inside a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        extensions = [name for name in archive.namelist() if name.endswith(EXTENSIONS)]
    wanted = 0 if wheel.name.endswith("-py3-none-any.whl") else 1
    if len(extensions) != wanted:
        return f"{wheel.name} holds {len(extensions)} extensions instead of {wanted}"
    return None


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    files = sorted(path for path in Path(sys.argv[1]).iterdir() if path.is_file())
    found = problems([path.name for path in files], WHEELS.read_text().split())
    inside = [content_problem(path) for path in files if path.suffix == ".whl"]
    found += [problem for problem in inside if problem]
    for problem in found:
        print(problem)
    print(f"{len(files)} files, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
