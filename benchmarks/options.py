"""What each option costs: a pass with it against a pass without, side by side.

`python -m benchmarks.options` prints the table of `docs/options.md`. An option that takes the
reference's path costs the compiled backend what the reference costs, whatever it does there.
"""

from __future__ import annotations

import argparse
import copy
from typing import TYPE_CHECKING, Any

from benchmarks.contenders import BACKENDS, backend
from benchmarks.histories import decode, encoded
from benchmarks.measuring import Contender, interleave, settle

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Options = dict[str, Any]

OPTIONS: Mapping[str, Options] = {
    'ids="rescue"': {"ids": "rescue"},
    'pending="keep"': {"pending": "keep"},
    'interrupted="…"': {"interrupted": "never ran"},
    'system="merge"': {"system": "merge"},
    'keep=("name", …)': {"keep": ("name", "reasoning_content")},
    'content="parts"': {"content": "parts"},
    "copy=False": {"copy": False},
}
SHAPES = ("flat", "stored")
RESCUING = 'ids="rescue"', "one id for all calls"


def one_id_for_all(messages: int) -> list[Any]:
    """A clean history whose calls all have the same id."""
    rows: list[Any] = copy.deepcopy(decode(encoded(messages, "flat")))
    for row in rows:
        for call in row.get("tool_calls", ()):
            call.update(dict.fromkeys({"id", "tool_call_id"} & call.keys(), "call"))
        if "tool_call_id" in row:
            row["tool_call_id"] = "call"
    return rows


def costs(
    name: str, rows: list[Any], options: Mapping[str, Options], rounds: int
) -> dict[str, float]:
    """How many times as long a pass of one backend takes with each of the options."""
    normalize = backend(name).normalize_conversation
    contenders = [
        Contender(
            label,
            "normalize(messages, **options)",
            lambda: rows,
            len(rows),
            {"normalize": normalize, "options": asked},
        )
        for label, asked in {"": {}, **options}.items()
    ]
    measured = interleave(contenders, rounds, freshly=False)
    return {label: measured.ratio(label, "").median for label in options}


def table(messages: int, rounds: int) -> str:
    """The costs as a Markdown table: a row an option, a column a backend and shape."""
    columns: dict[str, dict[str, float]] = {}
    for name in BACKENDS:
        for shape in SHAPES:
            rows = decode(encoded(messages, shape))
            columns[f"{name}, {shape}"] = costs(name, rows, OPTIONS, rounds)
    label, case = RESCUING
    rescuing = {}
    for name in BACKENDS:
        asked = {label: OPTIONS[label]}
        rescuing[name] = costs(name, one_id_for_all(messages), asked, rounds)[label]
    lines = [
        f"| option | {' | '.join(columns)} |",
        f"|---|{'---|' * len(columns)}",
        *(
            f"| `{option}` | {' | '.join(f'{column[option]:.1f}' for column in columns.values())} |"
            for option in OPTIONS
        ),
        f"| `{label}`, {case} | {rescuing['native']:.1f} | | {rescuing['pure']:.1f} | |",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="What each option costs, as ratios.")
    parser.add_argument("--messages", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=15)
    chosen = parser.parse_args(arguments)
    settle()
    print(table(chosen.messages, chosen.rounds))


if __name__ == "__main__":
    main()
