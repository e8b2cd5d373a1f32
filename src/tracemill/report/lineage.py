"""What was built from what: the artifacts that the report reads, with their content digests, as DVC recorded them.

The lock files are read, never DVC's state: every artifact shown is a declared input of the report, so a digest on the
page cannot be older than the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from tracemill.document import read_yaml
from tracemill.report.blocks import Figure, Section, Text, number, table
from tracemill.report.plots import plot_graph


class Artifact(msgspec.Struct, frozen=True):
    """One output of a stage."""

    path: str
    stage: str
    digest: str
    """DVC's content hash; a folder's ends in `.dir`."""
    bytes: int
    sources: tuple[str, ...]
    """Paths of the stage's inputs that are artifacts or input files, code aside."""


def read_artifacts(locks: Iterable[Path]) -> dict[str, Artifact]:
    """Return the artifacts that the lock files record, by path."""
    found: dict[str, Artifact] = {}
    for lock in locks:
        if not lock.is_file():
            continue
        for name, stage in (read_yaml(lock).get("stages") or {}).items():
            sources = tuple(sorted(d["path"] for d in stage.get("deps", []) if not _is_code(d["path"])))
            for out in stage.get("outs", []):
                digest, size = str(out.get("md5", "")), int(out.get("size", 0))
                found[out["path"]] = Artifact(out["path"], name, digest, size, sources)
    return found


def _is_code(path: str) -> bool:
    return path.startswith(("src/", "scripts/", "versions/", ".tracemill/"))


def lineage_section(artifacts: Mapping[str, Artifact], shown: Iterable[str]) -> Section:
    """The graph and the table of the artifacts in `shown` (paths); what the lock files lack is left out and counted."""
    names = sorted(set(shown))
    known = [artifacts[name] for name in names if name in artifacts]
    stage_of = {artifact.path: artifact.stage for artifact in artifacts.values()}
    edges = {
        (_kind(stage_of[source]), _kind(artifact.stage))
        for artifact in known
        for source in artifact.sources
        if source in stage_of and _kind(stage_of[source]) != _kind(artifact.stage)
    }
    rows = [(a.path, a.stage, a.digest[:12], a.bytes, ", ".join(a.sources)) for a in known]
    picture = [Figure(plot_graph(sorted(edges), "Stages"), "Per-snapshot stages are drawn once.")] if edges else []
    missing = len(names) - len(known)
    note = [Text(f"{number(missing)} artifacts have no record yet: their stage ran outside DVC.")] if missing else []
    columns = ["artifact", "stage", "digest", "bytes", "built from"]
    return Section(
        "lineage",
        "Built from what",
        "Each artifact with its content digest; equal digests are equal bytes.",
        [*picture, *note, table("Artifacts", columns, rows, numeric=[3])],
    )


def _kind(stage: str) -> str:
    return stage.partition("@")[0]
