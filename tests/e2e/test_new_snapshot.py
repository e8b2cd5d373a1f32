"""A snapshot is added to the real graph: no old one is read, as the kernel saw it."""

import re
from pathlib import Path

import pytest

from opened_files import OpenedFiles
from toy_project import NOTHING, ROOT, Project, copy_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
RAW = ("data/raw/sim-a.traces", "data/raw/sim-b.traces")
NORMALISED = tuple(
    f"data/traces/{name}/{table}.parquet" for name in ("sim-a", "sim-b") for table in ("trajectories", "rejects")
)


@pytest.fixture(scope="module")
def split(tmp_path_factory) -> Project:
    """The real graph, built up to the pools."""
    project = Project(tmp_path_factory.mktemp("split") / "project")
    Project(ROOT).tracemill("workspace", str(project.folder), "--profile", "quick")
    project.snakemake("leakage", "corpus")
    project.commit("built")
    return project


@pytest.fixture
def grown(split: Project, tmp_path) -> Project:
    """A copy whose list of snapshots has just grown."""
    project = copy_of(split, tmp_path / "project")
    assert NOTHING in project.snakemake("leakage", "corpus")  # files that were copied are read once, to know them again
    project.dvc("status")
    project.edit("params.yaml", "\nsnapshots:\n", '\nsnapshots:\n  sim-c: {source: "sim:", seed: 3, episodes: 60}\n')
    project.sync()
    return project


def in_workspace_and_cache(project: Project, names: tuple[str, ...]) -> dict[Path, str]:
    """The files of these names and the cache's objects with their bytes."""
    found = {}
    for name in names:
        found[project.path(name)] = name
        snapshot = "sim-a" if "sim-a" in name else "sim-b"
        lock = project.path(f"snapshots/{snapshot}/dvc.lock").read_text()
        (digest,) = set(re.findall(rf"{name}\n\s+hash: md5\n\s+md5: (\w+)", lock))
        found[project.path(f".dvc/cache/files/md5/{digest[:2]}/{digest[2:]}")] = name
    return found


@pytest.mark.parametrize("engine", ["snakemake", "dvc"])
def test_no_old_snapshot_is_opened_when_one_is_added(grown: Project, engine: str):
    raw, normalised = in_workspace_and_cache(grown, RAW), in_workspace_and_cache(grown, NORMALISED)
    with OpenedFiles([*raw, *normalised]) as opened:
        if engine == "snakemake":
            grown.snakemake("data/corpus/sim-c/kept.parquet", "data/leakage/nodes.parquet")
        else:
            grown.dvc("repro", "snapshots/sim-c/dvc.yaml:filter_traces", "cluster_leaks")
        assert opened.take() == set()

        # the corpus takes its messages from the normalised tables of all snapshots, and nothing else does
        assert grown.ran() == ["cluster_leaks", *(f"{stage} sim-c" for stage in SNAPSHOT_STAGES)]
        if engine == "snakemake":
            grown.snakemake("leakage", "corpus")
        else:
            grown.dvc("repro", "audit_leaks", "measure_drift")
        trajectories = {name for name in NORMALISED if name.endswith("trajectories.parquet")}
        assert {(raw | normalised)[path] for path in opened.take()} == trajectories
        assert grown.ran() == ["assemble_corpus", "audit_leaks", "measure_drift", "split_pools"]
    assert NOTHING in grown.snakemake("leakage", "corpus")


SNAPSHOT_STAGES = ("filter_traces", "normalise_traces", "score_traces", "simulate_snapshot")
