import os
import time
from pathlib import Path

import pytest

from tracemill.build.declare import Declaration
from tracemill.build.stamps import project_status
from tracemill.errors import InputError


def stage(name: str, inputs: list[str], output: str) -> Declaration:
    return Declaration(name, {}, {"files": inputs}, {"made": output}, [], [], "")


CHAIN = [stage("clean", ["raw"], "clean.out"), stage("train", ["clean.out"], "model")]


@pytest.fixture
def files(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, age in (("raw", 10), ("clean.out", 20), ("model", 30)):
        Path(name).write_text(name)
        os.utime(name, (1_000_000 - age, 1_000_000 - age))
    return tmp_path


def times(*names: str) -> list[int]:
    return [Path(name).lstat().st_mtime_ns for name in names]


def test_times_of_settled_outputs_rise_to_their_inputs_along_the_chain(files):
    project_status(CHAIN, {})
    raw, clean, model = times("raw", "clean.out", "model")
    assert raw == clean == model == 999_990 * 10**9


def test_fresh_stamps_are_dated_to_the_epoch(files):
    project_status(CHAIN, {})
    assert times(".snakemake/stages/clean", ".snakemake/stages/train") == [0, 0]


def test_marks_of_interrupted_jobs_are_not_heard(files):
    mark = Path(".snakemake/incomplete/folder/bW9kZWw=")
    mark.parent.mkdir(parents=True)
    mark.touch()
    project_status(CHAIN, {})
    assert not mark.exists()


def test_a_stale_stamp_is_newer_than_its_outputs_even_if_those_are_of_the_future(files):
    future = time.time() + 10**6
    os.utime("model", (future, future))
    project_status(CHAIN, {"train": ["parameter x: 1 -> 2"]})
    stamp, model = times(".snakemake/stages/train", "model")
    assert stamp > model
    assert Path(".snakemake/stages/train").read_text().startswith("parameter x: 1 -> 2\n")


def test_two_stale_stamps_never_hold_the_same_text(files):
    texts = set()
    for _ in range(2):
        project_status(CHAIN, {"train": ["same reason"]})
        texts.add(Path(".snakemake/stages/train").read_text())
    assert len(texts) == 2


def test_of_a_symlink_the_link_is_dated_never_its_target(files):
    Path("cache").write_text("object")
    os.utime("cache", (5, 5))
    Path("model").unlink()
    Path("model").symlink_to("cache")
    os.utime("model", (6, 6), follow_symlinks=False)
    project_status(CHAIN, {})
    assert times("model", "cache") == [999_990 * 10**9, 5 * 10**9]


def test_hard_links_to_one_object_reach_a_fixed_point(files):
    Path("clean.out").unlink()
    os.link("raw", "clean.out")
    os.utime("raw", (500_000, 500_000))
    Path("late").write_text("late")
    os.utime("late", (999_995, 999_995))
    chain = [stage("copy", ["raw", "late"], "clean.out"), stage("train", ["clean.out"], "model")]
    project_status(chain, {})
    assert times("clean.out", "model") == [999_995 * 10**9] * 2


def test_a_folder_carries_its_time_in_snakemakes_own_file(files):
    Path("folder").mkdir()
    os.utime("folder", (5, 5))
    project_status([stage("train", ["raw"], "folder")], {})
    assert times("folder/.snakemake_timestamp") == [999_990 * 10**9]


def test_a_cache_of_someone_else_is_one_clear_line(files, monkeypatch):
    def refuse(*arguments, **options):
        raise PermissionError(1, "Operation not permitted")

    Path(".snakemake/stages").mkdir(parents=True)
    project_status(CHAIN, {})
    os.utime("raw")
    monkeypatch.setattr(os, "utime", refuse)
    with pytest.raises(InputError, match="the DVC cache is someone else's"):
        project_status(CHAIN, {})
