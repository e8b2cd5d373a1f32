"""The page's browser holds the same problems for every checkpoint, however few."""

import msgspec
import polars as pl
from test_metrics import record

from tracemill.report.entries import fair_shares, first_by_hash, make_entries, outcome_of
from tracemill.report.params import ReportParams

PARAMS = ReportParams(title="t", max_trajectories=5, max_message_characters=400, evidence_examples=0)


def test_what_a_small_set_leaves_goes_to_the_larger_ones():
    assert fair_shares({"a": 10, "b": 2, "c": 10}, 12) == {"b": 2, "a": 5, "c": 5}
    assert fair_shares({"a": 1, "b": 2}, 12) == {"a": 1, "b": 2}
    assert fair_shares({"a": 9, "b": 9}, 0) == {"a": 0, "b": 0}


def test_checkpoints_show_the_same_problems_in_their_order():
    names = [f"problem-{n}" for n in range(40)]
    chosen = [r.problem.problem_id for r in first_by_hash([record(name, True) for name in names], 6)]

    assert chosen == [r.problem.problem_id for r in first_by_hash([record(name, False) for name in names], 6)]
    assert chosen == sorted(chosen, key=names.index)
    assert chosen != names[:6]


def test_a_failure_is_told_by_how_it_ended_or_by_its_wrong_answer():
    assert outcome_of(record("a", True)) == "success"
    assert outcome_of(record("a", False)) == "wrong answer"
    assert outcome_of(record("a", False, outcome="truncated")) == "truncated"


def test_episodes_come_by_problem_and_corpus_rows_after_them(tmp_path):
    row = {"trajectory_id": "t1", "problem_id": "a", "category": None, "query": "q", "role": "sft", "success": True}
    row |= {"axis": "a", "axis_basis": "logged", "messages": msgspec.json.encode([{"role": "user"}]).decode()}
    pl.DataFrame([row, row | {"trajectory_id": "t2"}]).write_parquet(tmp_path / "corpus.parquet")
    base = [record("b", False, outcome="truncated", detail="96 tokens"), record("a", False)]
    records = {"base": [*base, record("a", True, sample=1, temperature=0.9)], "sft": [record("a", True)]}
    entries = list(make_entries(records, tmp_path / "corpus.parquet", PARAMS))

    assert [(e.set, e.problem) for e in entries] == [
        ("evaluation of base", "a"),
        ("evaluation of sft", "a"),
        ("evaluation of base", "b"),
        ("corpus", "a"),
        ("corpus", "a"),
    ]
    assert entries[0].why == ["price: wanted 1, found 2"]
    assert entries[2].why[0] == "ended with truncated: 96 tokens"
    assert (entries[3].category, entries[3].outcome) == ("unknown", "kept as sft")
