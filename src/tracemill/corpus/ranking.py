"""Duplicates, ranking and the cap: which rows of one problem are worth training on.

All decisions are made inside one problem (leak-guard key), in rank order, so the outcome does not depend on the order
of snapshots or rows. A row gets a role: `sft`, `undesirable` (unsuccessful, kept for preference training), or the
reason why its messages are left behind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from rapidfuzz.distance import Indel

from tracemill.corpus.params import AxisParams, DedupParams, RankingParams

SFT = "sft"
UNDESIRABLE = "undesirable"
LEFT_BEHIND = ("exact_duplicate", "near_duplicate", "axis_b", "axis_unknown", "unscored", "over_cap")

RANKED = (
    *("trajectory_id", "snapshot_digest", "line", "problem_key", "success", "axis", "axis_evidence"),
    *("verified_recommendation", "repeated_calls", "think_and_call_turns", "distinct_queries"),
    *("action_signature", "thoughts"),
)
"""Columns of corpus.filter.KEPT_SCHEMA that the roles depend on."""


class Role(msgspec.Struct, frozen=True):
    """What becomes of a row; `detail` names the row that it repeats, or the cap it fell under."""

    role: str
    detail: str
    rank: int
    """Position among the rows of the problem, best first, from 0."""


def rank_key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Sort key of the structural ranking, best first: verified, regular, deeper, more reformulations; then a fixed
    order."""
    return (
        not row["verified_recommendation"],
        row["repeated_calls"] > 0,
        -row["think_and_call_turns"],
        -row["distinct_queries"],
        row["trajectory_id"],
        row["snapshot_digest"],
        row["line"],
    )


def assign_roles(
    rows: Sequence[Mapping[str, Any]], axis: AxisParams, dedup: DedupParams, ranking: RankingParams
) -> list[Role]:
    """Return the role of each row, in the order of `rows` (columns: RANKED). `thoughts` is looked at only where two
    rows of a problem have one `action_signature`.
    """
    by_problem: dict[str, list[int]] = defaultdict(list)
    for position, row in enumerate(rows):
        by_problem[row["problem_key"]].append(position)
    roles: dict[int, Role] = {}
    for positions in by_problem.values():
        ordered = sorted(positions, key=lambda position: rank_key(rows[position]))
        roles.update(zip(ordered, _assign_within(ordered, rows, axis, dedup, ranking), strict=True))
    return [roles[position] for position in range(len(rows))]


def _assign_within(
    ordered: Iterable[int],
    rows: Sequence[Mapping[str, Any]],
    axis: AxisParams,
    dedup: DedupParams,
    ranking: RankingParams,
) -> Iterable[Role]:
    seen: set[str] = set()
    chosen: dict[str, list[Mapping[str, Any]]] = {SFT: [], UNDESIRABLE: []}
    caps = {SFT: ranking.cap_per_problem, UNDESIRABLE: ranking.cap_undesirable_per_problem}
    for rank, position in enumerate(ordered):
        row = rows[position]
        if row["trajectory_id"] in seen:
            yield Role("exact_duplicate", f"equal to {row['trajectory_id']}", rank)
            continue
        seen.add(row["trajectory_id"])
        barred = _barred(row, axis)
        if barred is not None:
            yield Role(barred, row["axis_evidence"], rank)
            continue
        role = SFT if row["success"] else UNDESIRABLE
        if len(chosen[role]) >= caps[role]:
            yield Role("over_cap", f"{caps[role]} better {role} rows of this problem", rank)
            continue
        twin = _find_near(row, chosen[role], dedup)
        if twin is not None:
            yield Role("near_duplicate", twin, rank)
            continue
        chosen[role].append(row)
        yield Role(role, "", rank)


def _barred(row: Mapping[str, Any], axis: AxisParams) -> str | None:
    if row["axis"] == "B":
        return "axis_b"
    if row["axis"] == "unknown" and not axis.admit_unknown:
        return "axis_unknown"
    return "unscored" if row["success"] is None else None


def _find_near(row: Mapping[str, Any], chosen: Sequence[Mapping[str, Any]], dedup: DedupParams) -> str | None:
    for other in chosen:
        if row["action_signature"] != other["action_signature"]:
            continue
        similarity = Indel.normalized_similarity(row["thoughts"], other["thoughts"])
        if similarity >= dedup.near_similarity:
            return f"same calls as {other['trajectory_id']}, thoughts {similarity:.3f} alike"
    return None
