"""Which trajectories the page's browser holds: the same problems for every checkpoint, then corpus rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tracemill.evaluation.records import EpisodeRecord
from tracemill.report.params import ReportParams
from tracemill.report.trajectories import Entry, page_messages

CORPUS = "corpus"


def make_entries(records: Mapping[str, Sequence[EpisodeRecord]], corpus: Path, params: ReportParams) -> Iterator[Entry]:
    """Greedy episodes by problem, checkpoints in the order of `records`, then corpus rows; at most
    `params.max_trajectories`, of which every set gets as much as another.
    """
    import polars as pl

    greedy = {name: [r for r in episodes if r.sampling.temperature == 0] for name, episodes in records.items()}
    sizes = {name: len(episodes) for name, episodes in greedy.items()}
    sizes[CORPUS] = pl.scan_parquet(corpus).select(pl.len()).collect().item()
    shares = fair_shares(sizes, params.max_trajectories)
    chosen = [(name, r) for name, episodes in greedy.items() for r in first_by_hash(episodes, shares[name])]
    for name, record in sorted(chosen, key=lambda pair: pair[1].problem.problem_id):
        yield _episode_entry(name, record, params.max_message_characters)
    yield from _corpus_entries(corpus, shares[CORPUS], params.max_message_characters)


def fair_shares(sizes: Mapping[str, int], most: int) -> dict[str, int]:
    """Divide `most` among sets: no set gets more than it holds, and what it leaves goes to the larger ones."""
    shares: dict[str, int] = {}
    left = most
    for place, (name, size) in enumerate(sorted(sizes.items(), key=lambda pair: (pair[1], pair[0]))):
        shares[name] = min(size, left // (len(sizes) - place))
        left -= shares[name]
    return shares


def first_by_hash(episodes: Sequence[EpisodeRecord], most: int) -> list[EpisodeRecord]:
    """`most` episodes, of the same problems for every checkpoint and of all categories alike, in their order."""
    ordered = sorted(episodes, key=lambda r: hashlib.sha256(r.problem.problem_id.encode()).digest())
    kept = {r.key for r in ordered[:most]}
    return [r for r in episodes if r.key in kept]


def outcome_of(record: EpisodeRecord) -> str:
    """`success`, how the episode broke off, or `wrong answer` where it ended as it should."""
    if record.success:
        return "success"
    return "wrong answer" if record.outcome == "terminated" else record.outcome


def _episode_entry(checkpoint: str, record: EpisodeRecord, limit: int) -> Entry:
    facts = f"{record.steps} turns, {record.calls} calls, {record.completion_tokens} tokens generated"
    why = [f"{f['axis']}: wanted {_json(f.get('wanted'))}, found {_json(f.get('found'))}" for f in record.failures]
    if record.outcome != "terminated":
        why.insert(0, f"ended with {record.outcome}" + (f": {record.detail}" if record.detail else ""))
    return Entry(
        id=record.key,
        set=f"evaluation of {checkpoint}",
        problem=record.problem.problem_id,
        category=record.problem.category,
        query=record.problem.query,
        outcome=outcome_of(record),
        success=record.success,
        facts=facts,
        why=why if not record.success else [],
        messages=page_messages(record.messages, limit),
    )


def _corpus_entries(corpus: Path, most: int, limit: int) -> Iterator[Entry]:
    import polars as pl

    names = ("trajectory_id", "problem_id", "category", "query", "role", "success", "axis", "axis_basis", "messages")
    rows = pl.scan_parquet(corpus).select(names).head(most).collect()
    for row in rows.iter_rows(named=True):
        yield Entry(
            id=row["trajectory_id"],
            set=CORPUS,
            problem=row["problem_id"],
            category=row["category"] or "unknown",
            query=row["query"],
            outcome=f"kept as {row['role']}",
            success=row["success"],
            facts=f"axis {row['axis']} by {row['axis_basis']}",
            why=[],
            messages=page_messages(msgspec.json.decode(row["messages"]), limit),
        )


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
