"""One snapshot through the row gates and the axis split (per snapshot: a new snapshot never re-reads an old one).

Reads the trajectory table in batches, skips tool results, and writes two light tables without messages: the rows kept,
with axis, outcome and measures; and the rows dropped, with gate, reason and detail. Messages stay where they are until
the corpus is assembled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pyarrow as pa

from tracemill.corpus.axis import decide_axis
from tracemill.corpus.gates import REASONS, Facts, ask_gates
from tracemill.corpus.measures import measure, supported_turns
from tracemill.corpus.params import AxisParams, GateParams
from tracemill.leakage.nodes import problem_key
from tracemill.traces.batches import read_batches

BATCH_ROWS = 512
PROVENANCE = ("trajectory_id", "snapshot_digest", "line", "miner", "agent_version")
KEPT_SCHEMA: dict[str, Any] = {
    "trajectory_id": pl.String,
    "snapshot_digest": pl.String,
    "line": pl.Int64,
    "miner": pl.String,
    "agent_version": pl.String,
    "problem_id": pl.String,
    "problem_key": pl.String,
    "category": pl.String,
    "query": pl.String,
    "gold_ids": pl.List(pl.String),
    "recommended_ids": pl.List(pl.String),
    "reasoning_coefficient": pl.Float64,
    "success": pl.Boolean,
    "axis": pl.String,
    "axis_basis": pl.String,
    "axis_evidence": pl.String,
    "think_and_call_turns": pl.Int64,
    "distinct_queries": pl.Int64,
    "verified_recommendation": pl.Boolean,
    "repeated_calls": pl.Int64,
    "action_signature": pl.String,
    "thoughts": pl.String,
}
DROPPED_SCHEMA: dict[str, Any] = {
    "trajectory_id": pl.String,
    "snapshot_digest": pl.String,
    "line": pl.Int64,
    "miner": pl.String,
    "agent_version": pl.String,
    "problem_id": pl.String,
    "reasoning_coefficient": pl.Float64,
    "gate": pl.String,
    "reason": pl.String,
    "detail": pl.String,
}
_SCORED = ["category", "gold_ids", "success"]
_READ = (
    *PROVENANCE,
    *("problem_id", "query", "messages", "turns"),
    *("reasoning_coefficient", "has_proxy_log", "distinct_queries", "verified_recommendation", "repeated_calls"),
    *("recommended_ids", "recommend_count", "unpaired", "unparsable", "terminated"),
)


def filter_snapshot(
    trajectories: Path, scores: Path, *, kept: Path, dropped: Path, summary: Path, gates: GateParams, axis: AxisParams
) -> None:
    """Write the kept and dropped rows of one snapshot, and `summary` with counts by gate, reason, axis and agent."""
    kept_rows: list[dict[str, Any]] = []
    dropped_rows: list[dict[str, Any]] = []
    # row by row: two rows of one content may be scored against two problems
    for row, scored in zip(_rows(trajectories), _scores(scores), strict=True):
        measures = measure(row["messages"])
        reject = ask_gates(Facts(row, measures, len(row["messages"])), gates)
        if reject is not None:
            where = {name: row[name] for name in (*PROVENANCE, "problem_id", "reasoning_coefficient")}
            dropped_rows.append({**where, "gate": reject.gate, "reason": reject.reason, "detail": reject.detail})
            continue
        supported = (
            supported_turns(row["turns"], measures.acts, axis.min_completion_tokens) if row["has_proxy_log"] else None
        )
        verdict = decide_axis(measures, supported, axis)
        kept_rows.append(
            {
                **{name: row[name] for name in KEPT_SCHEMA if name in row},
                **scored,
                "problem_key": problem_key(row["query"], scored["gold_ids"]),
                "axis": verdict.axis,
                "axis_basis": verdict.basis,
                "axis_evidence": verdict.evidence,
                "think_and_call_turns": measures.think_and_call_turns,
                "action_signature": measures.action_signature,
                "thoughts": measures.thoughts,
            }
        )
    pl.DataFrame(kept_rows, schema=KEPT_SCHEMA).write_parquet(kept)
    pl.DataFrame(dropped_rows, schema=DROPPED_SCHEMA).write_parquet(dropped)
    summary.write_bytes(
        msgspec.json.format(msgspec.json.encode(summarise(kept_rows, dropped_rows), order="sorted")) + b"\n"
    )


def _rows(trajectories: Path) -> Iterator[Mapping[str, Any]]:
    """The rows, messages as UTF-8: the budget is one of bytes, and results are never made into text."""
    for batch in read_batches(trajectories, BATCH_ROWS, _READ):
        place = batch.schema.get_field_index("messages")
        yield from batch.set_column(place, "messages", batch.column(place).cast(pa.binary())).to_pylist()


def _scores(scores: Path) -> Iterator[dict[str, Any]]:
    """What was scored, in the order of the trajectories."""
    yield from pl.read_parquet(scores, columns=_SCORED).iter_rows(named=True)


def summarise(kept: list[dict[str, Any]], dropped: list[dict[str, Any]]) -> dict[str, Any]:
    """Counts of one snapshot: rows in and kept, drops by gate and reason (zeros included), axes, outcomes, agents."""
    reasons = Counter(row["reason"] for row in dropped)
    agents = Counter((row["agent_version"] or "unknown", "in") for row in kept + dropped)
    agents.update((row["agent_version"] or "unknown", "kept") for row in kept)
    return {
        "in": len(kept) + len(dropped),
        "kept": len(kept),
        "dropped": {reason: reasons[reason] for reason in REASONS},
        "axis": {
            f"{axis} ({basis})": n for (axis, basis), n in Counter((r["axis"], r["axis_basis"]) for r in kept).items()
        },
        "success": dict(Counter({True: "yes", False: "no", None: "unscored"}[row["success"]] for row in kept)),
        "agents": {f"{agent} {what}": n for (agent, what), n in agents.items()},
    }
