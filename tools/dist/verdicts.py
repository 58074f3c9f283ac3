"""Claims and their verdicts, and the closing table. What is claimed is decided elsewhere.

A claim is proved, failed, or not proved. Not proved means that this machine lacks what the proof
needs; it is never counted among the proved ones.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

PROVED = "proved"
FAILED = "FAILED"
NOT_PROVED = "NOT PROVED"


class Failed(Exception):
    """The claim was put to the proof, and it does not hold."""


class NotProved(Exception):
    """This machine lacks what the proof needs, which the message names."""


@dataclass
class Claim:
    name: str
    verdict: str = ""
    detail: str = ""
    seconds: float = 0.0

    def note(self, detail: str) -> None:
        self.detail = detail


@dataclass
class Table:
    claims: list[Claim] = field(default_factory=list)

    @contextmanager
    def claim(self, name: str) -> Iterator[Claim]:
        """Put a claim to the proof: whatever is raised inside becomes its verdict."""
        claim = Claim(name)
        self.claims.append(claim)
        start = time.monotonic()
        print(f"-- {name}", flush=True)
        try:
            yield claim
            claim.verdict = PROVED
        except NotProved as missing:
            claim.verdict, claim.detail = NOT_PROVED, str(missing)
        except Failed as failure:
            claim.verdict, claim.detail = FAILED, str(failure)
        except Exception as error:
            traceback.print_exc()
            claim.verdict, claim.detail = FAILED, f"{type(error).__name__}: {error}"
        claim.seconds = time.monotonic() - start
        print(f"   {claim.verdict} ({claim.seconds:.0f} s) {claim.detail}", flush=True)

    def count(self, verdict: str) -> int:
        return sum(claim.verdict == verdict for claim in self.claims)

    def __str__(self) -> str:
        width = max((len(claim.name) for claim in self.claims), default=0)
        order = (PROVED, NOT_PROVED, FAILED)
        lines = []
        for verdict in order:
            for claim in self.claims:
                if claim.verdict == verdict:
                    first, *rest = claim.detail.splitlines() or [""]
                    more = " ..." if rest else ""
                    lines.append(f"{verdict:<10}  {claim.name:<{width}}  {first}{more}".rstrip())
        counts = ", ".join(f"{self.count(verdict)} {verdict}" for verdict in order)
        return "\n".join([*lines, "", counts])

    def exit_code(self, strict: bool) -> int:
        """1 if a claim failed or none was made; 3 if one is not proved and that is asked for."""
        if self.count(FAILED) or not self.count(PROVED):
            return 1
        return 3 if strict and self.count(NOT_PROVED) else 0
