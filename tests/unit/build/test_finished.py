import os
from pathlib import Path

import pytest

from tracemill.build.finished import bring_back, keep, let_go

OLD = "schema: '2.0'\nstages:\n  train:\n    cmd: old\n  other:\n    cmd: same\n"
WORK = Path("work/0123")


@pytest.fixture
def made(tmp_path, monkeypatch) -> dict[str, Path]:
    """Two outputs that have just been made, and a lock file that knows an older state of their stage."""
    monkeypatch.chdir(tmp_path)
    WORK.mkdir(parents=True)
    Path("dvc.lock").write_text(OLD)
    made = {"model": Path(".tmp-1-model"), "curve": Path(".tmp-1-curve")}
    (made["model"] / "inner").mkdir(parents=True)
    (made["model"] / "inner/weights").write_text("weights")
    made["curve"].write_text("curve")
    keep(WORK, made, "dvc.lock", "train")
    return made


def lost(made: dict[str, Path]) -> dict[str, Path]:
    (made["model"] / "inner/weights").unlink()
    made["curve"].unlink()
    return {name: Path(f".tmp-2-{name}") for name in made}


def test_lost_outputs_come_back_under_new_names(made):
    again = lost(made)
    assert bring_back(WORK, again)
    assert (again["model"] / "inner/weights").read_text() == "weights"
    assert again["curve"].read_text() == "curve"


def test_they_take_no_room(made):
    assert os.stat(made["curve"]).st_ino == os.stat(WORK / "finished/curve").st_ino


def test_what_was_edited_in_place_does_not_come_back(made):
    made["curve"].write_text("forged")
    again = {name: Path(f".tmp-2-{name}") for name in made}
    assert not bring_back(WORK, again)
    assert not any(path.exists() for path in again.values())


def test_they_stay_until_the_lock_file_knows_their_stage_anew(made):
    Path("dvc.lock").write_text(OLD.replace("cmd: same", "cmd: other"))
    let_go(Path("work"))
    assert bring_back(WORK, lost(made))
    Path("dvc.lock").write_text(OLD.replace("cmd: old", "cmd: new"))
    let_go(Path("work"))
    assert not WORK.exists()


def test_a_half_kept_set_is_not_used(made):
    (WORK / "finished").rename(WORK / "finished.new")
    assert not bring_back(WORK, lost(made))
