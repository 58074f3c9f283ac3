"""The benchmarks measure what they say: histories, hostile shapes, the table, the checker.

No time is asserted anywhere. The programs run once each, very small, in a process of their own.
"""

from __future__ import annotations

import gzip
import json
import lzma
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flowdrop_fast import _pure

ROOT = Path(__file__).parent.parent
# At the end: an installed flowdrop_fast, rather than the clone's, is the one to test.
sys.path.append(str(ROOT))

from benchmarks import histories, instructions, measuring, options, peers, ratios  # noqa: E402


def explained(data: bytes) -> Any:
    return _pure.explain_conversation(histories.decode(data))


# --- the generator ------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", histories.SHAPES)
@pytest.mark.parametrize("n", [1, 2, 3, 10, 1_000])
def test_clean_history_has_its_size_and_no_faults(n: int, shape: str) -> None:
    data = histories.encoded(n, shape)
    messages, dropped, records = explained(data)
    assert (len(histories.decode(data)), len(messages)) == (n, n)
    assert (dropped, records) == (0, [])


def test_flat_history_is_what_normalization_gives() -> None:
    data = histories.encoded(200, "flat")
    assert explained(data).messages == histories.decode(data)


def test_messages_and_results_have_the_sizes_that_are_promised() -> None:
    data = histories.encoded(1_000)
    rows = histories.decode(data)
    assert 1_250 < len(data) / len(rows) < 1_450
    lengths = [len(row["content"]) for row in rows if row["role"] == "tool"]
    assert 200 <= min(lengths) < 400
    assert 3_800 < max(lengths) <= 4_000
    assert {len(row["tool_calls"]) for row in rows if "tool_calls" in row} == {1, 2, 3}


def test_same_arguments_give_the_same_bytes_and_another_seed_does_not() -> None:
    arguments: dict[str, Any] = {"messages": 100, "shape": "stored", "broken": 0.05}
    assert histories.encoded(**arguments) == histories.encoded(**arguments)
    assert histories.encoded(**arguments) != histories.encoded(**arguments, seed=1)


def test_fresh_lists_share_no_ids_but_share_keys() -> None:
    first, second = histories.fresh(histories.encoded(100), 2)
    results = [row for row in first if row["role"] == "tool"]
    ids = {id(row["tool_call_id"]) for row in (*results, *second) if row["role"] == "tool"}
    assert len(ids) == 2 * len(results)
    assert len({id(key) for row in results for key in row}) == 3


@pytest.mark.parametrize("kind", histories.FAULTS)
def test_each_fault_is_named_after_what_it_causes(kind: str) -> None:
    records = explained(histories.encoded(1_000, broken=0.05, faults=(kind,))).records
    assert 50 <= sum(record.kind == kind for record in records) <= 150


@pytest.mark.parametrize("shape", histories.SHAPES)
def test_broken_history_mixes_every_fault_at_five_in_a_hundred(shape: str) -> None:
    data = histories.encoded(1_000, shape, broken=0.05)
    records = explained(data).records
    assert {record.kind for record in records} == set(histories.FAULTS)
    # Some faults cause two records or three: a call, its turn and its result.
    assert 50 <= len(records) <= 150
    assert 950 <= len(histories.decode(data)) <= 1_050


@pytest.mark.parametrize("broken", [0.0, 0.05])
def test_shapes_tell_one_story(broken: float) -> None:
    flat, stored, provider = (
        explained(histories.encoded(400, shape, broken=broken)) for shape in histories.SHAPES
    )
    assert stored == flat
    assert provider.records == flat.records
    assert [m["content"] for m in provider.messages] == [m["content"] for m in flat.messages]


def test_unknown_shape_and_unknown_fault_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown shape 'round'"):
        histories.encoded(10, "round")
    with pytest.raises(ValueError, match="unknown faults: typo"):
        histories.encoded(10, broken=0.5, faults=("typo",))


