"""The same graph on the 750 real problems, from nothing to the report: what `make real` runs, with fewer episodes."""

import json

import pytest

from toy_project import NOTHING, ROOT, Project

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.timeout(3600)]
SMALL = {
    "snapshots": "{real-a: {source: 'sim:', seed: 1, episodes: 300}}",
    "training.base.tiny.pretraining.steps": "3",
    "training.stages.sft.train.max_steps": "3",
    "training.stages.rejection.train.max_steps": "3",
    "training.stages.rejection.rollouts.most_problems": "4",
    "training.stages.teacher_sft.train.max_steps": "3",
    "training.stages.kto.train.max_steps": "2",
    "training.stages.kto.rollouts.most_problems": "4",
    "evaluation.suites.most_problems": "9",
    "evaluation.sampling.samples": "0",
    "evaluation.lm_eval.limit": "4",
}


@pytest.fixture(scope="module")
def real(shared, tmp_path_factory) -> Project:
    files = shared.resolve() / "data" / "shoppingbench"
    settings = {
        "environment.catalog.source": str(files / "catalog.jsonl.gz"),
        "environment.problems.source": str(files / "problems.jsonl"),
        "leakage.protected.files": f"[{files / 'oro_suite_v3.jsonl'}]",
        **SMALL,
    }
    folder = tmp_path_factory.mktemp("real") / "project"
    options = [option for key, value in settings.items() for option in ("--set", f"{key}={value}")]
    Project(ROOT).tracemill("workspace", str(folder), "--profile", "real", *options)
    project = Project(folder)
    project.snakemake()
    return project


def read(project: Project, name: str) -> dict:
    return json.loads(project.path(f"data/{name}").read_text())


def test_the_real_problems_build_to_a_report_and_nothing_is_left_to_do(real: Project):
    assert real.path("data/report/report.html").stat().st_size > 10_000
    assert NOTHING in real.snakemake()
    assert "up to date" in real.dvc("status")


def test_the_guard_holds_the_suite_out_and_the_audit_passes(real: Project):
    assert read(real, "leakage/shares.json")["problems"]["benchmark"] == 33
    assert set(read(real, "leakage/audit.json")["checks"].values()) == {"passed"}
    masks = read(real, "training/sft/masks.json")
    assert masks["dropped"]["pool_benchmark"] > 0
    assert min(masks["categories"].values()) > 20


def test_the_expert_solves_both_suites_and_the_tiny_model_next_to_nothing(real: Project):
    expert, base = read(real, "evaluation/expert/metrics.json"), read(real, "evaluation/base/metrics.json")
    assert (expert["problems"], expert["success"], expert["protected_full_success"]) == (9, 1.0, 1.0)
    assert base["success"] < 0.12
