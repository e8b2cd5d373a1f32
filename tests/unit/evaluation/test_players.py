"""Waves on several processes are the same episodes as in one."""

import threading
import time

import psutil
import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from tiny_model import save_checkpoint  # noqa: E402
from tracemill.arena.catalog import generate_catalog  # noqa: E402
from tracemill.arena.params import CatalogParams, ProblemParams  # noqa: E402
from tracemill.arena.problems import generate_problems  # noqa: E402
from tracemill.environment.index import build_index  # noqa: E402
from tracemill.environment.params import PlayParams, ScorerParams  # noqa: E402
from tracemill.errors import StageError  # noqa: E402
from tracemill.evaluation.collect import make_jobs  # noqa: E402
from tracemill.evaluation.journal import Journal  # noqa: E402
from tracemill.evaluation.params import RolloutParams  # noqa: E402
from tracemill.evaluation.players import Venue, play_jobs, players  # noqa: E402
from tracemill.evaluation.policies import Sampling  # noqa: E402


@pytest.fixture(scope="module")
def venue(tmp_path_factory):
    folder = tmp_path_factory.mktemp("venue")
    build_index(generate_catalog(CatalogParams(products=60, shops=12)), folder / "index")
    rollouts = RolloutParams(wave=3, live=2, max_context=8192)
    return Venue(rollouts, save_checkpoint(folder / "model"), folder / "index", PlayParams(), ScorerParams())


@pytest.fixture(scope="module")
def jobs():
    products = generate_catalog(CatalogParams(products=60, shops=12))
    problems = generate_problems(products, ProblemParams(problems=10))[:5]
    return make_jobs(problems, 2, Sampling(temperature=1.0, max_new_tokens=12, seed=3))


def test_two_processes_play_what_one_plays(venue, jobs, tmp_path, monkeypatch):
    found = []
    for count in ("1", "2"):
        monkeypatch.setenv("TRACEMILL_PLAYERS", count)
        with Journal(tmp_path / f"{count}.jsonl") as journal:
            found.append(play_jobs(venue, jobs, journal))
            assert sorted(journal.records) == sorted(job.key for job in jobs)
    assert found[0] == found[1]
    assert [record.key for record in found[1]] == [job.key for job in jobs]
    with Journal(tmp_path / "2.jsonl") as journal:  # all of it is held: no checkpoint is opened
        gone = Venue(venue.rollouts, tmp_path / "none", venue.index, venue.play, venue.scorer)
        assert play_jobs(gone, jobs[:6], journal) == found[0][:6]


def test_what_a_process_cannot_open_is_one_error(venue, jobs, tmp_path, monkeypatch):
    monkeypatch.setenv("TRACEMILL_PLAYERS", "2")
    gone = Venue(venue.rollouts, tmp_path / "none", venue.index, venue.play, venue.scorer)
    with Journal(tmp_path / "a.jsonl") as journal, pytest.raises(StageError, match="no checkpoint can be loaded"):
        play_jobs(gone, jobs, journal)


def test_a_process_that_dies_fails_the_stage(venue, jobs, tmp_path, monkeypatch):
    monkeypatch.setenv("TRACEMILL_PLAYERS", "2")

    before = set(psutil.Process().children())

    def kill():
        found = []
        while not found:
            fresh = set(psutil.Process().children()) - before
            found = [p for p in fresh if p.is_running() and "spawn_main" in " ".join(p.cmdline())]
            time.sleep(0.01)
        found[0].kill()

    threading.Thread(target=kill, daemon=True).start()
    with Journal(tmp_path / "a.jsonl") as journal, pytest.raises(StageError, match="died"):
        play_jobs(venue, jobs, journal)


def test_the_number_of_processes_is_where_it_runs(monkeypatch):
    monkeypatch.delenv("TRACEMILL_PLAYERS", raising=False)
    monkeypatch.setenv("TRACEMILL_THREADS", "6")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert players(RolloutParams()) == 6
    assert players(RolloutParams(threads=4)) == 1
    assert players(RolloutParams(backend="expert")) == 1
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    assert players(RolloutParams()) == 1
    monkeypatch.setenv("TRACEMILL_PLAYERS", "3")
    assert players(RolloutParams(threads=4)) == 3
    monkeypatch.setenv("TRACEMILL_PLAYERS", "none")
    with pytest.raises(StageError, match="TRACEMILL_PLAYERS is 'none', expected a number of processes"):
        players(RolloutParams())
