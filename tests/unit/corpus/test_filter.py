"""Rows keep their own scores."""

import polars as pl

from trace_episodes import as_envelope, example, line
from tracemill.corpus.filter import filter_snapshot
from tracemill.corpus.params import AxisParams, GateParams
from tracemill.environment.grading import ProductTable
from tracemill.environment.problem_book import ProblemBook
from tracemill.traces.params import NormaliseParams
from tracemill.traces.score import score_table
from tracemill.traces.snapshot import normalise_snapshot

GATES = GateParams(min_reasoning_coefficient=0.0, unjudged="keep", token_budget=10_000, bytes_per_token=3.0)
AXIS = AxisParams(min_completion_tokens=30, min_supported_share=1.0, max_think_template_share=0.5, admit_unknown=True)


def test_equal_episodes_of_two_problems_are_each_scored_against_their_own(tmp_path):
    raw, trajectories, scores = (tmp_path / name for name in ("raw", "trajectories.parquet", "scores.parquet"))
    wanted = [{"product_id": "11"}, {"product_id": "12"}]
    raw.write_bytes(b"".join(line(as_envelope(example(), reward=reward)) for reward in wanted))
    outputs = {name: tmp_path / name for name in ("rejects", "problems", "summary")}
    limits = NormaliseParams(max_line_megabytes=1.0, max_inflation=100.0, max_broken_share=1.0)
    normalise_snapshot(raw, trajectories=trajectories, **outputs, params=limits)
    lamp = {"product_id": "11", "title": "lamp", "price": 5.0, "shop_id": "s", "service": []}
    score_table(trajectories, ProblemBook([]), ProductTable([lamp]), scores)
    kept = tmp_path / "kept.parquet"
    rest = {name: tmp_path / f"filter-{name}" for name in ("dropped", "summary")}
    filter_snapshot(trajectories, scores, kept=kept, **rest, gates=GATES, axis=AXIS)

    rows = pl.read_parquet(kept)
    assert rows["trajectory_id"].n_unique() == 1
    assert rows["problem_key"].n_unique() == 2
    assert [(row["gold_ids"], row["success"]) for row in rows.to_dicts()] == [(["11"], True), (["12"], False)]
