"""Waves of episodes on several processes of this machine, each with a copy of the model of its own.

What a wave's episodes are depends on nothing outside the wave, so the number of processes changes no byte: it belongs
to where a stage runs.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import msgspec

from tracemill.environment.index import open_index
from tracemill.environment.params import PlayParams, ScorerParams
from tracemill.environment.titles import load_titles
from tracemill.errors import StageError
from tracemill.evaluation.backends import make_policy
from tracemill.evaluation.collect import Arena, Job, collect, faults, waves_of
from tracemill.evaluation.journal import Journal
from tracemill.evaluation.params import RolloutParams
from tracemill.evaluation.records import EpisodeRecord

logger = logging.getLogger(__name__)

PLAYERS = "TRACEMILL_PLAYERS"
THREADS = "TRACEMILL_THREADS"


class Venue(msgspec.Struct, frozen=True):
    """What plays, where, and how it is scored: all that a process needs to play."""

    rollouts: RolloutParams
    checkpoint: Path | None
    index: Path
    play: PlayParams
    scorer: ScorerParams

    def arena(self) -> Arena:
        """The catalogue, opened."""
        return Arena(open_index(self.index), self.play, load_titles(self.scorer))


def play_jobs(venue: Venue, jobs: Sequence[Job], journal: Journal) -> list[EpisodeRecord]:
    """Return one record per job, in order; waves that the journal holds whole are not played again.

    StageError where a checkpoint cannot be opened, a server does not answer, or a process dies.
    """
    rollouts, held = venue.rollouts, journal.records
    waves = [wave for wave in waves_of(jobs, rollouts.wave) if any(job.key not in held for job in wave)]
    count = min(players(rollouts), len(waves))
    if count == 1:
        policy = make_policy(rollouts, venue.checkpoint)
        return collect(policy, jobs, venue.arena(), journal, rollouts.wave, rollouts.live)
    records = {**held, **(_play_in_processes(venue, waves, journal, count) if waves else {})}
    return [records[job.key] for job in jobs]


def players(rollouts: RolloutParams) -> int:
    """How many processes play: TRACEMILL_PLAYERS; else one for each core that the scheduler or the system gives this
    process, but one alone on a GPU, for a server and for the script. StageError for a number below 1.
    """
    if rollouts.backend in ("endpoint", "expert"):
        return 1
    given = os.environ.get(PLAYERS, "")
    if given:
        if not given.isdecimal() or int(given) < 1:
            raise StageError(f"{PLAYERS} is {given!r}, expected a number of processes, at least 1")
        return int(given)
    if rollouts.backend == "vllm" or _devices():
        return 1
    cores = int(os.environ.get(THREADS) or len(os.sched_getaffinity(0)))
    return max(cores // rollouts.threads, 1)


def _play_in_processes(
    venue: Venue, waves: Sequence[Sequence[Job]], journal: Journal, count: int
) -> dict[str, EpisodeRecord]:
    context = multiprocessing.get_context("spawn")
    numbers = context.SimpleQueue()
    for number in range(count):
        numbers.put(number)
    records: dict[str, EpisodeRecord] = {}
    try:
        with ProcessPoolExecutor(count, context, _begin, (venue, numbers)) as pool:
            pending = [pool.submit(_play_wave, wave) for wave in waves]
            try:
                for done, future in enumerate(as_completed(pending), 1):
                    made = future.result()
                    if not faults(made):
                        journal.add(made)
                    records.update((record.key, record) for record in made)
                    logger.info("%d of %d waves played", done, len(waves))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    except BrokenProcessPool as error:
        raise StageError(
            "a process that played episodes died, out of memory perhaps; set TRACEMILL_PLAYERS=1"
        ) from error
    return records


class _Player:
    """What a process that plays keeps from wave to wave."""

    venue: Venue
    opened: tuple[Any, Arena] | None = None


def _begin(venue: Venue, numbers: Any) -> None:
    """Make this process a player: on a GPU of its own where there are several, and gone when its parent is."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    _take_device(numbers.get())
    _Player.venue = venue


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _take_device(number: int) -> None:
    """Let this process see one GPU, the `number`th of those that its parent sees; torch must not be in use yet."""
    devices = _devices()
    if devices:
        os.environ["CUDA_VISIBLE_DEVICES"] = devices[number % len(devices)]


def _devices() -> list[str]:
    """The NVIDIA GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them; torch takes seconds to say so."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return [name for name in named.split(",") if name]
    return sorted((path.name.removeprefix("nvidia") for path in Path("/dev").glob("nvidia[0-9]*")), key=int)


def _play_wave(jobs: Sequence[Job]) -> list[EpisodeRecord]:
    venue = _Player.venue
    if _Player.opened is None:  # not before a wave is asked for: here an error has a way back
        _Player.opened = make_policy(venue.rollouts, venue.checkpoint), venue.arena()
    policy, arena = _Player.opened
    return collect(policy, jobs, arena, None, len(jobs), venue.rollouts.live)
