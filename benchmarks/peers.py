"""Other people's repairs beside ours: time, and what each leaves broken.

``python -m benchmarks.peers``. Each peer gets the histories that it can take, in the shape that it
takes (pydantic-ai its own message objects, converted outside the timed region). What comes out is
judged by a checker that shares no code with flowdrop_fast. A peer that is not installed is named.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import contenders
from benchmarks.histories import PAIRING_FAULTS, decode, encoded
from benchmarks.measuring import Contender, described_machine, interleave, settle

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True)
class Peer:
    """One repair: how to call it, and how to get rows into and out of its own shape."""

    name: str
    repair: Callable[[Any], Any]
    take: Callable[[list[Any]], Any] = list
    give: Callable[[Any], list[Any]] = list


def _native() -> Peer:
    normalize = contenders.backend("native").normalize_conversation
    return Peer("flowdrop-fast, native", normalize, give=lambda result: list(result.messages))


def _pure() -> Peer:
    normalize = contenders.backend("pure").normalize_conversation
    return Peer("flowdrop-fast, pure", normalize, give=lambda result: list(result.messages))


def _litellm() -> Peer:
    return Peer("litellm", contenders.litellm_repair())


def _turnsafe() -> Peer:
    repair = contenders.imported("turnsafe", "repair")
    return Peer("turnsafe", lambda messages: repair(messages, "openai"))


def _tool_call_repair() -> Peer:
    repair = contenders.imported("toolrepair", "repair")
    # "synthesize" keeps the calls that nobody answered, as everyone else here does.
    synthesize = functools.partial(repair, format="openai", strategy="synthesize")
    return Peer("tool-call-repair", synthesize)


def _pydantic_ai() -> Peer:
    repair_messages = contenders.imported("pydantic_ai.messages", "repair_messages")
    ai = importlib.import_module("pydantic_ai.messages")

    def message(row: Any) -> Any:
        role, content = row["role"], row["content"]
        if role == "assistant":
            calls = [
                ai.ToolCallPart(c["function"]["name"], c["function"]["arguments"], c["id"])
                for c in row.get("tool_calls", ())
            ]
            return ai.ModelResponse(parts=[*([ai.TextPart(content)] if content else []), *calls])
        if role == "tool":
            return ai.ModelRequest(parts=[ai.ToolReturnPart("tool", content, row["tool_call_id"])])
        part = ai.SystemPromptPart if role == "system" else ai.UserPromptPart
        return ai.ModelRequest(parts=[part(content)])

    def take(rows: list[Any]) -> list[Any]:
        return [message(row) for row in rows]

    def give(messages: list[Any]) -> list[Any]:
        rows: list[Any] = []
        for one in messages:
            if isinstance(one, ai.ModelResponse):
                calls = [p for p in one.parts if isinstance(p, ai.ToolCallPart)]
                rows.append(
                    {"role": "assistant", "tool_calls": [{"id": c.tool_call_id} for c in calls]}
                )
                continue
            for part in one.parts:
                row = {"role": part.part_kind, "content": part.content}
                if isinstance(part, ai.ToolReturnPart):
                    row |= {"role": "tool", "tool_call_id": part.tool_call_id}
                rows.append(row)
        return rows

    return Peer("pydantic-ai", repair_messages, take, give)


PEERS: dict[str, Callable[[], Peer]] = {
    "flowdrop-fast, native": _native,
    "flowdrop-fast, pure": _pure,
    "litellm": _litellm,
    "pydantic-ai": _pydantic_ai,
    "turnsafe": _turnsafe,
    "tool-call-repair": _tool_call_repair,
}


# --- the checker --------------------------------------------------------------------------------

BROKEN_KINDS = ("unanswered", "stray", "repeated", "reused")


def left_broken(rows: list[Any]) -> Counter[str]:
    """Count what a provider would refuse, or pair wrongly, in rows of the OpenAI chat shape.

    Returns:
        ``unanswered``: calls without a result in the tool rows directly behind their turn;
        ``stray``: tool rows that answer no call of the turn directly before them;
        ``repeated``: further results for a call answered already;
        ``reused``: calls whose id an earlier call has.
    """
    found: Counter[str] = Counter()
    declared: set[str] = set()
    open_ids: set[str] = set()
    answered: set[str] = set()
    for row in [*rows, {"role": "end"}]:
        if row["role"] == "tool":
            id_ = row.get("tool_call_id")
            if id_ in open_ids:
                open_ids.remove(id_)
                answered.add(id_)
            else:
                found["repeated" if id_ in answered else "stray"] += 1
            continue
        found["unanswered"] += len(open_ids)
        ids = [call.get("id") or call.get("tool_call_id") for call in row.get("tool_calls") or ()]
        for id_ in ids:
            found["reused"] += id_ in declared
            declared.add(id_)
        open_ids, answered = set(ids), set()
    return +found


def results_kept(given: list[Any], made: list[Any]) -> int:
    """Count tool rows that carry what a tool really said, rather than a placeholder."""
    said = {row["content"] for row in given if row["role"] == "tool"}
    return sum(row["role"] == "tool" and row["content"] in said for row in made)


# --- the table ----------------------------------------------------------------------------------


def measure(messages: int, rounds: int) -> tuple[list[dict[str, Any]], list[str]]:
    """Measure every peer that is here.

    Returns:
        A row of figures for each, and a line for each that is not installed.
    """
    peers, missing = [], []
    for name, load in PEERS.items():
        try:
            peers.append(load())
        except ImportError as error:
            if name.startswith("flowdrop-fast"):
                raise
            missing.append(f"{name}: not measured ({error})")
    settle()
    histories = {
        "clean": encoded(messages, "provider"),
        "broken": encoded(messages, "provider", broken=0.05, faults=PAIRING_FAULTS),
    }
    taking_part = [
        Contender(
            f"{peer.name}/{kind}",
            "repair(messages)",
            _input(peer, data),
            len(decode(data)),
            {"repair": peer.repair},
        )
        for peer in peers
        for kind, data in histories.items()
    ]
    rounds_ = interleave(taking_part, rounds, freshly=True)
    everything = decode(encoded(messages, "provider", broken=0.05))
    figures = []
    for peer in peers:
        given = decode(histories["broken"])
        made = peer.give(peer.repair(peer.take(decode(histories["broken"]))))
        row: dict[str, Any] = {"name": peer.name}
        for kind in histories:
            name = f"{peer.name}/{kind}"
            row[f"{kind} ns"] = rounds_.nanoseconds(name)
            row[f"{kind} ratio"] = rounds_.ratio(name, f"{peers[0].name}/{kind}").median
        row |= {kind: left_broken(made)[kind] for kind in BROKEN_KINDS}
        row["results kept"] = results_kept(given, made)
        row["every fault"] = _outcome(peer, everything)
        figures.append(row)
    return figures, missing


def _input(peer: Peer, data: bytes) -> Callable[[], Any]:
    return lambda: peer.take(decode(data))


def _outcome(peer: Peer, messages: list[Any]) -> str:
    """What a peer makes of a history with rows that are no messages, roleless, or unusable."""
    try:
        made = peer.give(peer.repair(peer.take(messages)))
    except Exception as error:  # whatever it raises is the finding
        return f"raises {type(error).__name__}"
    try:
        return f"{left_broken(made).total()} left broken"
    except (TypeError, AttributeError, KeyError):
        return "lets through what is no message"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print the table; save it when asked."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description="Measure other repairs beside ours."
    )
    parser.add_argument("--messages", type=int, default=1_000, metavar="N")
    parser.add_argument("--rounds", type=int, default=20, metavar="N")
    parser.add_argument("--json", type=Path, metavar="FILE", help="save the run there")
    options = parser.parse_args(argv)
    figures, missing = measure(options.messages, options.rounds)
    machine = described_machine(contenders.PACKAGES)
    given = decode(encoded(options.messages, "provider", broken=0.05, faults=PAIRING_FAULTS))
    before = left_broken(given)
    print(f"{machine['python']} ({machine['build']}, {machine['compiler']}), {machine['machine']}")
    print(", ".join(f"{name} {version}" for name, version in machine["packages"].items()))
    print(
        f"{len(given)} messages with 5 % of pairing faults: "
        + ", ".join(f"{before[kind]} {kind}" for kind in BROKEN_KINDS)
        + f"; {results_kept(given, given)} results\n"
    )
    print(
        f"{'':22}{'clean, ns':>10}{'':>8}{'broken, ns':>12}{'':>8}"
        f"{'unanswered':>12}{'stray':>7}{'repeated':>10}{'reused':>8}{'results':>9}  every fault"
    )
    for row in figures:
        print(
            f"{row['name']:22}{row['clean ns']:>10,.0f}{row['clean ratio']:>7,.1f}x"
            f"{row['broken ns']:>12,.0f}{row['broken ratio']:>7,.1f}x{row['unanswered']:>12}"
            f"{row['stray']:>7}{row['repeated']:>10}{row['reused']:>8}{row['results kept']:>9}"
            f"  {row['every fault']}"
        )
    for line in missing:
        print(line)
    if options.json:
        document = {"machine": machine, "peers": figures, "missing": missing}
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
