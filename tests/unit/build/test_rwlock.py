import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from tracemill.build.rwlock import drop_dead_holders


@pytest.fixture
def table(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    subprocess.run(["dvc", "init", "--no-scm", "-q"], check=True)
    return Path(".dvc/tmp/rwlock")


@pytest.fixture
def process():
    with subprocess.Popen(["sleep", "600"]) as one:
        yield one.pid
        one.kill()


def held_by(pid: int) -> dict:
    holder = {"pid": pid, "cmd": "dvc repro"}
    return {"write": {"/x/model": holder}, "read": {"/x/corpus": [holder]}}


def mend() -> None:
    from dvc.repo import Repo

    with Repo() as repo:
        drop_dead_holders(repo)


@pytest.mark.parametrize("text", ["", '{"write": {"/x/model": {"pid"', "[]", '{"write": {"/x/model": 7}}'])
def test_a_table_that_was_cut_stops_nobody(table, text):
    table.write_text(text)
    mend()
    assert json.loads(table.read_text()) == {}


def test_a_number_that_was_given_to_a_younger_process_holds_nothing(table, process):
    table.write_text(json.dumps(held_by(process)))
    before = time.time() - 3600
    os.utime(table, (before, before))
    mend()
    assert json.loads(table.read_text()) == {"write": {}, "read": {"/x/corpus": []}}


def test_a_living_holder_stays(table, process):
    table.write_text(json.dumps(held_by(process)))
    mend()
    assert json.loads(table.read_text()) == held_by(process)
