"""Is this commit what its tag says? python .github/scripts/check_release.py v1.2.3

The tag is the package's version with a v before it, and CHANGELOG.md has a dated entry for it, the
newest one.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
ENTRY = re.compile(r"^## \[([^\]]+)\](?: - (.*))?$", re.MULTILINE)
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def problems(tag: str, source: str, changelog: str) -> list[str]:
    """Return what speaks against this release, a sentence each."""
    found = []
    versions = VERSION.findall(source)
    if len(versions) != 1:
        return ["flowdrop_fast/__init__.py has no __version__, or more than one"]
    (version,) = versions
    if tag != f"v{version}":
        found.append(f"the tag is {tag!r}, and the version {version!r} asks for 'v{version}'")
    entries = [entry for entry in ENTRY.findall(changelog) if entry[0] != "Unreleased"]
    if not entries or entries[0][0] != version:
        newest = entries[0][0] if entries else "none"
        found.append(f"the newest entry of CHANGELOG.md is {newest}, not {version}")
    elif not DATE.fullmatch(entries[0][1]):
        found.append(f"the entry {version} of CHANGELOG.md has no date, but {entries[0][1]!r}")
    return found


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    source = (ROOT / "flowdrop_fast" / "__init__.py").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = problems(sys.argv[1], source, changelog)
    for problem in found:
        print(f"not a release: {problem}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
