"""The report from its artifacts: read, arrange, render; the same artifacts give the same page."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tracemill.evaluation.compare import compare_all
from tracemill.evaluation.published import published_rows
from tracemill.evaluation.records import read_records
from tracemill.leakage.clusters import explain_edge
from tracemill.leakage.edges import read_edges
from tracemill.leakage.nodes import read_nodes
from tracemill.report.blocks import Section, Table, counts_table
from tracemill.report.corpus_sections import drift_section, funnel_section, leak_section
from tracemill.report.entries import make_entries
from tracemill.report.lineage import lineage_section, read_artifacts
from tracemill.report.params import ReportParams
from tracemill.report.render import render_page
from tracemill.report.result_sections import headline, known_suites, results_section
from tracemill.report.training_section import training_section
from tracemill.report.trajectories import pack

LAST_BUILDS, TIMES = "../../logs/builds.html", "../../logs/builds.js"


class Inputs(msgspec.Struct, frozen=True, kw_only=True):
    """Files of the report. Lists hold one file for each snapshot, training stage or checkpoint, told by its folder."""

    traces: list[Path]
    filtered: list[Path]
    corpus: Path
    corpus_summary: Path
    drift: Path
    nodes: Path
    edges: Path
    clusters: Path
    shares: Path
    audit: Path
    models: list[Path]
    curves: list[Path]
    masks: list[Path]
    rollouts: list[Path]
    evaluations: list[Path]
    episodes: list[Path]
    lm: list[Path]
    artifacts: list[Path]
    locks: list[Path]
    """DVC's records; one that does not exist yet is passed over."""
    versions: Path
    """Locked versions of the learning libraries, one `name==version` a line."""


def build_report(inputs: Inputs, page: Path, metrics: Path, params: ReportParams) -> None:
    """Write the page and a few flat metrics; checkpoints and stages stand in the order of `inputs`."""
    summaries = _by_folder(inputs.evaluations, read_json)
    records = _by_folder(inputs.episodes, lambda path: list(read_records(path)))
    known = known_suites(summaries)
    compared = [(name, episodes) for name, episodes in records.items() if name != "expert"]
    sections = [
        results_section(summaries, compare_all(compared), published_rows(), _by_folder(inputs.lm, read_json)),
        training_section(
            read_recipe(inputs.models),
            _by_folder(inputs.curves, _read_csv),
            _by_folder(inputs.masks, read_json),
            _by_folder(inputs.rollouts, read_json),
        ),
        funnel_section(
            _by_folder(inputs.traces, read_json),
            _by_folder(inputs.filtered, read_json),
            read_json(inputs.corpus_summary),
        ),
        drift_section(read_json(inputs.drift)),
        leak_section(
            read_json(inputs.clusters),
            read_json(inputs.shares),
            read_json(inputs.audit),
            _examples(inputs.nodes, inputs.edges, params.evidence_examples),
        ),
        lineage_section(read_artifacts(inputs.locks), [path.as_posix() for path in inputs.artifacts]),
        _facts_section(inputs.versions, summaries, read_json(inputs.shares)["version"]),
    ]
    html = render_page(
        params.title,
        headline(known, ends_of(inputs.models)),
        sections,
        *pack(make_entries(records, inputs.corpus, params)),
        links={"Last builds": LAST_BUILDS},
        times=TIMES,
    )
    page.write_text(html, encoding="utf-8")
    metrics.write_bytes(msgspec.json.format(msgspec.json.encode(_flat(known))) + b"\n")


def read_json(path: Path) -> Any:
    """Content of a JSON file."""
    return msgspec.json.decode(path.read_bytes())


def ends_of(models: Sequence[Path]) -> list[str]:
    """Names of the checkpoints that no other one was trained from, in the order of `models` (their folders)."""
    ancestors = {record["stage"] for model in models for record in read_json(model / "lineage.json")[:-1]}
    return [model.name for model in models if model.name not in ancestors]


def read_recipe(models: Sequence[Path]) -> list[Any]:
    """The lineage records of all checkpoints, each stage once with the name of its parent, in the order of `models`."""
    chains = [read_json(model / "lineage.json") for model in models]
    pairs = [pair for chain in chains for pair in zip([None, *chain], chain, strict=False)]
    return list({own["stage"]: {**own, "parent": parent and parent["stage"]} for parent, own in pairs}.values())


def _read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def _by_folder(paths: Sequence[Path], read: Any) -> dict[str, Any]:
    return {path.parent.name: read(path) for path in paths}


def _examples(nodes_path: Path, edges_path: Path, most: int) -> list[dict[str, Any]]:
    nodes, _ = read_nodes(nodes_path)
    by_key = {node.key: node for node in nodes}
    by_kind: dict[str, list[Any]] = defaultdict(list)
    for edge in read_edges(edges_path):
        if len(by_kind[edge.kind]) < most:
            by_kind[edge.kind].append(explain_edge(edge, by_key))
    return [example for kind in sorted(by_kind) for example in by_kind[kind]]


def _facts_section(versions: Path, summaries: Mapping[str, Any], split: Mapping[str, Any]) -> Section:
    lines = versions.read_text(encoding="utf-8").split()
    facts = dict(line.split("==", 1) for line in lines if "==" in line)
    seeds = {f"split: {what}": str(value) for what, value in split.items()}
    digests: dict[str, dict[str, str]] = {}
    for name, summary in summaries.items():
        seeds[f"sampling of {name}"] = str(summary["settings"]["sampling"]["seed"])
        found = summary["digests"] | {f"suite {suite}": block["digest"] for suite, block in summary["suites"].items()}
        digests[name] = {what: digest[:12] for what, digest in found.items() if digest}
    suites = dict.fromkeys(what for found in digests.values() for what in found if what.startswith("suite "))
    whats = ["checkpoint", "template", "settings", *suites]
    rows = [[name, *(found.get(what, "") for what in whats)] for name, found in digests.items()]
    caption = "What was evaluated, by SHA-256 (12 of 64 digits; the whole ones are in played.json)"
    blocks = [
        counts_table("Locked versions", facts, "library", "version"),
        counts_table("Seeds and versions of the split", seeds, "what", "value"),
        Table(caption, ["of", *whats], rows),
    ]
    return Section("facts", "Versions, seeds, digests", "", list(blocks))


def _flat(known: Mapping[str, Any]) -> dict[str, float]:
    rates = {name: suite["success"] for name, suite in known.items()}
    flat = {f"{name}_success": round(rate["value"], 6) for name, rate in rates.items() if rate["n"]}
    return flat | {"problems": max((rate["n"] for rate in rates.values()), default=0)}
