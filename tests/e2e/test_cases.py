"""Inputs on which a naive union of the two engines fails, and bad input: one clear line, no partial artifact."""

import os
import shutil
import subprocess
import sysconfig
import venv

import pytest

from toy_project import NOTHING, Project


def message(output: str) -> str:
    """The engine's own line; there must be exactly one, and no traceback."""
    lines = [line for line in output.splitlines() if line.startswith("tracemill: ")]
    assert "Traceback" not in output
    assert lines, output
    return lines[-1]


def test_three_spellings_of_a_float_are_one_value(project: Project):
    for before, after in (("1e-5", "1.0e-5"), ("1.0e-5", "0.00001")):
        project.edit("params.yaml", f"learning_rate: {before}", f"learning_rate: {after}")
        assert NOTHING in project.snakemake()
        project.dvc("repro")
    assert project.ran() == []


def test_a_float_that_dvc_wrote_itself_is_the_same_number(project: Project):
    project.dvc("exp", "run", "-S", "toy.training.learning_rate=0.000001")
    assert "1e-06" in project.path("params.yaml").read_text()
    assert project.ran() == ["evaluate_model", "train_model"]
    project.edit("params.yaml", "1e-06", "0.000001")
    assert NOTHING in project.snakemake()


@pytest.mark.parametrize("engine", ["snakemake", "dvc"])
def test_a_mistyped_name_stops_with_the_nearest_one(project: Project, engine: str):
    project.edit("params.yaml", "learning_rate:", "lerning_rate:")
    said = project.build(engine, expect=None)
    assert "toy.training.lerning_rate: unknown name" in said
    assert "did you mean 'learning_rate'?" in said
    assert project.ran() == []


def test_a_mistyped_experiment_override_trains_nothing(project: Project):
    said = project.dvc("exp", "run", "-S", "+toy.training.lerning_rate=3e-5", expect=255)
    assert "did you mean 'learning_rate'?" in said
    assert project.ran() == []


def test_a_name_that_dvc_does_not_hash_is_refused(project: Project):
    project.edit("params.yaml", "steps: 3", "size: 3")
    assert "'size' is not tracked by DVC" in message(project.snakemake(expect=2))


def test_the_order_of_keys_changes_nothing(project: Project):
    project.edit("params.yaml", "{minimum: 2, note: first}", "{note: first, minimum: 2}")
    assert NOTHING in project.snakemake()
    project.dvc("repro")
    assert project.ran() == []


def test_a_forged_input_is_restored_before_a_stale_stage_reads_it(project: Project):
    project.edit("params.yaml", "learning_rate: 1e-5", "learning_rate: 0.5")
    project.snakemake()
    honest = project.artifacts()
    project.edit("params.yaml", "learning_rate: 0.5", "learning_rate: 1e-5")
    project.snakemake()
    project.path("data/corpus.txt").unlink()
    project.path("data/corpus.txt").write_text("forged\n")
    project.edit("params.yaml", "learning_rate: 1e-5", "learning_rate: 0.5")
    project.snakemake()
    assert project.artifacts() == honest


def test_same_bytes_under_a_new_time_train_nothing(project: Project):
    for path in project.path("data").rglob("*"):
        os.utime(path)
    project.edit("src/tracemill/toy/clean.py", "def keep", "# a comment\ndef keep")
    rules, said = project.planned()
    assert "clean_raw is stale: module src/tracemill/toy/clean.py changed" in said
    project.snakemake()
    assert project.ran() == ["clean_raw sim-a", "clean_raw sim-b"]
    assert "train_model" in rules  # planned, since its input may change; skipped once it has not


def test_changed_bytes_under_an_old_time_are_seen(project: Project):
    source = project.path("raw.txt")
    source.write_text("one\ntwo\n")
    project.edit("params.yaml", "  sim-b:", "  file-c: {source: raw.txt}\n  sim-b:")
    project.sync()
    project.snakemake()
    project.ran()
    when = source.stat().st_mtime_ns - 10**12
    source.write_text("one\nthree\n")
    os.utime(source, ns=(when, when))
    project.snakemake()
    assert project.ran() == ["clean_raw file-c", "copy_raw file-c", "evaluate_model", "merge_corpus", "train_model"]


