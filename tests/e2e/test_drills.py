"""Kills at several moments, two builds at once: the same command again completes, and never two writers."""

import os
import re
import signal
import time
from pathlib import Path

import psutil
import pytest

from toy_project import NOTHING, Project, copy_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def until(condition, seconds: float = 240.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def tree(pid: int) -> dict[str, list[int]]:
    """Processes under a build by their part in it."""
    parts: dict[str, list[int]] = {"scheduler": [pid], "dvc": [], "supervisor": [], "accelerate": [], "script": []}
    for process in psutil.Process(pid).children(recursive=True):
        command = " ".join(process.cmdline())
        if "tracemill.build.job" in command and "python" in process.name():
            parts["dvc"].append(process.pid)
        elif "tracemill.build.run" in command and "python" in process.name():
            parts["supervisor"].append(process.pid)
        elif "accelerate.commands.launch" in command:
            parts["accelerate"].append(process.pid)
        elif re.search(r"python\S* (-u )?scripts/", command):
            parts["script"].append(process.pid)
    return parts


def start_paused(project: Project):
    """A build whose training stage stands between its two files."""
    project.path("pause").write_text("")
    build = project.start("snakemake", "--cores", "2")
    until(lambda: project.path("paused").exists())
    return build, tree(build.pid)


def resume(project: Project) -> None:
    project.path("pause").unlink(missing_ok=True)
    project.path("paused").unlink(missing_ok=True)


CHANGED = ("params.yaml", "learning_rate: 1e-5", "learning_rate: 2e-5")  # trains and evaluates, and nothing else


@pytest.fixture
def waiting(project: Project) -> Project:
    """A built project in which training and evaluation have to run again."""
    project.edit(*CHANGED)
    return project


@pytest.fixture(scope="module")
def undisturbed(built: Project, tmp_path_factory) -> dict[str, bytes]:
    """What `waiting` becomes when nobody kills anything."""
    project = copy_of(built, tmp_path_factory.mktemp("undisturbed") / "project")
    project.edit(*CHANGED)
    project.snakemake()
    return project.artifacts()


@pytest.mark.parametrize(
    "victims",
    [
        ("scheduler",),
        ("dvc",),
        ("supervisor",),
        ("script",),
        ("scheduler", "dvc"),
        ("supervisor", "script"),
        ("scheduler", "dvc", "supervisor", "script"),
    ],
    ids="+".join,
)
def test_after_a_kill_the_same_command_completes(waiting: Project, undisturbed, victims):
    build, parts = start_paused(waiting)
    doomed = [pid for part in victims for pid in parts[part]]
    assert doomed
    scripts = [psutil.Process(pid) for pid in parts["script"]]
    for pid in doomed:
        os.kill(pid, signal.SIGKILL)
    until(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in scripts), 60)
    if "scheduler" not in victims:
        build.communicate(timeout=240)
    resume(waiting)
    assert not waiting.path("data/models/sft").exists() or (waiting.path("data/models/sft/state.txt")).exists()
    waiting.snakemake()
    assert waiting.artifacts() == undisturbed
    assert NOTHING in waiting.snakemake()


@pytest.mark.torch
@pytest.mark.parametrize(
    "victims", [("accelerate",), ("supervisor", "accelerate"), ("dvc",), ("scheduler",)], ids="+".join
)
def test_a_launched_script_never_outlives_its_launch(waiting: Project, undisturbed, victims):
    launched = 'section="toy.training",\n        launch="accelerate launch",'
    waiting.edit("rules/toy.smk", 'section="toy.training",', launched)
    waiting.sync()
    test_after_a_kill_the_same_command_completes(waiting, undisturbed, victims)


def test_a_kill_of_a_plain_dvc_run_ends_its_script(waiting: Project, undisturbed):
    waiting.path("pause").write_text("")
    run = waiting.start("dvc", "repro")
    until(lambda: waiting.path("paused").exists())
    script = psutil.Process(int(waiting.path("paused").read_text()))
    run.kill()
    run.wait()  # as a shell does: DVC takes a dead process that nobody reaped for a living one
    until(lambda: not script.is_running(), 60)
    resume(waiting)
    waiting.dvc("repro")
    assert waiting.artifacts() == undisturbed


@pytest.mark.parametrize("moment", [0.5, 1.5, 2.5, 4.0, 6.0])
def test_a_kill_of_the_whole_group_at_any_moment_needs_no_manual_step(fresh: Project, built: Project, moment):
    build = fresh.start("snakemake", "--cores", "2", start_new_session=True)
    time.sleep(moment)
    family = [build.pid, *(child.pid for child in psutil.Process(build.pid).children(recursive=True))]
    for pid in family:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    build.communicate(timeout=240)
    fresh.snakemake()
    assert fresh.artifacts() == built.artifacts()


def test_an_interrupted_build_leaves_no_process(waiting: Project):
    build, parts = start_paused(waiting)
    build.send_signal(signal.SIGINT)
    script = psutil.Process(parts["script"][0])
    os.kill(parts["dvc"][0], signal.SIGTERM)
    until(lambda: not script.is_running(), 60)
    build.communicate(timeout=240)
    resume(waiting)
    waiting.snakemake()


def test_of_two_builds_one_works_and_the_other_names_it(waiting: Project):
    build, _ = start_paused(waiting)
    said = waiting.snakemake(expect=5)
    lines = [line for line in said.splitlines() if line.startswith("tracemill:")]
    assert len(lines) == 1
    assert f"held by process {build.pid}" in lines[0]
    plan = waiting.snakemake("--dry-run")
    assert f"process {build.pid}" in plan
    waiting.snakemake("--list")
    waiting.snakemake("--unlock")
    resume(waiting)
    build.communicate(timeout=240)
    assert build.returncode == 0
    assert waiting.ran() == ["evaluate_model", "train_model"]


def test_a_build_beside_a_dvc_run_names_it(waiting: Project):
    waiting.path("pause").write_text("")
    run = waiting.start("dvc", "repro")
    until(lambda: waiting.path("paused").exists())
    said = waiting.snakemake(expect=5)
    assert f"process {run.pid}" in said
    assert "Traceback" not in said
    resume(waiting)
    run.communicate(timeout=240)
    assert run.returncode == 0
    assert NOTHING in waiting.snakemake()


def test_a_dvc_run_beside_a_build_names_it_and_the_build_completes(waiting: Project):
    build, parts = start_paused(waiting)
    said = waiting.dvc("repro", "train_model", expect=255)
    assert str(parts["dvc"][0]) in said
    resume(waiting)
    build.communicate(timeout=240)
    assert build.returncode == 0


def test_a_dead_holder_of_the_build_lock_stands_in_nobodys_way(project: Project):
    lock = project.path(".tracemill/locks/build")
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.write_text("process 999999 (snakemake)")
    Path(project.folder, ".snakemake/locks").mkdir(exist_ok=True)
    assert NOTHING in project.snakemake()
