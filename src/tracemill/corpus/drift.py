"""How the snapshots differ: yield, axes, categories, new problems, links to what came before, the judge's scores.

A reader sees here when the arena changes its problems, or when miners learn to please the judge. Snapshots stand in the
order of their names, which carry the day.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

PLOT_COLUMNS = ("snapshot", "kept", "axis_a", "success", "judge_mean", "new_problems", "links_to_older")


class Snapshot(msgspec.Struct, frozen=True):
    """The files of one snapshot."""

    name: str
    traces_summary: Path
    problems: Path
    kept: Path
    dropped: Path


def measure_drift(snapshots: Sequence[Snapshot], nodes: Path, edges: Path, *, drift: Path, plot: Path) -> None:
    """Write one record for each snapshot as JSON, and the shares among them as CSV for `dvc plots`."""
    keys_of, keys_asked = _keys_by_problem(nodes)
    links = list(pl.read_parquet(edges, columns=["a", "b"]).iter_rows())
    older: set[str] = set()
    records = []
    for snapshot in sorted(snapshots, key=lambda s: s.name):
        told = pl.read_parquet(snapshot.problems, columns=["problem_id", "query"]).rows()
        # the graph may know a problem under the problem table's id alone, where the source gives none
        seen = {key for problem_id, query in told for key in keys_of.get(problem_id) or keys_asked.get(query, [])}
        records.append(_describe(snapshot, seen, older, links))
        older |= seen
    drift.write_bytes(msgspec.json.format(msgspec.json.encode(records)) + b"\n")
    with plot.open("w", newline="", encoding="utf-8") as out:
        table = csv.DictWriter(out, PLOT_COLUMNS, extrasaction="ignore", lineterminator="\n")
        table.writeheader()
        table.writerows({**r, **r["shares"]} for r in records)


def _keys_by_problem(nodes: Path) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Node keys by problem id, and by query."""
    by_id: dict[str, list[str]] = {}
    by_query: dict[str, list[str]] = {}
    for key, problem_ids, queries in pl.read_parquet(nodes, columns=["node", "problem_ids", "queries"]).iter_rows():
        for problem_id in problem_ids:
            by_id.setdefault(problem_id, []).append(key)
        for query in queries:
            by_query.setdefault(query, []).append(key)
    return by_id, by_query


def _describe(snapshot: Snapshot, seen: set[str], older: set[str], links: Iterable[tuple[str, str]]) -> dict[str, Any]:
    kept, dropped = pl.read_parquet(snapshot.kept), pl.read_parquet(snapshot.dropped)
    traces = msgspec.json.decode(snapshot.traces_summary.read_bytes())
    new = seen - older
    judged = pl.concat([kept["reasoning_coefficient"], dropped["reasoning_coefficient"]]).drop_nulls()
    coefficients = Counter(f"{value:.3f}" for value in judged)
    return {
        "snapshot": snapshot.name,
        "digest": traces["snapshot_digest"],
        "lines": traces["in"],
        "normalised": traces["kept"],
        "kept": kept.height,
        "dropped": dict(sorted(Counter(dropped["reason"]).items())),
        "axes": dict(sorted(Counter(kept["axis"]).items())),
        "categories": dict(sorted(Counter(c or "unknown" for c in kept["category"]).items())),
        "problems": len(seen),
        "new_problems": len(new),
        "links_to_older": sum((a in new and b in older) or (b in new and a in older) for a, b in links),
        "judge_coefficients": dict(sorted(coefficients.items())),
        "shares": _shares(kept, traces["in"], judged),
    }


def _shares(kept: pl.DataFrame, lines: int, judged: pl.Series) -> Mapping[str, float | None]:
    def share(hits: int, n: int) -> float | None:
        return round(hits / n, 6) if n else None

    mean = judged.mean()
    return {
        "kept": share(kept.height, lines),
        "axis_a": share(int((kept["axis"] == "A").sum()), kept.height),
        "success": share(int(kept["success"].fill_null(False).sum()), kept.height),
        "judge_mean": round(float(mean), 6) if isinstance(mean, float) else None,
    }