def test_check_names_what_a_queued_experiment_would_miss(project: Project):
    project.edit("params.yaml", "  sim-b:", '  sim-c: {source: "sim:", seed: 3, episodes: 6}\n  sim-b:')
    project.sync()
    said = project.tracemill("check", expect=1)
    assert "snapshots/sim-c/dvc.yaml: not tracked by git" in said
    project.git("add", "--all")
    assert "snapshots/sim-c" not in project.tracemill("check", expect=None)
    project.dvc("exp", "run", "--temp", "-S", "toy.evaluation.samples=5")
    project.snakemake()
    assert "clean_raw sim-c" not in project.ran(), "the experiment's stages are restored, not run again"


def test_a_partly_pushed_folder_is_rebuilt_or_named_never_used_in_part(project: Project, tmp_path):
    store = tmp_path / "remote"
    project.dvc("remote", "add", "--default", "store", str(store))
    project.commit("a remote")
    project.dvc("push")
    weights = project.path("data/models/sft/weights.txt").read_bytes()
    lost = [path for path in store.rglob("*") if path.is_file() and path.read_bytes() == weights]
    assert lost
    for path in lost:
        path.unlink()
    project.run("git", "clone", "--quiet", ".", str(tmp_path / "clone"))
    clone = Project(tmp_path / "clone")
    said = clone.snakemake(expect=None)
    if clone.path("data/metrics.json").exists():
        assert clone.artifacts() == project.artifacts(), said
        assert clone.ran() == ["train_model"]
    else:
        assert "the remote gave only a part of data/models/sft" in message(said)


def test_a_remote_that_does_not_answer_is_named_and_dvc_builds_without_it(project: Project):
    project.dvc("remote", "add", "--default", "store", "ssh://127.0.0.1:9/store")
    project.edit("params.yaml", "samples: 4", "samples: 5")
    said = project.snakemake(expect=1)
    assert "evaluate_model failed: the remote 'store' does not answer" in message(said)
    project.dvc("repro")
    assert NOTHING in project.snakemake()


def test_a_source_that_dvc_keeps_is_named_with_the_command_that_brings_it(project: Project, tmp_path):
    project.path("inbox").mkdir()
    project.path("inbox/may 1 ü.txt").write_text("one\ntwo\n")
    project.dvc("add", "inbox/may 1 ü.txt")
    project.edit("params.yaml", "  sim-b:", '  may: {source: "inbox/may 1 ü.txt"}\n  sim-b:')
    project.sync()
    project.snakemake()
    project.dvc("remote", "add", "--default", "store", str(tmp_path / "remote"))
    project.commit("a snapshot of one's own")
    project.dvc("push")
    project.run("git", "clone", "--quiet", ".", str(tmp_path / "clone"))
    clone = Project(tmp_path / "clone")
    assert message(clone.snakemake(expect=3)).endswith("DVC knows it: dvc pull 'inbox/may 1 ü.txt.dvc'")
    clone.dvc("pull", "inbox/may 1 ü.txt.dvc")
    clone.snakemake()
    assert clone.ran() == []
    assert clone.artifacts() == project.artifacts()


def test_a_missing_source_is_named(project: Project):
    project.edit("params.yaml", "  sim-b:", "  file-c: {source: nowhere/raw.txt}\n  sim-b:")
    project.sync()
    assert "nowhere/raw.txt: no such file" in message(project.snakemake(expect=3))
    assert project.ran() == []


def test_a_table_of_locks_that_a_full_disk_cut_has_not_to_be_removed_by_hand(project: Project):
    project.path(".dvc/tmp/rwlock").write_text("")
    assert NOTHING in project.snakemake()


def test_what_dvc_cannot_read_is_named_with_the_remedy(project: Project):
    project.path("dvc.lock").write_text("")
    assert "dvc.lock' validation failed; restore that file" in message(project.snakemake(expect=6))
    shutil.rmtree(project.path(".git"))
    assert "is not a git repository; make it one (`git init`)" in message(project.snakemake(expect=6))


def test_an_empty_list_of_snapshots_is_refused(project: Project):
    text = project.path("params.yaml").read_text()
    project.path("params.yaml").write_text("snapshots: {}\n" + text[text.index("\ntoy:") :])
    assert "snapshots: the list is empty" in message(project.snakemake(expect=2))
    assert "snapshots: the list is empty" in project.dvc("repro", "-f", expect=255)


def test_an_unknown_scheme_is_refused(project: Project):
    project.edit("params.yaml", '"sim:", seed: 2', '"gopher://old", seed: 2')
    assert "unknown source" in message(project.snakemake(expect=2))


