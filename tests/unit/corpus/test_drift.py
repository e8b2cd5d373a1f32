"""What the drift table says of two snapshots, the later of which brings new problems and another judge."""

import csv
import json

import polars as pl
import pytest

from tracemill.corpus.drift import Snapshot, measure_drift
from tracemill.corpus.filter import DROPPED_SCHEMA, KEPT_SCHEMA

NODES = {
    "node": ["k1", "k2", "k3", "k4"],
    "problem_ids": [["p1"], ["p2"], ["p3"], ["p4", "p5"]],
    "queries": [["q1"], ["q2"], ["q3"], ["q4"]],
}
EDGES = {"a": ["k1", "k1", "k3"], "b": ["k2", "k3", "k4"]}


@pytest.fixture
def snapshot(tmp_path):
    def write(name, problems, kept, dropped):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "summary.json").write_text(json.dumps({"snapshot_digest": f"d-{name}", "in": 10, "kept": 9}))
        queries = [f"q{name[-1]}" for name in problems]
        pl.DataFrame({"problem_id": problems, "query": queries}).write_parquet(folder / "problems.parquet")
        pl.DataFrame(kept, schema=KEPT_SCHEMA).write_parquet(folder / "kept.parquet")
        pl.DataFrame(dropped, schema=DROPPED_SCHEMA).write_parquet(folder / "dropped.parquet")
        files = (folder / file for file in ("summary.json", "problems.parquet", "kept.parquet", "dropped.parquet"))
        return Snapshot(name, *files)

    return write


def row(axis, category, success, coefficient):
    return {"axis": axis, "category": category, "success": success, "reasoning_coefficient": coefficient}


def test_each_snapshot_is_told_from_the_ones_before_it(snapshot, tmp_path):
    old = snapshot("day-1", ["p1", "p2"], [row("A", "product", True, 1.0), row("B", "shop", False, 1.0)], [])
    late = [row("A", "product", True, 0.3875), row("unknown", None, None, None)]
    dropped = [{"reason": "low_reasoning", "reasoning_coefficient": 0.3875}, {"reason": "unjudged"}]
    new = snapshot("day-2", ["p2", "p3", "p4", "p5"], late, dropped)
    nodes, edges = tmp_path / "nodes.parquet", tmp_path / "edges.parquet"
    pl.DataFrame(NODES).write_parquet(nodes)
    pl.DataFrame(EDGES).write_parquet(edges)

    measure_drift([new, old], nodes, edges, drift=tmp_path / "drift.json", plot=tmp_path / "plot.csv")
    first, second = json.loads((tmp_path / "drift.json").read_text())

    assert (first["snapshot"], first["digest"], first["lines"], first["kept"]) == ("day-1", "d-day-1", 10, 2)
    assert (first["problems"], first["new_problems"], first["links_to_older"]) == (2, 2, 0)
    # p4 and p5 are one problem; k1-k3 reaches back, k3-k4 does not
    assert (second["problems"], second["new_problems"], second["links_to_older"]) == (3, 2, 1)
    assert second["dropped"] == {"low_reasoning": 1, "unjudged": 1}
    assert second["axes"] == {"A": 1, "unknown": 1}
    assert second["categories"] == {"product": 1, "unknown": 1}
    assert second["judge_coefficients"] == {"0.388": 2}
    assert first["shares"] == {"kept": 0.2, "axis_a": 0.5, "success": 0.5, "judge_mean": 1.0}
    with (tmp_path / "plot.csv").open() as plot:
        rows = list(csv.DictReader(plot))
    assert [(r["snapshot"], r["axis_a"], r["new_problems"], r["links_to_older"]) for r in rows] == [
        ("day-1", "0.5", "2", "0"),
        ("day-2", "0.5", "2", "1"),
    ]


def test_problems_that_the_source_does_not_name_are_told_by_their_query(snapshot, tmp_path):
    nodes, edges = tmp_path / "nodes.parquet", tmp_path / "edges.parquet"
    pl.DataFrame(NODES).write_parquet(nodes)
    pl.DataFrame(EDGES).write_parquet(edges)
    old, new = snapshot("day-1", ["p1"], [], []), snapshot("day-2", ["query-1", "query-2"], [], [])
    measure_drift([old, new], nodes, edges, drift=tmp_path / "drift.json", plot=tmp_path / "plot.csv")
    _, second = json.loads((tmp_path / "drift.json").read_text())
    assert (second["problems"], second["new_problems"]) == (2, 1)
