"""Snakemake and DVC agree on what is stale, whichever of them built and whatever was done in between."""

import os
import random
import shutil
from pathlib import Path

import pytest

from toy_project import NOTHING, Project

ENGINES = ("snakemake", "dvc")
ALL_STAGES = [
    "clean_raw sim-a",
    "clean_raw sim-b",
    "evaluate_model",
    "merge_corpus",
    "train_model",
    "write_raw sim-a",
    "write_raw sim-b",
]


def test_a_first_build_runs_each_stage_once_and_leaves_only_lock_files(fresh: Project):
    fresh.snakemake()
    assert fresh.ran() == ALL_STAGES
    changed = fresh.git("status", "--short", "--untracked-files=all").split()
    assert sorted(changed[1::2]) == ["dvc.lock", "snapshots/sim-a/dvc.lock", "snapshots/sim-b/dvc.lock"]


def test_after_snakemake_dvc_has_nothing_to_do(project: Project):
    assert "up to date" in project.dvc("status")
    project.dvc("repro")
    assert project.ran() == []


def test_after_dvc_snakemake_has_nothing_to_do(fresh: Project):
    fresh.dvc("repro")
    assert fresh.ran() == ALL_STAGES
    assert NOTHING in fresh.snakemake()
    assert fresh.ran() == []


def test_after_an_experiment_snakemake_has_nothing_to_do(project: Project):
    project.dvc("exp", "run", "-S", "toy.training.learning_rate=0.5")
    assert project.ran() == ["evaluate_model", "train_model"]
    assert NOTHING in project.snakemake()


@pytest.mark.parametrize("engine", ENGINES)
def test_each_change_of_one_parameter_runs_what_depends_on_it(project: Project, engine: str):
    before = "1e-5"
    for after in ("0.25", "0.5", "0.75"):
        project.edit("params.yaml", f"learning_rate: {before}", f"learning_rate: {after}")
        rules, said = project.planned()
        assert rules == ["evaluate_model", "train_model"]
        shown = "1e-05" if before == "1e-5" else before
        assert f"train_model is stale: parameter toy.training.learning_rate: {shown} -> {after}" in said
        project.build(engine)
        assert project.ran() == ["evaluate_model", "train_model"]
        before = after


@pytest.mark.parametrize("engine", ENGINES)
def test_a_parameter_changed_back_is_restored_without_running(project: Project, engine: str):
    original = project.artifacts()
    project.edit("params.yaml", "steps: 3", "steps: 4")
    project.build(engine)
    assert project.ran() == ["evaluate_model", "train_model"] or project.ran() == []
    project.edit("params.yaml", "steps: 4", "steps: 3")
    project.build(engine)
    assert project.ran() == []
    assert project.artifacts() == original


@pytest.mark.parametrize("engine", ENGINES)
def test_an_edited_module_runs_exactly_the_stages_that_import_it(project: Project, engine: str):
    project.edit("src/tracemill/toy/merge.py", "[header, *", "[header.upper(), *")
    rules, said = project.planned()
    assert "merge_corpus is stale: module src/tracemill/toy/merge.py changed" in said
    assert rules == ["evaluate_model", "merge_corpus", "train_model"]
    project.build(engine)
    assert project.ran() == ["evaluate_model", "merge_corpus", "train_model"]


@pytest.mark.parametrize("engine", ENGINES)
def test_unused_modules_comments_in_parameters_and_the_readme_run_nothing(project: Project, engine: str):
    project.path("src/tracemill/toy/unused.py").write_text('"""Still unused."""\n\nNUMBER = 1\n')
    project.path("README.md").write_text("Another readme.\n")
    project.path("params.yaml").write_text("# a comment\n" + project.path("params.yaml").read_text())
    if engine == "snakemake":
        assert NOTHING in project.snakemake()
    else:
        project.dvc("repro")
    assert project.ran() == []


@pytest.mark.parametrize("engine", ENGINES)
def test_equal_output_stops_the_rebuild(project: Project, engine: str):
    project.edit("scripts/clean_raw.py", "    params =", "    # the thresholds\n    params =")
    project.build(engine)
    assert project.ran() == ["clean_raw sim-a", "clean_raw sim-b"]
    assert NOTHING in project.snakemake()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_new_snapshot_is_refused_until_synced_then_runs_its_own_stages_and_the_global_ones(
    project: Project, engine: str
):
    project.edit("params.yaml", "  sim-b:", '  sim-c: {source: "sim:", seed: 3, episodes: 6}\n  sim-b:')
    refused = project.build(engine, expect=None)
    assert "make sync" in refused
    assert project.ran() == []
    project.sync()
    project.build(engine)
    assert project.ran() == ["clean_raw sim-c", "evaluate_model", "merge_corpus", "train_model", "write_raw sim-c"]
    assert NOTHING in project.snakemake()


@pytest.mark.parametrize("engine", ENGINES)
def test_renamed_repeated_and_reordered_snapshots_give_the_same_corpus(project: Project, engine: str):
    corpus = project.path("data/corpus.txt").read_bytes()
    lines = ['  zz-b: {source: "sim:", seed: 2, episodes: 5}', '  twin: {source: "sim:", seed: 2, episodes: 5}']
    lines += ['  first: {source: "sim:", seed: 1, episodes: 5}']
    text = project.path("params.yaml").read_text()
    rest = text[text.index("\ntoy:") :]
    project.path("params.yaml").write_text("\n".join(["snapshots:", *lines, rest]))
    project.sync()
    project.build(engine)
    assert project.path("data/corpus.txt").read_bytes() == corpus
    ran = project.ran()
    assert "train_model" not in ran
    assert "evaluate_model" not in ran