HOSTILE = {
    # rows in, dropped, rows out; for n = 40
    "one turn, n calls answered": (41, 0, 41),
    "one turn, n calls unanswered": (1, 0, 41),
    "one turn, n calls answered in reverse": (41, 0, 41),
    "one turn, n calls, a user before each result": (41, 0, 41),
    "n orphans": (40, 40, 0),
    "n results before their turn": (41, 40, 41),
    "n equal ids in one turn": (1, 39, 2),
    "n equal ids, a turn each": (40, 3 * 19, 2),
    "n user rows": (40, 0, 40),
    "n system and user rows, alternating": (40, 0, 40),
    "n placeholders of one call": (42, 40, 2),
    "n placeholders, then results": (41, 20, 21),
}


def test_every_hostile_shape_is_expected_below() -> None:
    assert list(HOSTILE) == list(histories.HOSTILE)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_shape_is_what_it_says(name: str) -> None:
    data = histories.hostile(name, 40)
    messages, dropped, _ = explained(data)
    assert (len(histories.decode(data)), dropped, len(messages)) == HOSTILE[name]


# --- real runs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".jsonl.xz"])
def test_real_runs_are_read_plain_or_packed(tmp_path: Path, suffix: str) -> None:
    message = {"role": "user", "content": "grüezi"}
    text = f"{json.dumps({'id': 1, 'messages': [message]})}\n\n{json.dumps([message] * 2)}\n"
    path = tmp_path / f"runs{suffix}"
    packed = {
        ".jsonl": text.encode(),
        ".jsonl.gz": gzip.compress(text.encode()),
        ".jsonl.xz": lzma.compress(text.encode()),
    }
    path.write_bytes(packed[suffix])
    assert [histories.decode(run) for run in histories.real(path)] == [[message], [message] * 2]


def test_real_runs_without_messages_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text('[]\n{"rows": []}\n')
    with pytest.raises(ValueError, match=r"runs\.jsonl, line 2: no list of messages"):
        histories.real(path)


# --- ratios -------------------------------------------------------------------------------------


def test_ratio_is_the_median_of_per_round_ratios() -> None:
    rounds = measuring.Rounds({"ours": [2.0, 30.0, 4.0], "theirs": [1.0, 10.0, 4.0]})
    assert rounds.ratio("ours", "theirs") == measuring.Ratio(2.0, 1.5, 2.5)


@pytest.mark.parametrize("freshly", [True, False])
def test_fresh_runs_get_an_input_each_and_a_warm_region_shares_one(freshly: bool) -> None:
    seen: list[list[int]] = []
    contender = measuring.Contender(
        "ours", "see(messages)", lambda: [0], size=1_000, names={"see": seen.append}
    )
    rounds = measuring.interleave([contender], 5, freshly=freshly)
    assert len(rounds.seconds["ours"]) == 5
    inputs = len({id(messages) for messages in seen})
    if freshly:
        assert inputs == len(seen)
        assert len(seen) <= 1 + 2 + 4 + 5 * 4  # four thousand messages a region at most
    else:
        assert 5 < inputs < len(seen) / 2


@pytest.mark.parametrize(
    ("figure", "verdict"),
    [
        (ratios.Figure(measuring.Ratio(1.0, 1, 1), measuring.Ratio(1.1, 1, 2)), "pass"),
        (ratios.Figure(measuring.Ratio(1.0, 1, 1), measuring.Ratio(1.2, 1, 2)), "miss (fresh)"),
        (ratios.Figure(measuring.Ratio(1.2, 1, 2)), "miss (warm)"),
        (ratios.Figure(why_not="litellm: not installed"), "not measured"),
    ],
)
def test_goal_is_met_when_all_that_was_measured_is_within_it(
    figure: ratios.Figure, verdict: str
) -> None:
    assert figure.verdict(1.1) == verdict
    assert figure.verdict(None) == ""


@pytest.mark.parametrize(("median", "code"), [(0.0001, 0), (1e9, 1)])
def test_check_fails_on_a_missed_goal_and_only_when_asked(
    monkeypatch: pytest.MonkeyPatch, median: float, code: int
) -> None:
    figure = ratios.Figure(measuring.Ratio(median, median, median))
    run = ratios.Run({goal.key: figure for goal in ratios.GOALS}, {}, {"warm": {}, "fresh": {}})
    monkeypatch.setattr(ratios, "measure", lambda *_: run)
    assert ratios.main(["--check"]) == code
    assert ratios.main([]) == 0
    del run.figures["text"]
    assert ratios.main(["--check"]) == 1