def test_a_failing_stage_says_why_and_leaves_the_rest_valid(project: Project):
    before = project.artifacts()
    full = "    raise OSError(28, 'No space left on device', 'x')\n"
    project.edit("scripts/evaluate_model.py", "    params =", f"{full}    params =")
    said = project.snakemake(expect=1)
    assert "evaluate_model failed: x: No space left on device; nothing was published" in message(said)
    assert project.ran() == ["evaluate_model"]
    after = project.artifacts()
    assert after == {name: content for name, content in before.items() if name != "metrics.json"}
    assert not list(project.path("data").rglob(".tmp-*"))
    project.edit("scripts/evaluate_model.py", full, "")
    project.snakemake()
    assert project.ran() == []
    assert project.artifacts() == before


def test_a_stage_that_writes_less_than_it_declares_fails(project: Project):
    project.edit("scripts/clean_raw.py", 'stage.output("summary")', 'stage.output("kept").with_name("misplaced")')
    said = project.snakemake(expect=1)
    assert "did not write its output 'summary'" in said


def test_a_script_runs_by_hand_with_the_command_of_its_docstring(project: Project):
    shutil.rmtree(project.path("data/models"))
    project.run("env", "PYTHONPATH=src", "python", "scripts/train_model.py")  # a copy, beside the installation
    assert project.path("data/models/sft/state.txt").read_text() == "3\n"
    assert "up to date" in project.dvc("status")


def test_an_interpreter_with_a_blank_in_its_path_builds(project: Project, tmp_path):
    venv.create(tmp_path / "my environment", with_pip=False)
    python = tmp_path / "my environment/bin/python"
    places = {sysconfig.get_path("purelib"), str(project.path("src"))}
    (packages,) = (tmp_path / "my environment").glob("lib/*/site-packages")
    (packages / "borrowed.pth").write_text("\n".join(places))
    project.edit("params.yaml", "samples: 4", "samples: 5")
    project.run(str(python), "-m", "snakemake", "--cores", "2")
    assert project.ran() == ["evaluate_model"]


def test_an_ancient_input_is_refused(project: Project):
    project.edit(
        "rules/toy.smk",
        'corpus="data/corpus.txt",\n    output:\n        model',
        'corpus=ancient("data/corpus.txt"),\n    output:\n        model',
    )
    assert "ancient()" in message(project.snakemake(expect=4))


def test_drift_of_the_rules_is_shown_as_a_difference(project: Project):
    project.edit("rules/toy.smk", 'section="toy.evaluation"', 'section=["toy.evaluation", "toy.merge"]')
    assert "make sync" in project.tracemill("why", expect=4)
    for engine in ("snakemake", "dvc"):
        if engine == "dvc":
            project.edit("params.yaml", "samples: 4", "samples: 5")
        said = project.build(engine, expect=None)
        assert "make sync" in said
        assert "+      - toy.merge" in said
    assert project.ran() == []


def test_why_and_show_speak_of_one_stage_and_one_artifact(project: Project):
    project.edit("params.yaml", "samples: 4", "samples: 5")
    said = project.tracemill("why", "evaluate_model")
    assert said.strip() == "evaluate_model is stale: parameter toy.evaluation.samples: 4 -> 5"
    assert "train_model is up to date" in project.tracemill("why", "train_model")
    shown = project.tracemill("show", "data/models/sft")
    assert "made by    train_model (dvc.lock)" in shown
    assert "parameter  toy.training = {'learning_rate': 1e-05, 'steps': 3} (params.yaml)" in shown
    assert "data/corpus.txt" in shown
    assert "built" in shown


@pytest.fixture
def small_disk(project: Project):
    """The project's data on a disk of 256 kB."""
    data = project.path("data")
    kept = project.path("kept")
    data.rename(kept)
    data.mkdir()
    mounted = (
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(data)], check=False).returncode == 0
    )
    if not mounted:
        pytest.skip("mounting a small disk needs root")
    shutil.copytree(kept, data, dirs_exist_ok=True)
    yield data
    subprocess.run(["umount", "--lazy", str(data)], check=True)


def test_a_full_disk_is_one_line_and_the_build_completes_once_there_is_room(project: Project, small_disk):
    filler = small_disk / "filler"
    filler.write_bytes(bytes(200_000))
    project.edit("params.yaml", "seed: 1, episodes: 5", "seed: 1, episodes: 900")
    said = project.snakemake(expect=1)
    assert "No space left on device" in message(said)
    assert not (small_disk / "raw/sim-a.txt").exists()
    filler.unlink()
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    project.snakemake()
    assert NOTHING in project.snakemake()
