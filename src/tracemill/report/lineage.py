"""What was built from what: the artifacts that the report reads, with their content digests, as DVC recorded them.

The lock files are read, never DVC's state: every artifact shown is a declared input of the report, so a digest on the
page cannot be older than the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from tracemill.document import read_yaml
from tracemill.report.blocks import Figure, Section, Table, Text, number
from tracemill.report.graph import plot_graph


class Artifact(msgspec.Struct, frozen=True):
    """One output of a stage."""

    path: str
    stage: str
    address: str
    """The stage's name in the log of builds: its DVC file too, where that is a snapshot's."""
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
            address = name if lock.parent == Path() else f"{lock.parent.as_posix()}/dvc.yaml:{name}"
            sources = tuple(sorted(d["path"] for d in stage.get("deps", []) if not _is_code(d["path"])))
            for out in stage.get("outs", []):
                digest, size = str(out.get("md5", "")), int(out.get("size", 0))
                found[out["path"]] = Artifact(out["path"], name, address, digest, size, sources)
    return found


def _is_code(path: str) -> bool:
    return path.startswith(("src/", "scripts/", "versions/", ".tracemill/"))


def lineage_section(artifacts: Mapping[str, Artifact], shown: Iterable[str]) -> Section:
    """The graph and the table of the artifacts in `shown` (paths); what the lock files lack is left out and counted."""
    names = sorted(set(shown))
    known = [artifacts[name] for name in names if name in artifacts]
    edges = stage_edges(artifacts, names)
    caption = "An arrow that others imply is left out; a stage of each snapshot is drawn once."
    picture = [Figure(plot_graph(edges, "Stages, from the catalogue to the played episodes"), caption)] if edges else []
    missing = len(names) - len(known)
    note = [Text(f"{number(missing)} artifacts have no record yet: their stage ran outside DVC.")] if missing else []
    rows = [[a.path, a.stage, a.digest[:12], number(a.bytes), ", ".join(a.sources)] for a in known]
    columns = ["artifact", "stage", "digest", "bytes", "built from"]
    return Section(
        "lineage",
        "Built from what",
        "Each artifact with its content digest; equal digests are equal bytes. Times stand beside the stages once "
        "`tracemill builds` has written them for this copy of the project.",
        [*picture, *note, Table("Artifacts", columns, rows, [3], stages=[a.address for a in known])],
    )


def stage_edges(artifacts: Mapping[str, Artifact], shown: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of stages, the second of which reads what the first wrote, up to the sources of everything shown."""
    waiting, seen, edges = list(shown), set[str](), set[tuple[str, str]]()
    while waiting:
        path = waiting.pop()
        if path in seen or path not in artifacts:
            continue
        seen.add(path)
        artifact = artifacts[path]
        waiting += artifact.sources
        edges |= {
            (artifacts[source].stage, artifact.stage)
            for source in artifact.sources
            if source in artifacts and artifacts[source].stage != artifact.stage
        }
    return sorted(edges)