def program(directory: Path, name: str, *arguments: str) -> str:
    """Run ``python -m benchmarks.NAME`` with the flowdrop_fast that is tested here."""
    source = f"import sys; sys.path.append({str(ROOT)!r}); from benchmarks.{name} import main"
    done = subprocess.run(
        [sys.executable, "-c", f"{source}; sys.exit(main())", *arguments],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def needs_both_backends(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--backend", default=None) == "pure":
        pytest.skip("ratios of two backends, and this run was asked to have one")


def test_ratios_print_and_save_every_row_of_the_table(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    needs_both_backends(request)
    small = ["--messages", "40", "--large", "80", "--rounds", "2", "--large-rounds", "2"]
    printed = program(tmp_path, "ratios", *small, "--no-peers", "--json", "run.json")
    assert printed.startswith(measuring.described_machine()["python"])
    lines = printed.splitlines()
    saved = json.loads((tmp_path / "run.json").read_text())
    assert [goal["key"] for goal in saved["goals"]] == [goal.key for goal in ratios.GOALS]
    for goal, kept in zip(ratios.GOALS, saved["goals"], strict=True):
        (line,) = [line for line in lines if line.startswith(f"{goal.text}  ")]
        if kept["why_not"]:
            assert goal.key == "instructions" or "litellm" in goal.key or "decode" in goal.key
            assert f"not measured: {kept['why_not']}" in line
        else:
            assert line.endswith(kept["verdict"])
            assert kept["warm"]["median"] > 0 or goal.key == "small"


# --- peers and instructions ---------------------------------------------------------------------


def turn(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": [{"id": id_} for id_ in ids]}


def result(id_: str) -> dict[str, Any]:
    return {"role": "tool", "content": "done", "tool_call_id": id_}


USER = {"role": "user", "content": "hello"}


@pytest.mark.parametrize(
    ("rows", "broken"),
    [
        ([USER, turn("a", "b"), result("b"), result("a"), USER], {}),
        ([turn("a", "b"), result("b")], {"unanswered": 1}),
        ([turn("a"), USER, result("a")], {"unanswered": 1, "stray": 1}),
        ([result("a"), turn("a"), result("a")], {"stray": 1}),
        ([turn("a"), result("a"), result("a")], {"repeated": 1}),
        ([turn("a"), result("a"), turn("a"), result("a")], {"reused": 1}),
    ],
)
def test_checker_counts_what_is_left_broken(
    rows: list[dict[str, Any]], broken: dict[str, int]
) -> None:
    assert peers.left_broken(rows) == broken


def test_checker_finds_the_pairing_faults_and_none_after_normalization() -> None:
    data = histories.encoded(1_000, "provider", broken=0.05, faults=histories.PAIRING_FAULTS)
    assert set(peers.left_broken(histories.decode(data))) == set(peers.BROKEN_KINDS)
    assert peers.left_broken(explained(data).messages) == {}


def test_instruction_table_is_replaced_for_one_interpreter_only() -> None:
    first = instructions.updated("", "## Python B", "old")
    both = instructions.updated(first, "## Python A", "other")
    assert both.index("## Python A") < both.index("## Python B")
    again = instructions.updated(both, "## Python B", "new")
    assert again == both.replace("old", "new")


def test_a_history_of_one_id_is_clean_but_for_that() -> None:
    rows = options.one_id_for_all(60)
    calls = [call for row in rows for call in row.get("tool_calls", ())]
    assert len(calls) > 10
    assert {call.get("tool_call_id", call.get("id")) for call in calls} == {"call"}
    assert _pure.normalize_conversation(rows).dropped > len(calls)
    rescued = _pure.normalize_conversation(rows, ids="rescue")
    assert (len(rescued.messages), rescued.dropped) == (len(rows), 0)


def test_the_table_of_costs_has_a_row_for_every_option(request: pytest.FixtureRequest) -> None:
    needs_both_backends(request)
    lines = options.table(messages=20, rounds=2).splitlines()
    assert len(lines) == 2 + len(options.OPTIONS) + 1
    for option, line in zip(options.OPTIONS, lines[2:], strict=False):
        assert line.startswith(f"| `{option}` | ")
        assert all(float(cell) > 0 for cell in line.split(" | ")[1:4])
