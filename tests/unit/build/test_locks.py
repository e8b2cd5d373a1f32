import subprocess
import sys

import pytest

from tracemill.build import locks
from tracemill.errors import BusyError

HOLD = """
import sys, time
from pathlib import Path
from tracemill.build import locks
locks.acquire(Path(sys.argv[1]), "it", 0)
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path / "lock")], stdout=subprocess.PIPE)
    process.stdout.readline()
    yield process
    process.kill()
    process.wait()


def test_the_loser_names_the_holder(tmp_path, holder):
    with pytest.raises(BusyError, match=f"the build is held by process {holder.pid} "):
        locks.acquire(tmp_path / "lock", "the build", 0.0)


def test_a_killed_holder_leaves_the_lock_free(tmp_path, holder):
    holder.kill()
    holder.wait()
    with locks.held(tmp_path / "lock", "the build", 0.0):
        assert "process" in (tmp_path / "lock").read_text()


def test_patience_outlasts_a_holder_that_is_just_leaving(tmp_path, holder):
    subprocess.Popen([sys.executable, "-c", f"import os, time; time.sleep(0.3); os.kill({holder.pid}, 9)"])
    locks.release(locks.acquire(tmp_path / "lock", "the build", 30.0))


def test_each_stage_has_a_lock_of_its_own():
    names = {str(locks.stage_lock(one)) for one in ("train", "snapshots/a/dvc.yaml:x", "snapshots/b/dvc.yaml:x")}
    assert len(names) == 3
