"""Score a snapshot's trajectories with the production scorer; what the arena claimed is not believed.

The problem comes from the problem table, by id and query; only where that has none, from the reward that the trace
carries. Without either, `success` is null: not scored, which is not the same as failed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from tracemill.environment.grading import Grade, grade_dialogue
from tracemill.environment.problem import Problem, parse_problem
from tracemill.environment.problem_book import ProblemBook
from tracemill.environment.scorer import ProductLookup
from tracemill.environment.titles import Titles
from tracemill.errors import InputError
from tracemill.traces.dialogue import to_dialogue
from tracemill.traces.table import read_trajectories
from tracemill.traces.trajectory import Trajectory

SCORE_FIELDS = (
    "length",
    "format",
    "product",
    "gt",
    "rule",
    "title",
    "price",
    "service",
    "sku & attrs",
    "shop",
    "budget",
)
"""Production's fields, each a column; null where the category or an error leaves it out."""
SCHEMA = pa.schema(
    [
        ("trajectory_id", pa.string()),
        ("problem_id", pa.string()),
        ("category", pa.string()),
        ("gold_ids", pa.list_(pa.string())),
        ("success", pa.bool_()),
        *((field, pa.float64()) for field in SCORE_FIELDS),
        ("failures", pa.string()),
        ("error", pa.string()),
    ]
)
_ROWS = 4096
_log = logging.getLogger(__name__)


def score_table(
    trajectories: Path, problems: ProblemBook, catalog: ProductLookup, out: Path, titles: Titles | None = None
) -> dict[str, int]:
    """Write scores.parquet, one row a trajectory in their order; returns counts (scored, successes, unscored,
    errors)."""
    counts = {"scored": 0, "successes": 0, "unscored": 0, "errors": 0}
    with pq.ParquetWriter(out, SCHEMA, compression="zstd") as writer:
        rows: list[dict[str, Any]] = []
        for row in score_rows(read_trajectories(trajectories), problems, catalog, titles):
            counts["unscored" if row["success"] is None else "scored"] += 1
            counts["successes"] += bool(row["success"])
            counts["errors"] += row["success"] is not None and row["error"] is not None
            rows.append(row)
            if len(rows) == _ROWS:
                writer.write_table(pa.Table.from_pylist(rows, SCHEMA))
                rows.clear()
        writer.write_table(pa.Table.from_pylist(rows, SCHEMA))
    _log.info("scores: %s", counts)
    return counts


def score_rows(
    trajectories: Iterator[Trajectory], problems: ProblemBook, catalog: ProductLookup, titles: Titles | None = None
) -> Iterator[dict[str, Any]]:
    """Yield one row of scores for each trajectory."""
    for trajectory in trajectories:
        problem = problem_of(trajectory, problems)
        if problem is None:
            yield _row(trajectory, None, Grade("", False, None, [], "no problem with a reward is known"))
            continue
        yield _row(trajectory, problem, grade_dialogue(problem, to_dialogue(trajectory), catalog, titles))


def problem_of(trajectory: Trajectory, problems: ProblemBook) -> Problem | None:
    """The problem a trajectory is scored against; None where no reward is known."""
    problem = problems.find(trajectory.problem_id, trajectory.query)
    if problem is not None and problem.reward is not None:
        return problem
    if trajectory.reward is None:
        return None
    fields = {name: getattr(trajectory, name) for name in ("problem_id", "category", "query", "reward", "voucher")}
    try:
        return parse_problem(fields, f"line {trajectory.line}")
    except InputError:
        return None


def _row(trajectory: Trajectory, problem: Problem | None, grade: Grade) -> dict[str, Any]:
    score = grade.score or {}
    return {
        "trajectory_id": trajectory.trajectory_id,
        "problem_id": problem.problem_id if problem is not None else trajectory.problem_id,
        "category": problem.category if problem is not None else trajectory.category,
        "gold_ids": list(problem.gold_ids) if problem is not None else [],
        "success": grade.success if problem is not None else None,
        **{field: float(score[field]) if field in score else None for field in SCORE_FIELDS},
        "failures": msgspec.json.encode(grade.failures).decode(),
        "error": grade.error,
    }
