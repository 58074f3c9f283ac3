"""The table of ratios against the goals: ``python -m benchmarks.ratios``.

Everything that is divided by something is measured in the same process and the same round. Each
ratio is taken twice: over a *warm* list that has been normalized before, and over *fresh* lists
just out of a JSON decoder, whose ids have never been hashed.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
import tracemalloc
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import contenders, instructions
from benchmarks.histories import DECODER, HOSTILE, decode, encoded, hostile, real
from benchmarks.measuring import (
    Contender,
    Ratio,
    described_machine,
    interleave,
    settle,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


@dataclass(frozen=True)
class Goal:
    """One row of the table. `limit` is None where a figure is only there to be read."""

    key: str
    text: str
    limit: float | None
    unit: str = "x"


GOALS = (
    Goal("copy flat", "native / row copy, flat", 1.15),
    Goal("copy stored", "native / row copy, stored", 1.35),
    Goal("owned flat", "native / copy of rows and lists of calls, flat", None),
    Goal("broken clean", "native, 5 % broken / clean, flat", 1.6),
    Goal("pure flat", "native / pure, flat", 0.20),
    Goal("pure stored", "native / pure, stored", 0.22),
    Goal("pure broken", "native / pure, 5 % broken", 0.27),
    Goal("pure copy", "pure / row copy, flat", 5.0),
    Goal("decode flat", "native / orjson.loads, flat", 0.085),
    Goal("decode stored", "native / orjson.loads, stored", 0.11),
    Goal("litellm", "native / litellm's repair", 0.04),
    Goal("floor decode flat", "row copy / orjson.loads, flat", None),
    Goal("floor decode stored", "row copy / orjson.loads, stored", None),
    Goal("floor litellm", "row copy / litellm's repair", None),
    Goal("growth", "growth, by that of the row copy", 1.1),
    *(Goal(f"growth {name}", f"growth: {name}", 2.0) for name in HOSTILE),
    Goal("small", "10 messages, over the row copy", 0.6, "us"),
    Goal("instructions", "instructions a message, flat", 1350, "instructions"),
    Goal("memory flat", "memory kept a message, flat", 200, "B"),
    Goal("memory stored", "memory kept a message, stored", None, "B"),
    Goal("memory copy", "memory kept a message, row copy", None, "B"),
    Goal("memory owned", "memory kept a message, copy of rows and lists of calls", None, "B"),
    Goal("text", "text_to_message / one dict by hand", 3.0),
    Goal("text whole", "text_to_message / its three containers by hand", None),
)

REAL_GOALS = (
    Goal("real copy", "real runs: native / row copy", None),
    Goal("real pure", "real runs: native / pure", None),
    Goal("real decode", "real runs: native / orjson.loads", None),
)


@dataclass
class Figure:
    """What was measured for one goal: warm, fresh, or the reason why not."""

    warm: Ratio | None = None
    fresh: Ratio | None = None
    why_not: str = ""

    def verdict(self, limit: float | None) -> str:
        """``pass`` when everything measured is within the limit; ``miss`` names what is not."""
        if limit is None:
            return ""
        measured = {"warm": self.warm, "fresh": self.fresh}
        over = [name for name, ratio in measured.items() if ratio and ratio.median > limit]
        if over:
            return f"miss ({', '.join(over)})"
        return "pass" if self.warm or self.fresh else "not measured"


@dataclass
class Settings:
    """How large and how often. The defaults are those that the goals are stated for."""

    messages: int = 1_000
    large: int = 100_000
    rounds: int = 60
    large_rounds: int = 9
    peers: bool = True
    instructions: bool = False
    real: Path | None = None
    only: Sequence[str] = ()


@dataclass
class Run:
    """Everything one run found out."""

    figures: dict[str, Figure] = field(default_factory=dict)
    relative: dict[str, dict[str, Ratio]] = field(default_factory=dict)
    nanoseconds: dict[str, dict[str, float]] = field(default_factory=dict)

    def put(self, key: str, how: str, ratio: Ratio) -> None:
        """Note a figure for the goal `key`, measured `how` (``warm`` or ``fresh``)."""
        setattr(self.figures.setdefault(key, Figure()), how, ratio)


# --- what is measured ---------------------------------------------------------------------------


GROUPS = ("size", "growth", "small", "hostile", "memory", "text")


def measure(settings: Settings, say: Callable[[str], None]) -> Run:
    """Measure every goal, or those of the groups asked for, one group after the other."""
    run = Run()
    native, pure = (contenders.backend(name) for name in contenders.BACKENDS)
    groups = settings.only or GROUPS
    litellm = _litellm(settings, run) if "size" in groups else None
    settle()
    for how in ("warm", "fresh"):
        if "size" in groups:
            say(f"{settings.messages} messages, {how}")
            _at_size(settings, run, native, pure, litellm, how)
        if "growth" in groups:
            say(f"growth to {settings.large} messages, {how}")
            data = [encoded(n) for n in (settings.messages, settings.large)]
            _growth(settings, run, native, "growth", data, data, how)
        if "small" in groups:
            say(f"10 messages, {how}")
            _small(settings, run, native, how)
        if settings.real:
            say(f"real runs, {how}")
            _real(settings, run, native, pure, settings.real, how)
    for name in HOSTILE if "hostile" in groups else ():
        say(f"growth to {settings.large}: {name}")
        _hostile_growth(settings, run, native, name)
    if "memory" in groups:
        _memory(settings, run, native)
    if "text" in groups:
        _text(settings, run, native)
    _instructions(settings, run, say)
    return run


def _instructions(settings: Settings, run: Run, say: Callable[[str], None]) -> None:
    why_not = "asked for with --instructions"
    if settings.instructions:
        say("instructions (valgrind)")
        try:
            counted = instructions.count("native, flat", settings.messages)
        except instructions.UnavailableError as error:
            why_not = str(error)
        else:
            run.put("instructions", "warm", Ratio.of([counted]))
            return
    run.figures["instructions"] = Figure(why_not=why_not)


def _litellm(settings: Settings, run: Run) -> Callable[[list[Any]], list[Any]] | None:
    why_not = "left out with --no-peers"
    if settings.peers:
        try:
            return contenders.litellm_repair()
        except ImportError as error:
            why_not = f"litellm: {error}"
    for key in ("litellm", "floor litellm"):
        run.figures[key] = Figure(why_not=why_not)
    return None


def _at_size(
    settings: Settings,
    run: Run,
    native: Any,
    pure: Any,
    litellm: Callable[[list[Any]], list[Any]] | None,
    how: str,
) -> None:
    """Everything that is compared at one size, in one interleaved session."""
    freshly = how == "fresh"
    n = settings.messages
    data = {shape: encoded(n, shape) for shape in ("flat", "stored", "provider")}
    data["broken"] = encoded(n, broken=0.05)
    taking_part: list[Contender] = []
    for shape, bytes_ in data.items():
        if shape != "broken":  # it holds entries that are no dict
            taking_part.append(contenders.row_copy(f"row copy, {shape}", bytes_, freshly=freshly))
            taking_part.append(contenders.decoding(f"decode, {shape}", bytes_))
        for name, module in (("native", native), ("pure", pure)):
            taking_part.append(
                contenders.normalize(f"{name}, {shape}", module, bytes_, freshly=freshly)
            )
    if litellm:
        taking_part.append(
            contenders.call("litellm, provider", litellm, data["provider"], freshly=freshly)
        )
    taking_part.append(contenders.owned_copy("owned copy, flat", data["flat"], freshly=freshly))
    rounds = interleave(taking_part, settings.rounds, freshly=freshly)
    for key, ours, theirs in (
        ("copy flat", "native, flat", "row copy, flat"),
        ("copy stored", "native, stored", "row copy, stored"),
        ("owned flat", "native, flat", "owned copy, flat"),
        ("broken clean", "native, broken", "native, flat"),
        ("pure flat", "native, flat", "pure, flat"),
        ("pure stored", "native, stored", "pure, stored"),
        ("pure broken", "native, broken", "pure, broken"),
        ("pure copy", "pure, flat", "row copy, flat"),
        ("decode flat", "native, flat", "decode, flat"),
        ("decode stored", "native, stored", "decode, stored"),
        ("litellm", "native, provider", "litellm, provider"),
        ("floor decode flat", "row copy, flat", "decode, flat"),
        ("floor decode stored", "row copy, stored", "decode, stored"),
        ("floor litellm", "row copy, provider", "litellm, provider"),
    ):
        if theirs not in rounds.seconds:
            continue
        run.put(key, how, rounds.ratio(ours, theirs))
        if DECODER != "orjson" and "decode" in key:
            run.figures[key] = Figure(why_not="orjson: not installed")
    run.nanoseconds[how] = {name: rounds.nanoseconds(name) for name in rounds.seconds}
    run.relative[how] = {
        name: rounds.ratio(name, f"row copy, {'flat' if shape == 'broken' else shape}")
        for name in rounds.seconds
        for shape in [name.partition(", ")[2]]
    }


def _growth(
    settings: Settings,
    run: Run,
    native: Any,
    key: str,
    data: Sequence[bytes],
    floor: Sequence[bytes],
    how: str,
) -> None:
    """Growth of the time a message from the small to the large input, by that of the row copy."""
    freshly = how == "fresh"
    taking_part = []
    for place, size in enumerate((settings.messages, settings.large)):
        name = ("small", "large")[place]
        taking_part += [
            contenders.row_copy(f"copy {name}", floor[place], freshly=freshly, size=size),
            contenders.normalize(f"ours {name}", native, data[place], freshly=freshly, size=size),
        ]
    rounds = interleave(taking_part, settings.large_rounds, freshly=freshly)
    ratio = rounds.each(
        lambda s: (s["ours large"] / s["ours small"]) / (s["copy large"] / s["copy small"])
    )
    run.put(key, how, ratio)


def _hostile_growth(settings: Settings, run: Run, native: Any, name: str) -> None:
    """The same for a hostile shape.

    The floor copies whatever there are n of, the longest list among what goes in, what comes out
    and the calls: one row of n unanswered calls becomes n rows, while n orphans become none.
    """
    data = [hostile(name, n) for n in (settings.messages, settings.large)]
    floor = []
    for given in data:
        rows = decode(given)
        made = native.normalize_conversation(rows).messages
        calls = [row["tool_calls"] for row in rows if "tool_calls" in row]
        floor.append(json.dumps(max(rows, made, *calls, key=len)).encode())
    _growth(settings, run, native, f"growth {name}", data, floor, "warm")


def _small(settings: Settings, run: Run, native: Any, how: str) -> None:
    freshly = how == "fresh"
    data = encoded(10)
    taking_part = [
        contenders.row_copy("copy", data, freshly=freshly),
        contenders.normalize("ours", native, data, freshly=freshly),
    ]
    rounds = interleave(taking_part, settings.rounds, freshly=freshly)
    run.put("small", how, rounds.each(lambda s: (s["ours"] - s["copy"]) * 10 * 1e6))


def _real(settings: Settings, run: Run, native: Any, pure: Any, path: Path, how: str) -> None:
    """Real runs, all of them one after the other, as one input."""
    runs = real(path)
    size = sum(len(decode(data)) for data in runs)
    kept = [decode(data) for data in runs]

    def lists() -> list[list[Any]]:
        return kept if how == "warm" else [decode(data) for data in runs]

    each = "for one in messages: "
    taking_part = [
        Contender("copy", each + "[m.copy() for m in one]", lists, size),
        Contender("decode", each + "decode(one)", lambda: runs, size, {"decode": decode}),
    ]
    for name, module in (("native", native), ("pure", pure)):
        names = {"normalize": module.normalize_conversation}
        taking_part.append(Contender(name, each + "normalize(one)", lists, size, names))
    rounds = interleave(taking_part, settings.rounds, freshly=how == "fresh")
    for theirs in ("copy", "pure", "decode"):
        run.put(f"real {theirs}", how, rounds.ratio("native", theirs))


def _memory(settings: Settings, run: Run, native: Any) -> None:
    for key, function, shape in (
        ("flat", native.normalize_conversation, "flat"),
        ("stored", native.normalize_conversation, "stored"),
        ("copy", _row_copy, "flat"),
        ("owned", _owned_copy, "flat"),
    ):
        kept = _kept_bytes(function, encoded(settings.messages, shape))
        run.put(f"memory {key}", "warm", Ratio.of([kept]))


def _row_copy(messages: list[Any]) -> list[Any]:
    return [m.copy() for m in messages]


def _owned_copy(messages: list[Any]) -> list[Any]:
    rows: list[Any] = eval(contenders.OWNED_COPY, {"messages": messages})
    return rows


def _kept_bytes(normalize: Callable[[list[Any]], Any], data: bytes) -> float:
    """Bytes that stay allocated for each message while the result is held."""
    messages = decode(data)
    normalize(messages)
    gc.collect()  # empties the free lists too, from which memory would come uncounted
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    result = normalize(messages)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del result
    return (after - before) / len(messages)


def _text(settings: Settings, run: Run, native: Any) -> None:
    """`text_to_message` beside dict displays, whose only input is the text."""

    def text() -> str:
        return "What is the status of my order?"

    names = {"text_to_message": native.text_to_message, "role": "user"}
    row = '{"role": role, "content": messages}'
    taking_part = [
        Contender("ours", "text_to_message(messages, role)", text, 1, names),
        Contender("one dict", row, text, 1, {"role": "user"}),
        Contender("whole", f"([{row}], {row})", text, 1, {"role": "user"}),
    ]
    rounds = interleave(taking_part, settings.rounds, freshly=False)
    run.put("text", "warm", rounds.ratio("ours", "one dict"))
    run.put("text whole", "warm", rounds.ratio("ours", "whole"))


# --- what is shown ------------------------------------------------------------------------------


def table(run: Run, goals: Sequence[Goal]) -> Iterator[str]:
    """Yield the lines of the table, one for each goal, measured or not."""
    width = max(len(goal.text) for goal in goals)
    yield f"{'':{width}}  {'goal':>8}  {'warm':>22}  {'fresh':>22}  verdict"
    for goal in goals:
        figure = run.figures.get(goal.key, Figure(why_not="left out"))
        limit = "" if goal.limit is None else f"<= {goal.limit:g}"
        if figure.why_not:
            yield f"{goal.text:{width}}  {limit:>8}  not measured: {figure.why_not}"
            continue
        warm_, fresh = (_shown(ratio, goal.unit) for ratio in (figure.warm, figure.fresh))
        verdict = figure.verdict(goal.limit)
        yield f"{goal.text:{width}}  {limit:>8}  {warm_:>22}  {fresh:>22}  {verdict}".rstrip()


def nanoseconds_table(run: Run) -> Iterator[str]:
    """Yield the medians in nanoseconds a message: to be read, not to be compared between runs."""
    if not run.nanoseconds:
        return
    yield f"{'ns a message':22}{'warm':>10}{'fresh':>10}"
    for name, warm_ in run.nanoseconds["warm"].items():
        yield f"{name:22}{warm_:>10,.0f}{run.nanoseconds['fresh'][name]:>10,.0f}"


def _shown(ratio: Ratio | None, unit: str) -> str:
    if ratio is None:
        return "-"
    if unit in ("B", "instructions"):
        return f"{ratio.median:,.0f} {unit}"
    digits = 2 if ratio.median >= 1 or unit != "x" else 3
    spread = f"({ratio.low:.{digits}f}-{ratio.high:.{digits}f})"
    return f"{ratio.median:.{digits}f}{'' if unit == 'x' else ' ' + unit} {spread}"


def saved(run: Run, goals: Sequence[Goal], settings: Settings) -> dict[str, Any]:
    """Return the run as JSON data, with the machine it was made on."""
    rows = []
    for goal in goals:
        figure = run.figures.get(goal.key, Figure(why_not="left out"))
        rows.append({**asdict(goal), **asdict(figure), "verdict": figure.verdict(goal.limit)})
    return {
        "machine": described_machine(contenders.PACKAGES),
        "settings": {**asdict(settings), "real": bool(settings.real)},
        "goals": rows,
        "relative": {
            how: {name: asdict(ratio) for name, ratio in ratios.items()}
            for how, ratios in run.relative.items()
        },
        "nanoseconds": run.nanoseconds,
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table, save it when asked; 1 when ``--check`` finds a goal not met."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ratios", description="Print measured ratios against the goals."
    )
    defaults = Settings()
    parser.add_argument("--messages", type=int, default=defaults.messages, metavar="N")
    parser.add_argument("--large", type=int, default=defaults.large, metavar="N")
    parser.add_argument("--rounds", type=int, default=defaults.rounds, metavar="N")
    parser.add_argument("--large-rounds", type=int, default=defaults.large_rounds, metavar="N")
    parser.add_argument(
        "--only",
        action="append",
        choices=GROUPS,
        help="measure this group (repeatable)",
        default=[],
    )
    parser.add_argument("--real", type=Path, metavar="FILE", help="JSON Lines of real runs")
    parser.add_argument("--no-peers", dest="peers", action="store_false")
    parser.add_argument("--instructions", action="store_true", help="count them too (valgrind)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="save the run there")
    parser.add_argument(
        "--check", action="store_true", help="exit 1 when a goal is missed or not measured"
    )
    options = vars(parser.parse_args(argv))
    file, check = options.pop("json"), options.pop("check")
    settings = Settings(**options)
    goals = (*GOALS, *REAL_GOALS) if settings.real else GOALS

    started = time.perf_counter()
    show_progress = sys.stderr.isatty()
    run = measure(settings, lambda what: print(what, file=sys.stderr) if show_progress else None)
    machine = described_machine(contenders.PACKAGES)
    print(f"{machine['python']} ({machine['build']}, {machine['compiler']}), {machine['machine']}")
    print(", ".join(f"{name} {version}" for name, version in machine["packages"].items()))
    print(f"medians and quartiles of per-round ratios; {time.perf_counter() - started:.0f} s\n")
    print("\n".join([*table(run, goals), "", *nanoseconds_table(run)]))
    if file:
        file.write_text(json.dumps(saved(run, goals, settings), indent=1) + "\n", encoding="utf-8")
    verdicts = [run.figures.get(goal.key, Figure()).verdict(goal.limit) for goal in goals]
    return 1 if check and any(verdict not in ("pass", "") for verdict in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
