"""One snapshot from its raw file to its four outputs."""

from __future__ import annotations

import json
import logging
from collections import Counter
from pathlib import Path
from typing import Any

from tracemill.errors import InputError
from tracemill.traces.digest import file_digest
from tracemill.traces.normalise import Normalised, read_snapshot
from tracemill.traces.params import NormaliseParams
from tracemill.traces.problems import ProblemTable, find_problem
from tracemill.traces.rejects import BROKEN, REASONS, Reject
from tracemill.traces.table import RejectWriter, TrajectoryWriter, write_problems

_log = logging.getLogger(__name__)
_SCORE_BINS = (0.2, 0.4, 0.6, 0.8)


class Summary:
    """Counts of one snapshot, as summary.json holds them."""

    def __init__(self) -> None:
        self.lines = 0
        self.reasons: Counter[str] = Counter()
        self.groups: dict[str, Counter[str]] = {
            name: Counter() for name in ("status", "miner", "category", "scorer_version", "reasoning")
        }
        self.totals: Counter[str] = Counter()
        self.first_broken: Reject | None = None

    def keep(self, row: Normalised) -> None:
        """Count a kept trajectory."""
        t = row.trajectory
        self.groups["status"][t.status] += 1
        self.groups["miner"][t.miner or "unknown"] += 1
        self.groups["category"][t.category or "unknown"] += 1
        self.groups["scorer_version"][t.scorer_version or "unknown"] += 1
        self.groups["reasoning"][_bin(t.reasoning_score)] += 1
        self.totals["kept"] += 1
        self.totals["with_proxy_log"] += t.has_proxy_log
        self.totals["turns"] += len(t.turns)
        self.totals["calls"] += t.call_count
        self.totals["unpaired"] += t.unpaired is not None

    def reject(self, row: Reject) -> None:
        """Count a rejected line."""
        self.reasons[row.reason] += 1
        if self.first_broken is None and row.reason in BROKEN:
            self.first_broken = row
        if row.reason.startswith("status_"):
            self.groups["status"][row.reason.removeprefix("status_").upper()] += 1

    @property
    def broken(self) -> int:
        """Lines that are damaged, not merely of no use."""
        return sum(self.reasons[reason] for reason in BROKEN)

    def content(self, digest: str, problems: int) -> dict[str, Any]:
        """The whole as JSON data, keys in order."""
        return {
            "snapshot_digest": digest,
            "in": self.lines,
            "kept": self.totals["kept"],
            "rejected": {reason: self.reasons[reason] for reason in REASONS},
            "problems": problems,
            "totals": {key: self.totals[key] for key in ("with_proxy_log", "turns", "calls", "unpaired")},
            **{name: dict(sorted(counts.items())) for name, counts in self.groups.items()},
        }


def _bin(score: float | None) -> str:
    if score is None:
        return "unjudged"
    low = max((edge for edge in (0.0, *_SCORE_BINS) if score >= edge), default=0.0)
    return f"{low:.1f}"


def normalise_snapshot(
    raw: Path,
    *,
    trajectories: Path,
    rejects: Path,
    problems: Path | None,
    summary: Path | None,
    params: NormaliseParams,
    name: str | None = None,
) -> dict[str, Any]:
    """Read one raw snapshot and write its tables and counts; return the counts.

    Raises InputError when the file is cut or damaged, a line is over the limit, or more lines are damaged than
    `max_broken_share` allows; the outputs are then not to be used. `name` stands for the file in messages.
    """
    digest, counts, found = file_digest(raw), Summary(), ProblemTable()
    with TrajectoryWriter(trajectories) as writer, RejectWriter(rejects) as reject_writer:
        for line, outcome in read_snapshot(raw, digest, params):
            counts.lines += 1
            if isinstance(outcome, Reject):
                counts.reject(outcome)
                reject_writer.add(outcome)
                spec = find_problem(line.raw)
                if spec is not None:
                    found.add(**spec, line=line.number, kept=False)
                continue
            counts.keep(outcome)
            t = outcome.trajectory
            found.add(
                t.problem_id,
                t.query,
                category=t.category,
                reward=t.reward,
                voucher=t.voucher,
                line=line.number,
                kept=True,
            )
            writer.add(outcome)
    _check_share(name or str(raw), counts, params.max_broken_share)
    rows = found.rows()
    if problems is not None:
        write_problems(rows, problems)
    content = counts.content(digest, len(rows))
    if summary is not None:
        summary.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    _log.info(
        "%s: %d lines, %d kept, %d rejected",
        name or raw,
        counts.lines,
        counts.totals["kept"],
        counts.lines - counts.totals["kept"],
    )
    return content


def _check_share(name: str, counts: Summary, allowed: float) -> None:
    if counts.lines == 0:
        raise InputError(f"{name}: no lines, expected one trajectory a line; check the source of the snapshot")
    first = counts.first_broken
    if first is not None and counts.broken > allowed * counts.lines:
        raise InputError(
            f"{name}: {counts.broken} of {counts.lines} lines are damaged, more than the share of {allowed:g}; "
            "the first is line "
            f"{first.line}, byte {first.byte}: {first.reason}: {first.detail}; fetch the file again, or raise "
            "traces.normalise.max_broken_share"
        )
