"""The one line that a failed stage leaves on the terminal."""

import json
import subprocess
from dataclasses import asdict
from pathlib import Path

import pytest

from tracemill.build.declare import Declaration
from tracemill.build.job import _cause

DVC = "ERROR: failed to reproduce 'train': failed to run: python -m tracemill.build.run scripts/train.py, exited with 1"
TRACE = """\
Traceback (most recent call last):
  File "scripts/train.py", line 17, in <module>
    run(main)
ValueError: two columns
"""
LAUNCHER = """\
Traceback (most recent call last):
  File "launch.py", line 9, in simple_launcher
    raise subprocess.CalledProcessError(returncode=process.returncode, cmd=cmd)
subprocess.CalledProcessError: Command 'train.py' returned non-zero exit status 1.
"""


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (TRACE, "ValueError: two columns"),
        (TRACE + LAUNCHER, "ValueError: two columns"),
        ("INFO: reading\ntracemill: raw:3: no JSON\n" + TRACE, "raw:3: no JSON"),
        ("Killed\n", DVC),
    ],
    ids=["exception", "launched", "expected", "killed"],
)
def test_a_failed_stage_says_what_went_wrong_rather_than_that_it_failed(tmp_path, said, cause):
    log = tmp_path / "train.log"
    log.write_text(f"Running stage 'train':\n{said}{DVC}\n")
    assert _cause("train", str(log)) == cause


FULL = "ERROR: failed to transfer 'ddb0' - [Errno 28] No space left on device: 'data/raw' -> '.dvc/cache/dd/b0'"
LOST = "ERROR: failed to transfer 'ddb0' - [Errno 2] No such file or directory: '/store/dd/b0'"
SILENT = "ERROR: unexpected error - [Errno 111] Connect call failed ('127.0.0.1', 9)"
RAN = "Running stage 'train':\n> python -m tracemill.build.run scripts/train.py\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A DVC project with a default remote and one remembered stage."""
    folder = tmp_path_factory.mktemp("project")
    subprocess.run(["dvc", "init", "--no-scm", "-q"], cwd=folder, check=True)
    subprocess.run(["dvc", "remote", "add", "-d", "-q", "store", "/store"], cwd=folder, check=True)
    stage = Declaration("train", {}, {}, {"model": "data/model"}, ["data/model"], [], "")
    (folder / ".tracemill").mkdir()
    (folder / ".tracemill/graph.json").write_text(json.dumps({"stages": [asdict(stage)]}))
    return folder


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (RAN + FULL, "the cache cannot take data/model (failed to transfer"),
        (FULL, "the cache cannot take data/model (failed to transfer"),
        (LOST, "the remote gave only a part of data/model (failed to transfer"),
        (SILENT, "the remote 'store' does not answer ([Errno 111]"),
        (RAN + SILENT, "ERROR: unexpected error - [Errno 111]"),
        (RAN + "tracemill: no\nERROR: failed to reproduce 'train': failed to run: x", "no"),
        (RAN + "ValueError: no\nmore", "ValueError: no"),
        (RAN, "no message"),
    ],
    ids=["full after", "full before", "lost", "silent before", "silent after", "ours", "another", "none"],
)
def test_the_line_that_says_most_is_told(folder, monkeypatch, log, said):
    monkeypatch.chdir(folder)
    Path("log").write_text(log)
    assert _cause("train", "log").startswith(said)
