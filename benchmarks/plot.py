"""Draws a saved run: ``python -m benchmarks.plot run.json picture.svg``.

Above, what each contender takes for a message, as a multiple of the row copy's time; below, every
goal and how far the measured figure is under or over it. Interpreter and machine are named
underneath.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_OURS, _PURE, _FLOOR, _OTHERS = "#0b7285", "#74b9c6", "#adb5bd", "#d9a05b"
_MISSED = "#c92a2a"
_TEXT, _FAINT = "#212529", "#868e96"

_BARS = (
    ("row copy, flat", "[m.copy() for m in messages]", _FLOOR),
    ("native, flat", "native, flat rows", _OURS),
    ("native, stored", "native, stored rows", _OURS),
    ("native, broken", "native, 5 % broken", _OURS),
    ("pure, flat", "pure Python, flat rows", _PURE),
    ("pure, stored", "pure Python, stored rows", _PURE),
    ("pure, broken", "pure Python, 5 % broken", _PURE),
    ("decode, flat", "orjson.loads of the same bytes", _OTHERS),
    ("litellm, provider", "litellm's repair", _OTHERS),
)


def draw(run: dict[str, Any], path: Path, how: str, part: str) -> None:
    """Draw `run`, as `benchmarks.ratios` saved it.

    Args:
        run: the saved run.
        path: an ``.svg`` or ``.png`` file.
        how: which of its measurements, ``warm`` or ``fresh``.
        part: ``bars``, ``goals`` or ``both``.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    plt.rcParams.update(
        {
            "axes.labelcolor": _TEXT,
            "figure.facecolor": "white",  # readable on a dark page too
            "font.size": 10,
            "svg.hashsalt": "flowdrop-fast",  # the same run gives the same file
            "text.color": _TEXT,
        }
    )
    parts = ["bars", "goals"] if part == "both" else [part]
    heights = [{"bars": 3.6, "goals": 4.6}[name] for name in parts]
    figure, axes = plt.subplots(
        len(parts),
        1,
        figsize=(8.5, sum(heights) + 0.9),
        gridspec_kw={"height_ratios": heights},
        layout="constrained",
        squeeze=False,
    )
    for name, place in zip(parts, axes[:, 0], strict=True):
        if name == "bars":
            _draw_bars(place, run["relative"][how])
        else:
            _draw_goals(place, run["goals"], how)
    figure.supxlabel(_named_underneath(run, how), fontsize=8, color=_FAINT)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=150)
    plt.close(figure)


def _named_underneath(run: dict[str, Any], how: str) -> str:
    machine, settings = run["machine"], run["settings"]
    lists = {"warm": "a list normalized before", "fresh": "lists fresh from a JSON decoder"}[how]
    versions = [f"{name} {version}" for name, version in machine["packages"].items()]
    return (
        f"{settings['messages']:,} messages of about 1.35 kB, {lists}; medians (lines: quartiles) "
        f"of per-round ratios in one process\n"
        f"{machine['python']} ({machine['build']}, {machine['compiler']}), {machine['machine']}; "
        + ", ".join(versions[:3])
    )


def _draw_bars(axes: Any, relative: dict[str, dict[str, float]]) -> None:
    bars = [(label, relative[key], colour) for key, label, colour in _BARS if key in relative]
    places = range(len(bars))
    medians = [ratio["median"] for _, ratio, _ in bars]
    axes.barh(places, medians, color=[colour for *_, colour in bars], height=0.72)
    for place, (_, ratio, _) in enumerate(bars):
        axes.plot([ratio["low"], ratio["high"]], [place, place], color=_TEXT, linewidth=1)
        digits = 2 if ratio["median"] < 10 else 1
        axes.annotate(
            f"{ratio['median']:.{digits}f}",
            (max(ratio["high"], ratio["median"]), place),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
        )
    axes.set_yticks(places, [label for label, *_ in bars])
    axes.invert_yaxis()
    axes.set_xlim(0, max(ratio["high"] for _, ratio, _ in bars) * 1.1)
    axes.axvline(1, color=_TEXT, linewidth=0.8, linestyle=":")
    axes.set_title("Time a message, as a multiple of copying the rows", loc="left", fontsize=11)
    _tidy(axes)


def _draw_goals(axes: Any, goals: list[dict[str, Any]], how: str) -> None:
    shown: list[tuple[str, float]] = []
    hostile: list[float] = []
    for goal in goals:
        ratio = goal[how] or goal["warm"]  # some are measured in one way only
        if goal["limit"] is None or not ratio:
            continue
        share = ratio["median"] / goal["limit"]
        if goal["key"].startswith("growth "):
            hostile.append(share)
        else:
            shown.append((goal["text"], share))
    if hostile:
        shown.append((f"growth, worst of {len(hostile)} hostile shapes", max(hostile)))
    places = range(len(shown))
    for place, (_, share) in enumerate(shown):
        colour = _OURS if share <= 1 else _MISSED
        axes.plot([1, share], [place, place], color=colour, linewidth=1.6, alpha=0.5)
        axes.plot([share], [place], "o", color=colour, markersize=5.5)
    axes.set_xscale("log", base=2)
    reach = max(2.0, *(max(share, 1 / share) for _, share in shown)) * 1.15
    axes.set_xlim(1 / reach, reach)
    axes.xaxis.set_major_locator(_powers_of_two(reach))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}x" if value >= 1 else _part(value))
    axes.xaxis.set_minor_locator(_no_ticks())
    axes.axvline(1, color=_TEXT, linewidth=0.8)
    axes.set_yticks(places, [label for label, _ in shown])
    axes.invert_yaxis()
    axes.set_title(
        "Measured, as a multiple of the goal (met up to the line)", loc="left", fontsize=11
    )
    _tidy(axes)


def _part(value: float) -> str:
    return f"1/{1 / value:g}"


def _powers_of_two(reach: float) -> Any:
    from matplotlib.ticker import FixedLocator

    exponents = range(-20, 21)
    return FixedLocator([2.0**e for e in exponents if 1 / reach <= 2.0**e <= reach])


def _no_ticks() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()


def _tidy(axes: Any) -> None:
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(_FAINT)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", colors=_FAINT)
    axes.grid(axis="x", color="#e9ecef")
    axes.set_axisbelow(True)


def main(argv: Sequence[str] | None = None) -> int:
    """Draw one saved run into one file, whose suffix says which format."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.plot", description="Draw a run saved by benchmarks.ratios."
    )
    parser.add_argument("run", type=Path, help="what ratios --json saved")
    parser.add_argument("picture", type=Path, help="an .svg or .png file to write")
    parser.add_argument("--how", choices=["warm", "fresh"], default="fresh")
    parser.add_argument("--part", choices=["bars", "goals", "both"], default="both")
    options = parser.parse_args(argv)
    run = json.loads(options.run.read_text(encoding="utf-8"))
    draw(run, options.picture, options.how, options.part)
    return 0


if __name__ == "__main__":
    sys.exit(main())
