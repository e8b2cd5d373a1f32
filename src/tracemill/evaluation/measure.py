"""What the episodes of one checkpoint say, from file to file: no model is loaded, so a new metric costs seconds."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from tracemill.evaluation.metrics import flat_metrics, pass_at, summarise
from tracemill.evaluation.records import EVAL_SUITE, EpisodeRecord, read_records


class Outputs(msgspec.Struct, frozen=True):
    """Files that a measurement writes."""

    metrics: Path
    summary: Path
    plot: Path


def measure_checkpoint(episodes: Path, played: Path, outputs: Outputs) -> None:
    """Summarise the episodes of a checkpoint; `played` says what they are about (evaluation.evaluate)."""
    summary = summarise_suites(msgspec.json.decode(played.read_bytes()), read_records(episodes))
    outputs.metrics.write_bytes(_json(flat_metrics(summary["suites"])))
    outputs.summary.write_bytes(_json(summary))
    write_pass_curve(summary["suites"].get(EVAL_SUITE, {}), outputs.plot)


def summarise_suites(about: dict[str, Any], records: Sequence[EpisodeRecord]) -> dict[str, Any]:
    """Return `about` with what the episodes say in each of its suites."""
    suites = {}
    for suite, facts in about["suites"].items():
        inside = [r for r in records if suite in r.suites]
        suites[suite] = {**facts, **summarise([r for r in inside if r.sampling.temperature == 0])}
        drawn = [r for r in inside if r.sampling.temperature > 0]
        if drawn and suite == EVAL_SUITE:
            sampling = drawn[0].sampling
            suites[suite]["pass_at"] = {
                "temperature": sampling.temperature,
                "top_p": sampling.top_p,
                **pass_at(drawn),
            }
    return {**about, "suites": suites}


def write_pass_curve(suite: dict[str, Any], path: Path) -> None:
    """Write pass@k of the eval suite as CSV for `dvc plots`; the header alone where nothing was drawn."""
    with path.open("w", newline="", encoding="ascii") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["k", "low", "high", "pass_at_k"])
        for row in suite.get("pass_at", {}).get("estimates", []):
            table.writerow([row["k"], *(f"{row[key]:.6f}" for key in ("low", "high", "value"))])


def _json(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"
