"""What changes or fails between the start of a stage and DVC's record of it."""

import time

import psutil
import pytest

from toy_project import NOTHING, Project

COMMANDS = {"snakemake": ("snakemake", "--cores", "2"), "dvc": ("dvc", "repro")}


def held(project: Project, engine: str):
    """A build whose training stage has begun and waits."""
    project.edit("params.yaml", "learning_rate: 1e-5", "learning_rate: 0.5")
    project.path("pause").touch()
    build = project.start(*COMMANDS[engine])
    while not project.path("paused").exists():
        assert build.poll() is None, build.communicate()[0]
        time.sleep(0.02)
    return build


@pytest.mark.parametrize(
    ("engine", "file", "old", "new", "named"),
    [
        ("snakemake", "scripts/train_model.py", "{params.steps}", "{params.steps + 1}", "scripts/train_model.py"),
        ("dvc", "params.yaml", "learning_rate: 0.5", "learning_rate: 0.25", "params.yaml: toy.training"),
    ],
    ids=["code", "parameter"],
)
def test_an_edit_under_a_running_stage_is_never_recorded_as_what_ran(project: Project, engine, file, old, new, named):
    build = held(project, engine)
    project.edit(file, old, new)
    project.path("pause").unlink()
    said, _ = build.communicate(timeout=240)
    assert build.returncode != 0
    assert f"{named} changed while it ran" in said
    assert project.ran() == ["train_model"]
    project.build(engine)
    assert project.ran() == ["evaluate_model", "train_model"]
    assert NOTHING in project.snakemake()


def test_a_rewrite_of_the_same_bytes_under_a_running_stage_is_no_change(project: Project):
    build = held(project, "snakemake")
    script = project.path("scripts/train_model.py")
    text = script.read_text()
    script.unlink()
    script.write_text(text)
    project.edit("params.yaml", "samples: 4", "samples: 5")
    project.path("pause").unlink()
    build.communicate(timeout=240)
    assert build.returncode == 0
    assert NOTHING in project.snakemake()


def test_what_dvc_finished_after_a_killed_snakemake_is_not_planned_again(project: Project):
    build = held(project, "snakemake")
    started = psutil.Process(build.pid).children(recursive=True)
    build.kill()
    build.communicate(timeout=240)
    assert psutil.wait_procs(started, 60)[1] == []
    project.path("pause").unlink()
    project.dvc("repro")
    assert NOTHING in project.snakemake()


def test_what_the_cache_could_not_take_is_not_made_twice(project: Project):
    runs = project.path(".dvc/cache/runs")
    runs.rename(runs.with_name("kept"))
    runs.write_text("in the way")
    project.edit("params.yaml", "learning_rate: 1e-5", "learning_rate: 0.5")
    project.snakemake(expect=1)
    assert project.ran() == ["train_model"]
    runs.unlink()
    runs.with_name("kept").rename(runs)
    project.snakemake()
    assert project.ran() == ["evaluate_model"]
    assert project.path("data/models/sft/state.txt").read_text() == "3\n"
    project.dvc("repro", "--force", "--single-item", "train_model")
    assert project.ran() == ["train_model"], "what DVC has recorded is let go"