def test_reordered_snapshots_alone_change_nothing(project: Project):
    text = project.path("params.yaml").read_text()
    head, a, b, rest = text.split("\n", 3)
    project.path("params.yaml").write_text("\n".join([head, b, a, rest]))
    assert NOTHING in project.snakemake()
    project.dvc("repro")
    assert project.ran() == []


def _delete_file(project: Project) -> None:
    project.path("data/corpus.txt").unlink()


def _delete_directory(project: Project) -> None:
    shutil.rmtree(project.path("data/models/sft"))


def _tamper_with_final_output(project: Project) -> None:
    _overwrite(project.path("data/metrics.json"), '{"success": 1.0, "n": 4}')


def _tamper_in_the_middle(project: Project) -> None:
    _overwrite(project.path("data/clean/sim-a.txt"), "forged\n")


def _tamper_in_a_directory(project: Project) -> None:
    _overwrite(project.path("data/models/sft/weights.txt"), "forged")


def _add_to_a_directory(project: Project) -> None:
    project.path("data/models/sft/extra.txt").write_text("smuggled")


def _overwrite(path: Path, text: str) -> None:
    path.unlink()
    path.write_text(text)


DAMAGE = (
    _delete_file,
    _delete_directory,
    _tamper_with_final_output,
    _tamper_in_the_middle,
    _tamper_in_a_directory,
    _add_to_a_directory,
)


def test_every_damaged_output_is_restored_by_snakemake_without_running(project: Project):
    original = project.artifacts()
    for damage in DAMAGE:
        damage(project)
        project.snakemake()
        assert project.artifacts() == original, damage.__name__
        assert project.ran() == [], damage.__name__


def test_every_damaged_output_is_restored_by_dvc_without_running(project: Project):
    original = project.artifacts()
    for damage in DAMAGE:
        damage(project)
        project.dvc("repro")
        assert project.artifacts() == original, damage.__name__
        assert project.ran() == [], damage.__name__


@pytest.mark.parametrize("pull", [True, False], ids=["pulled", "not pulled"])
def test_a_fresh_clone_with_a_remote_runs_no_stage(project: Project, tmp_path: Path, pull: bool):
    project.dvc("remote", "add", "--default", "store", str(tmp_path / "remote"))
    project.commit("a remote")
    project.dvc("push")
    project.run("git", "clone", "--quiet", ".", str(tmp_path / "clone"))
    clone = Project(tmp_path / "clone")
    if pull:
        clone.dvc("pull")
        assert NOTHING in clone.snakemake()
    else:
        clone.snakemake()
    assert clone.ran() == []
    assert clone.artifacts() == project.artifacts()


@pytest.mark.parametrize("link", ["copy", "hardlink", "symlink"])
def test_an_old_commit_brings_its_artifacts_without_running_and_so_does_the_way_back(project: Project, link: str):
    project.dvc("config", "cache.type", link)
    project.dvc("checkout", "--relink")
    old = project.commit("links")
    old_artifacts = project.artifacts()
    project.edit("params.yaml", "seed: 2", "seed: 9")
    project.snakemake()
    new = project.commit("another snapshot")
    new_artifacts = project.artifacts()
    assert project.ran() != []
    assert new_artifacts["corpus.txt"] != old_artifacts["corpus.txt"]
    for commit, expected in ((old, old_artifacts), (new, new_artifacts)):
        project.git("checkout", "--quiet", commit)
        project.dvc("checkout")
        assert NOTHING in project.snakemake()
        assert project.ran() == []
        assert project.artifacts() == expected


def test_without_state_and_with_scrambled_times_there_is_nothing_to_do(project: Project):
    shutil.rmtree(project.path(".snakemake"))
    paths = sorted(project.path("data").rglob("*")) + sorted(project.path("src").rglob("*.py"))
    order = random.Random(0)
    for path in paths:
        when = order.randrange(1_000_000_000, 2_000_000_000)
        os.utime(path, (when, when))
    assert NOTHING in project.snakemake()
    assert project.ran() == []


def test_without_the_memory_of_snakemake_a_stale_stage_still_runs(project: Project):
    project.edit("params.yaml", "samples: 4", "samples: 5")
    shutil.rmtree(project.path(".snakemake"))
    for path in project.path("data").rglob("*"):
        os.utime(path, (4_000_000_000, 4_000_000_000))
    project.snakemake()
    assert project.ran() == ["evaluate_model"]


def test_queued_experiments_leave_the_workspace_alone(project: Project):
    before = project.artifacts()
    for rate in ("0.125", "0.375"):
        project.dvc("exp", "run", "--queue", "-S", f"toy.training.learning_rate={rate}")
    project.dvc("queue", "start", "-j", "2")
    table = project.when_queue_is_done(2)
    assert "0.125" in table
    assert "0.375" in table
    assert project.git("status", "--short") == ""
    assert project.artifacts() == before
    assert NOTHING in project.snakemake()
