"""Where a checkpoint comes from: one record a stage, base first, in the checkpoint's folder and its model card."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tracemill.errors import InputError

LINEAGE = "lineage.json"
CARD = "README.md"
Record = dict[str, Any]


def stage_record(name: str, kind: str, params: Mapping[str, Any], parent: str | None, rows: str | None) -> Record:
    """The record of one stage; `parent` and `rows` are digests of what it was made from."""
    return {"stage": name, "kind": kind, "parent_digest": parent, "rows_digest": rows, "params": dict(params)}


def read_lineage(folder: Path) -> list[Record]:
    """The records of a checkpoint, base first; none where the folder carries none."""
    path = folder / LINEAGE
    return list(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else []


def write_lineage(folder: Path, records: Sequence[Record]) -> None:
    """Write the records and a model card that shows them."""
    (folder / LINEAGE).write_text(json.dumps(list(records), indent=1, sort_keys=True) + "\n", encoding="utf-8")
    (folder / CARD).write_text(model_card(records), encoding="utf-8")


def model_card(records: Sequence[Record], scores: Sequence[Mapping[str, Any]] = ()) -> str:
    """The README.md of a checkpoint. `scores` are rows of suite, category, n, rate, low, high and note."""
    chain = " -> ".join(record["stage"] for record in records)
    lines = [
        "---",
        "library_name: transformers",
        "pipeline_tag: text-generation",
        "tags: [tracemill, tool-use, shopping]",
        *_base_lines(records),
        "---",
        "",
        f"# {records[-1]['stage'] if records else 'checkpoint'}",
        "",
        f"A whole checkpoint (no adapter) of the chain {chain}. It uses Qwen3's chat template; play it with",
        "the training variant of that template, which shows the reasoning of all turns.",
        "",
        "| stage | kind | parent | rows |",
        "|---|---|---|---|",
    ]
    for record in records:
        parent, rows = (str(record[key] or "-")[:16] for key in ("parent_digest", "rows_digest"))
        lines.append(f"| {record['stage']} | {record['kind']} | {parent} | {rows} |")
    lines += ["", "Digests are SHA-256 (first 16 digits). Rows come from the train pool alone.", ""]
    if scores:
        lines += ["## Scores", "", "| suite | category | n | success | 95% interval | note |"]
        lines += ["|---|---|---|---|---|---|"]
        lines += [_score_line(score) for score in scores]
        lines.append("")
    for record in records:
        lines += [f"## {record['stage']}: parameters", "", "```json"]
        lines += [json.dumps(record["params"], indent=1, sort_keys=True), "```", ""]
    return "\n".join(lines)


def _base_lines(records: Sequence[Record]) -> list[str]:
    """The card's data on the model of the hub that the chain starts from, where it starts from one."""
    name = records[0]["params"].get("model") if len(records) > 1 and records[0]["kind"] == "pretrained" else None
    return [f"base_model: {name}", "base_model_relation: finetune"] if name else []


def _score_line(score: Mapping[str, Any]) -> str:
    interval = f"{100 * score['low']:.1f} to {100 * score['high']:.1f}%"
    cells = (score["suite"], score["category"], score["n"], f"{100 * score['rate']:.1f}%", interval, score["note"])
    return f"| {' | '.join(map(str, cells))} |"


def export_model(data: Path, checkpoint: str, out: Path) -> None:
    """Copy a checkpoint to `out`, a folder ready for upload: its card shows the scores with n and interval, and the
    licence of a base from the hub stands beside it.

    Raises InputError where the checkpoint or its evaluation has not been built, or `out` exists.
    """
    source, summary = data / "models" / checkpoint, data / "evaluation" / checkpoint / "summary.json"
    for path in (source / "config.json", summary):
        if not path.is_file():
            raise InputError(f"{path}: missing; build it first with `snakemake --cores all`")
    if out.exists():
        raise InputError(f"{out}: exists already; name another folder or remove it")
    suites = json.loads(summary.read_text(encoding="utf-8"))["suites"]
    shutil.copytree(source, out)
    for licence in sorted((data / "models" / "base").glob("LICENSE*")):
        shutil.copy(licence, out)
    (out / CARD).write_text(model_card(read_lineage(source), score_rows(suites)), encoding="utf-8")


def score_rows(suites: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of a card's score table from an evaluation's suites; categories without episodes are left out."""
    rows = []
    for suite, block in suites.items():
        note = "contaminated: training clusters touch it" if block["contaminated"] else ""
        if block["limited"]:
            note = "; ".join([*filter(None, [note]), f"limited: of {block['whole']} problems"])
        for category, part in {"all": block, **block.get("by_category", {})}.items():
            success = part["success"]
            if success["n"]:
                interval = {"rate": success["value"], "low": success["low"], "high": success["high"]}
                rows.append({"suite": suite, "category": category, "n": success["n"], **interval, "note": note})
    return rows
