"""What the commands say where there is nothing to work on, and that they leave nothing behind."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tracemill.build.workspace import make_workspace
from tracemill.cli import app
from tracemill.errors import InputError, ParamsError

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("command", "kind", "said"),
    [
        (["sync"], ParamsError, "params.yaml: no such file; run this in the folder of a project"),
        (["export"], ParamsError, "params.yaml: no such file; run this in the folder of a project"),
        (["export-model", "sft"], InputError, "build it first with `snakemake --cores all`"),
        (["ledger"], InputError, "build the split first with `snakemake --cores all leakage`"),
        (["serve-model", "sft"], InputError, "sft: no checkpoint; expected a folder with config.json"),
        (["compare-checkpoints", "sft", "kto"], InputError, "sft: no episodes were played; there are those of no"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_command_without_a_project_says_what_to_do_and_writes_nothing(tmp_path, monkeypatch, command, kind, said):
    monkeypatch.chdir(tmp_path)
    failure = CliRunner().invoke(app, command).exception
    assert isinstance(failure, kind)
    assert said in str(failure)
    assert os.listdir(tmp_path) == []


def test_no_terminal_obeys_what_an_error_quotes(tmp_path):
    (tmp_path / "p.jsonl").touch()
    (tmp_path / "c\x1b]0;t\x07\r.jsonl").write_text("7\n")
    command = ["check-problems", "--problems", "p.jsonl", "--catalog", "c\x1b]0;t\x07\r.jsonl"]
    done = subprocess.run([sys.executable, "-m", "tracemill.cli", *command], cwd=tmp_path, capture_output=True)
    told = done.stderr.decode()
    assert told.startswith("tracemill: c ]0;t  .jsonl:1: int, expected a product")
    assert told.rstrip("\n").isprintable()


@pytest.mark.parametrize("command", [["serve-model", "sft"], ["serve-catalog", "--catalog", "index"]])
def test_a_port_that_there_is_not_is_refused(command):
    refused = CliRunner().invoke(app, [*command, "--port", "65536"])
    assert (refused.exit_code, "65535" in refused.output) == (2, True)


def test_comparing_names_the_checkpoints_that_played(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("sft", "base"):
        (tmp_path / "data" / "evaluation" / name).mkdir(parents=True)
        (tmp_path / "data" / "evaluation" / name / "episodes.jsonl.zst").touch()
    failure = CliRunner().invoke(app, ["compare-checkpoints", "sfd", "base"]).exception
    assert str(failure) == "sfd: no episodes were played; there are those of base, sft"


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    shutil.copy(ROOT / "params.yaml", folder)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    ("profiles", "setting", "said"),
    [
        (["papr"], "training.rows.max_length=512", "no profile 'papr'"),
        ([], "training.rows.max_lenght=512", "training.rows.max_lenght: unknown name .* did you mean 'max_length'"),
        ([], "training.rows.max_length=many", 'training.rows.max_length: .*found "many"'),
    ],
)
def test_a_workspace_with_a_wrong_value_is_not_left_half_made(project, profiles, setting, said):
    target = project.parent / "copies" / "one"
    with pytest.raises(ParamsError, match=said):
        make_workspace(target, profiles, [setting])
    assert not target.exists()


@pytest.mark.parametrize(
    ("target", "said"),
    [("params.yaml", "params.yaml: not an empty folder"), ("/proc/copy", "/proc/copy: No such file")],
)
def test_a_folder_that_cannot_be_made_is_one_line(project, target, said):
    command = [sys.executable, "-m", "tracemill.cli", "workspace", target]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert done.stderr.startswith(f"tracemill: {said}")
    assert done.stderr.count("\n") == 1
    assert (project / "params.yaml").is_file()


def test_why_refuses_a_stage_that_there_is_not(project):
    (project / "dvc.yaml").write_text(
        "stages:\n  train_sft-sft: {cmd: touch a, outs: [a]}\n  train_sft-more: {cmd: touch b, outs: [b]}\n"
    )
    subprocess.run(["dvc", "init", "--quiet"], check=True)
    asked = CliRunner().invoke(app, ["why", "train_sft-sft"])
    assert asked.output == "train_sft-sft is stale: never built\n"
    failure = CliRunner().invoke(app, ["why", "train_sft"]).exception
    assert str(failure) == "no stage is called 'train_sft'; did you mean train_sft-more, train_sft-sft?"
    failure = CliRunner().invoke(app, ["why", "xyz"]).exception
    assert str(failure) == "no stage is called 'xyz'; `dvc stage list --all` lists them"
