"""Draws conversations before and after as one page that needs nothing else: no script, no file.

All that comes from a conversation is escaped, and the page forbids itself to load anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from flowdrop_fast import __version__

from .alignment import DROPPED, KEPT, MADE, MOVED_AWAY, MOVED_HERE, Pair, align
from .cells import Cell, make_cell
from .conversations import Options, Treated
from .reports import counted, counts_of, printable, summarize

# Text longer than this is folded.
FOLDED_CHARACTERS = 1200

_CLASSES = {
    KEPT: "kept",
    DROPPED: "dropped",
    MADE: "made",
    MOVED_AWAY: "away",
    MOVED_HERE: "here",
}
_LABELS = {DROPPED: "dropped", MADE: "made", MOVED_AWAY: "moved", MOVED_HERE: "moved here"}

_STYLE = """
:root { color-scheme: light dark;
  --ink: #1d2129; --soft: #667085; --line: #d9dee7; --paper: #fff; --back: #f4f6f9;
  --red: #b42318; --redback: #fdeceb; --green: #067647; --greenback: #e6f6ee;
  --amber: #93520b; --amberback: #fdf3e1; --blue: #1858a8; --blueback: #e8f1fc; }
@media (prefers-color-scheme: dark) { :root {
  --ink: #e4e7ec; --soft: #98a2b3; --line: #333b49; --paper: #171b22; --back: #0f1217;
  --red: #f97066; --redback: #3a1a19; --green: #4fc98d; --greenback: #12301f;
  --amber: #eaa94d; --amberback: #36270f; --blue: #79b4f5; --blueback: #13283f; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 76rem; color: var(--ink);
  background: var(--back); font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.3rem; margin: 0 0 .25rem; }
h2 { font-size: 1.05rem; margin: 2.2rem 0 .2rem; overflow-wrap: anywhere; }
p { margin: .2rem 0 .6rem; color: var(--soft); }
.legend span { display: inline-block; padding: 0 .5rem; margin: 0 .35rem .3rem 0;
  border-radius: .7rem; }
table { width: 100%; border-collapse: collapse; table-layout: fixed; background: var(--paper);
  border: 1px solid var(--line); }
th { text-align: left; color: var(--soft); font-weight: 600; }
th, td { padding: .45rem .6rem; vertical-align: top; border-top: 1px solid var(--line); }
.number { width: 3.4rem; color: var(--soft); text-align: right;
  font-variant-numeric: tabular-nums; }
td + td { border-left: 1px solid var(--line); }
.role { font-weight: 600; }
.note { color: var(--soft); font-weight: 400; }
.text, .call { white-space: pre-wrap; overflow-wrap: anywhere; }
.call { font: 13px/1.4 ui-monospace, monospace; color: var(--soft); }
.label { display: inline-block; padding: 0 .45rem; border-radius: .7rem; font-size: .8rem; }
.why { display: block; margin-top: .3rem; font-size: .9rem; }
.dropped .was { text-decoration: line-through; opacity: .75; }
.dropped td.cell { background: var(--redback); } .dropped .why { color: var(--red); }
.made td.cell { background: var(--greenback); } .made .why { color: var(--green); }
.away td.cell { background: var(--amberback); } .away .why { color: var(--amber); }
.away .was { opacity: .75; }
.here td.cell { background: var(--blueback); } .here .why { color: var(--blue); }
.kept .why { color: var(--red); }
.label.dropped { color: var(--red); background: var(--redback); }
.label.made { color: var(--green); background: var(--greenback); }
.label.away { color: var(--amber); background: var(--amberback); }
.label.here { color: var(--blue); background: var(--blueback); }
footer { margin-top: 2.5rem; color: var(--soft); font-size: .85rem; }
@media (max-width: 40rem) { .number { width: 2.2rem; } th, td { padding: .35rem .4rem; } }
"""


def page_start(names: Sequence[str]) -> str:
    """The beginning of a page.

    Args:
        names: the files that it tells of.
    """
    title = _text("Conversations of " + ", ".join("<stdin>" if n == "-" else n for n in names))
    labels = " ".join(
        f'<span class="label {_CLASSES[fate]}">{label}</span>' for fate, label in _LABELS.items()
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{title}</h1>
<p>As they were stored, and as they can be sent to a provider.</p>
<p class="legend">{labels}</p>
"""


def section(name: str, treated: Treated, options: Options) -> str:
    """One conversation.

    Args:
        name: what it is called.
        treated: the conversation, before and after.
        options: those that it was normalized with.
    """
    before, after = treated.before, treated.after
    if not treated.changed:
        count = counted(len(before), "message", "messages")
        return f"<h2>{_text(name)}</h2>\n<p>{count}, nothing to change.</p>\n"
    counts = ", ".join(counts_of(before, after))
    rows = "".join(_row(pair) for pair in align(treated, options))
    return f"""<h2>{_text(name)}</h2>
<p>{counts}. {_text(summarize(treated.records))}.</p>
<table>
<thead><tr><th class="number">#</th><th>Before</th><th>After</th></tr></thead>
<tbody>
{rows}</tbody>
</table>
"""


def page_end() -> str:
    """The end of a page."""
    return f"<footer>flowdrop-fast {__version__}</footer>\n</body>\n</html>\n"


def _row(pair: Pair) -> str:
    left = "" if pair.fate in (MADE, MOVED_HERE) else _cell(make_cell(pair.before))
    right = "" if pair.after is None else _cell(make_cell(pair.after))
    told = "".join(f'<span class="why">{_text(record.sentence)}</span>' for record in pair.records)
    number = "" if pair.source is None else str(pair.source)
    label = _LABELS.get(pair.fate, "")
    css = _CLASSES[pair.fate]
    if label:
        label = f'<span class="label {css}">{label}</span>'
    if left:
        left = f'{label}<div class="was">{left}</div>{told}'
    else:
        right = f"{label}{right}{told}"
    return (
        f'<tr class="{css}"><td class="number">{number}</td>'
        f'<td class="cell">{left}</td><td class="cell">{right}</td></tr>\n'
    )


def _cell(cell: Cell) -> str:
    calls = "".join(f'<div class="call">{_text(call)}</div>' for call in cell.calls)
    text = ""
    if len(cell.text) > FOLDED_CHARACTERS:
        start = _text(cell.text[:FOLDED_CHARACTERS])
        text = (
            f'<details><summary class="text">{start}&hellip;</summary>'
            f'<div class="text">{_text(cell.text[FOLDED_CHARACTERS:])}</div></details>'
        )
    elif cell.text:
        text = f'<div class="text">{_text(cell.text)}</div>'
    return f'<div class="role">{_text(cell.title)}</div>{text}{calls}'


def _text(text: str) -> str:
    """Escaped, with nothing in it that could turn the page's own text around."""
    lines = (printable(line.replace("\t", "    ")) for line in text.split("\n"))
    return escape("\n".join(lines))
