"""Every kind of damaged line has the answer written beside it in damaged.json."""

import json
from pathlib import Path

import polars as pl
import pytest

from tracemill.corpus.gates import Facts, ask_gates
from tracemill.corpus.measures import measure
from tracemill.corpus.params import GateParams
from tracemill.traces.params import NormaliseParams
from tracemill.traces.snapshot import normalise_snapshot
from tracemill.traces.table import read_trajectories

DATA = Path(__file__).parents[2] / "data"
ANSWERS = {
    2: "bad_json",
    3: "bad_json",
    7: "bad_utf8",
    8: "bad_json",
    9: "bad_json",
    10: "bad_json",
    11: "bad_json",
    12: "bad_json",
    13: "number_outside_json",
    14: "number_outside_json",
    15: "bad_shape",
    16: "bad_shape",
    17: "bad_shape",
    18: "status_failed",
    19: "status_timed_out",
    20: "empty",
    21: "empty",
    22: "unknown_status",
    23: "unknown_status",
    24: "bad_shape",
    25: "bad_shape",
    26: "bad_shape",
    27: "bad_shape",
    28: "bad_shape",
    29: "bad_shape",
    32: "bad_shape",
    33: "bad_shape",
}
BLANK = {4, 5}
FOR_THE_GATES = {36: "unpaired", 37: "recommended twice", 38: "never recommended"}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("damaged")
    paths = {name: folder / f"{name}.parquet" for name in ("trajectories", "rejects", "problems")}
    params = NormaliseParams(max_line_megabytes=1.0, max_inflation=100.0, max_broken_share=1.0)
    summary = normalise_snapshot(DATA / "damaged.jsonl", **paths, summary=folder / "summary.json", params=params)
    return paths, summary


def test_our_answers_agree_with_the_file_of_answers():
    for case in json.loads((DATA / "damaged.json").read_text()):
        line, right = case["line"], case["right"]
        if right == "skip":
            assert line in BLANK, case
        elif right.startswith("keep"):
            assert line not in ANSWERS.keys() | BLANK | FOR_THE_GATES.keys(), case
        else:
            assert line in ANSWERS.keys() | FOR_THE_GATES.keys(), case
            named = (
                right.removeprefix("reject").removeprefix(": ").replace("number outside JSON", "number_outside_json")
            )
            if named in {"bad_json", "bad_utf8", "bad_shape", "empty", "number_outside_json"}:
                assert ANSWERS[line] == named, case


def test_every_damaged_line_is_rejected_for_its_reason(tables):
    paths, _ = tables
    found = pl.read_parquet(paths["rejects"])
    assert dict(found.select("line", "reason").iter_rows()) == ANSWERS
    assert found.columns == ["line", "byte", "reason", "detail", "raw"]


def test_all_other_lines_are_kept_in_order(tables):
    paths, _ = tables
    kept = pl.read_parquet(paths["trajectories"])["line"].to_list()
    assert kept == [n for n in range(1, 42) if n not in ANSWERS.keys() | BLANK]


def test_raw_and_byte_show_the_line_as_found(tables):
    paths, _ = tables
    whole = (DATA / "damaged.jsonl").read_bytes()
    for row in pl.read_parquet(paths["rejects"]).iter_rows(named=True):
        assert len(row["raw"]) <= 4096
        assert whole[row["byte"] :].startswith(row["raw"])


def test_what_concerns_the_conversation_is_left_to_the_gates_with_its_evidence(tables):
    paths, _ = tables
    rows = {t.line: t for t in read_trajectories(paths["trajectories"])}
    assert rows[36].unpaired == "step 1, call 1: find_product"
    assert rows[37].recommend_count == 2
    assert rows[38].recommend_count == 0
    assert [rows[n].recommend_count for n in (1, 6, 30, 31, 34, 35, 39, 40, 41)] == [1] * 9
    assert all(rows[n].unpaired is None for n in (1, 6, 30, 31, 34, 35, 39, 40, 41))


def test_null_means_absent_and_repeated_ids_pair_by_position(tables):
    paths, _ = tables
    rows = {t.line: t for t in read_trajectories(paths["trajectories"])}
    assert "reasoning_content" not in rows[30].messages[1]
    assert "tool_calls" not in rows[31].messages[1]
    calls = rows[35].messages[1]["tool_calls"]
    assert [call["id"] for call in calls] == ["call_0", "call_1"]
    assert [m["tool_call_id"] for m in rows[35].messages[2:4]] == ["call_0", "call_1"]
    assert rows[40].turns[0].timestamp == "1750000000000"
    assert rows[34].trajectory_id == rows[1].trajectory_id == rows[6].trajectory_id == rows[41].trajectory_id


def test_failed_episodes_are_counted_by_status_and_their_problem_is_still_seen(tables):
    paths, summary = tables
    assert summary["status"] == {"FAILED": 1, "SUCCESS": 12, "TIMED_OUT": 1}
    assert summary["in"] == 39
    problems = pl.read_parquet(paths["problems"])
    assert "00000001-0000-4000-8000-9cfb7687a66e" in problems["problem_id"].to_list()


def test_the_gates_reject_what_concerns_the_conversation_and_nothing_else(tables):
    paths, _ = tables
    params = GateParams(min_reasoning_coefficient=0.0, unjudged="keep", token_budget=14336, bytes_per_token=3.0)
    verdicts = {}
    for row in pl.read_parquet(paths["trajectories"]).iter_rows(named=True):
        reject = ask_gates(Facts(row, measure(row["messages"]), len(row["messages"])), params)
        verdicts[row["line"]] = reject and reject.reason
    assert {line: reason for line, reason in verdicts.items() if reason} == {
        36: "unpaired_call",
        37: "recommend_count",
        38: "recommend_count",
    }
