"""Other people's repairs beside both backends: ``pytest benchmarks/bench_peers.py``.

What each leaves broken is in ``python -m benchmarks.peers``; time alone says little.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.histories import PAIRING_FAULTS, decode, encoded
from benchmarks.peers import PEERS

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

HISTORIES = {
    "clean": encoded(1_000, "provider"),
    "5 % broken": encoded(1_000, "provider", broken=0.05, faults=PAIRING_FAULTS),
}


@pytest.mark.filterwarnings("ignore")  # of the peers' own imports
@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("name", PEERS)
def test_peer(benchmark: BenchmarkFixture, name: str, history: str) -> None:
    benchmark.group = f"peers: provider-shaped, {history}"
    try:
        peer = PEERS[name]()
    except ImportError as error:
        if name.startswith("flowdrop-fast"):
            raise
        pytest.skip(f"{name}: not measured ({error})")
    data = HISTORIES[history]
    benchmark.pedantic(peer.repair, setup=lambda: ((peer.take(decode(data)),), {}), rounds=50)  # type: ignore[no-untyped-call]
