"""The same build through a real Slurm on this machine."""

import os
import tempfile
from pathlib import Path

import pytest

import slurm_cluster
from toy_project import NOTHING, Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture
def slurm():
    reason = slurm_cluster.missing()
    if reason and os.environ.get("TRACEMILL_REQUIRE_SYSTEM"):
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder:  # short: a socket's path has at most 107 characters
        os.chmod(folder, 0o755)
        with slurm_cluster.cluster(Path(folder)):
            yield


def test_jobs_go_through_sbatch_and_a_second_build_submits_nothing(fresh: Project, slurm):
    profile = ("--workflow-profile", "profiles/slurm")
    small = ("--default-resources", "slurm_partition=cpu", "mem_mb=100", "runtime=5", "--latency-wait", "10")
    said = fresh.run("snakemake", *profile, *small)
    assert "SLURM jobid" in said or "submitted with SLURM" in said
    assert len(fresh.ran()) == 7
    assert "up to date" in fresh.dvc("status")
    assert NOTHING in fresh.run("snakemake", *profile, *small)
    assert NOTHING in fresh.snakemake()
    assert fresh.ran() == []
