"""Jobs in, records out: play what the journal does not hold yet, score it, and return everything in the order of the
jobs.

A batched model's floating point depends on what shares its batch. So its jobs are cut into waves that depend on the
list alone, and a wave is written down whole: a run that was killed repeats at most one wave and ends with the same
bytes. A server's answers do not depend on their neighbours and are paid for: there every episode is written down by
itself.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from tracemill.environment.episode import Episode
from tracemill.environment.grading import grade_dialogue
from tracemill.environment.params import PlayParams
from tracemill.environment.problem import Problem
from tracemill.environment.titles import Titles
from tracemill.errors import StageError
from tracemill.evaluation.outcomes import FAULTS
from tracemill.evaluation.policies import ConcurrentPolicy, Policy, Reply, Sampling
from tracemill.evaluation.records import EpisodeRecord, make_record
from tracemill.evaluation.rollouts import play

if TYPE_CHECKING:
    from tracemill.environment.backend import CatalogBackend
    from tracemill.evaluation.journal import Journal

logger = logging.getLogger(__name__)


class Job(msgspec.Struct, frozen=True):
    """One episode to play; `key` must be distinct among the jobs of a run."""

    key: str
    problem: Problem
    sampling: Sampling
    sample: int = 0
    problem_key: str = ""
    suites: tuple[str, ...] = ()


class Arena(msgspec.Struct, frozen=True):
    """Where jobs are played and how they are scored."""

    catalog: CatalogBackend
    play: PlayParams
    titles: Titles | None = None


def make_jobs(problems: Sequence[Problem], samples: int, sampling: Sampling, prefix: str = "") -> list[Job]:
    """Return `samples` jobs for each problem, all samples of a problem together; problems must have distinct ids."""
    return [
        Job(f"{prefix}{problem.problem_id}#{sample}", problem, sampling, sample)
        for problem in problems
        for sample in range(samples)
    ]


def waves_of(jobs: Sequence[Job], wave: int) -> list[Sequence[Job]]:
    """Cut the jobs into runs of `wave`; the last may be shorter."""
    return [jobs[start : start + wave] for start in range(0, len(jobs), wave)]


def collect(
    policy: Policy | ConcurrentPolicy,
    jobs: Sequence[Job],
    arena: Arena,
    journal: Journal | None = None,
    wave: int = 128,
    live: int = 0,
) -> list[EpisodeRecord]:
    """Return one record per job, in order. Jobs whose record the journal holds are not played; at most `live` (0: a
    whole wave) are under way at once.
    """
    done = journal.records if journal is not None else {}
    records: dict[str, EpisodeRecord] = {}
    concurrent = isinstance(policy, ConcurrentPolicy)
    wave = max(len(jobs), 1) if concurrent else wave
    for part in waves_of(jobs, wave):
        held = {job.key: done[job.key] for job in part if job.key in done}
        todo = [job for job in part if job.key not in held] if concurrent or len(held) == len(part) else part
        records.update(held)
        if todo:
            records.update(_play_wave(policy, todo, arena, journal, live))
            logger.info("%d of %d episodes played", len(records), len(jobs))
    return [records[job.key] for job in jobs]


def _play_wave(
    policy: Policy | ConcurrentPolicy, jobs: Sequence[Job], arena: Arena, journal: Journal | None, live: int
) -> dict[str, EpisodeRecord]:
    each = isinstance(policy, ConcurrentPolicy)
    episodes = [Episode(arena.catalog, job.problem, arena.play) for job in jobs]
    made: dict[str, EpisodeRecord] = {}

    def ended(i: int, replies: list[Reply]) -> None:
        record = _record(jobs[i], episodes[i], replies, arena, policy.name)
        made[record.key] = record
        if each and journal is not None and record.outcome not in FAULTS:
            journal.add([record])

    play(policy, episodes, [job.sampling for job in jobs], [job.key for job in jobs], ended, live)
    if not each and journal is not None and not faults(made.values()):
        journal.add(made[job.key] for job in jobs)
    return made


def faults(records: Iterable[EpisodeRecord]) -> list[EpisodeRecord]:
    """Episodes that say something about a server and nothing about the model."""
    return [record for record in records if record.outcome in FAULTS]


def require_sound(records: Sequence[EpisodeRecord], max_failed_share: float) -> None:
    """Raise StageError where more than `max_failed_share` of the episodes ended with a fault of a server."""
    failed = faults(records)
    if len(failed) > max_failed_share * len(records):
        counts = dict(sorted(Counter(record.outcome for record in failed).items()))
        raise StageError(
            f"{len(failed)} of {len(records)} episodes ended with a fault of a server {counts}, at most "
            f"{max_failed_share:.0%} may; first {failed[0].key}: {failed[0].detail or failed[0].outcome}; "
            "start again: finished episodes are kept"
        )


def _record(job: Job, episode: Episode, replies: Sequence[Reply], arena: Arena, policy: str) -> EpisodeRecord:
    grade = grade_dialogue(episode.problem, episode.dialogue(), arena.catalog, arena.titles)
    return make_record(
        job.key,
        episode,
        grade,
        replies,
        job.sampling,
        sample=job.sample,
        policy=policy,
        problem_key=job.problem_key,
        suites=job.suites,
    )
