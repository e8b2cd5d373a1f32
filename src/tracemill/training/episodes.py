"""Episodes on training problems: the parent's rollouts, or a teacher's, scored as production scores and kept whole.

What was played is journalled: a run that was killed goes on, and a teacher's answers, which are paid for, are never
asked for twice while problems and settings stay the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from tracemill.environment.index import open_index
from tracemill.environment.params import PlayParams, ScorerParams
from tracemill.environment.problem import Problem, read_problems
from tracemill.environment.titles import load_titles
from tracemill.errors import StageError
from tracemill.evaluation.backends import endpoint_policy, expert_policy
from tracemill.evaluation.collect import Arena, collect, make_jobs, require_sound
from tracemill.evaluation.endpoint import check_served
from tracemill.evaluation.journal import Journal
from tracemill.evaluation.players import Venue, play_jobs
from tracemill.evaluation.policies import Sampling
from tracemill.evaluation.records import EpisodeRecord, write_records
from tracemill.evaluation.suites import hash_order
from tracemill.leakage.pools import TRAIN, Pools, read_pools
from tracemill.training.checkpoint import folder_digest
from tracemill.training.params import SampleParams, TeacherParams

ANSWERS = "answers"
"""Folder of the stage's work that survives success."""


class EpisodeInputs(msgspec.Struct, frozen=True):
    """Files that episodes are played from."""

    problems: Path
    pools: Path
    index: Path


def train_problems(problems: Sequence[Problem], pools: Pools, most: int = 0) -> list[Problem]:
    """The problems of the train pool, each once, by id; `most` of them (0: all) by the hash of their ids."""
    inside = {p.problem_id: p for p in problems if pools.pool_of(p.query, p.gold_ids) == TRAIN}
    chosen = sorted(inside, key=hash_order)[: most or None]
    return [inside[name] for name in sorted(chosen)]


def play_rollouts(
    inputs: EpisodeInputs,
    parent: Path,
    params: SampleParams,
    play: PlayParams,
    scorer: ScorerParams,
    work: Path,
) -> list[EpisodeRecord]:
    """`params.samples` episodes of the parent on each training problem.

    StageError where an endpoint serves something else than the parent, or fails too often.
    """
    sampling = Sampling(params.temperature, params.top_p, params.max_new_tokens, params.seed)
    problems = _problems(inputs, params.most_problems)
    served = params.policy.backend == "endpoint"
    if served:
        check_served(params.policy.endpoint, folder_digest(parent))
    with Journal((work / ANSWERS if served else work) / "rollouts.jsonl") as journal:
        venue = Venue(params.policy, parent, inputs.index, play, scorer)
        records = play_jobs(venue, make_jobs(problems, params.samples, sampling), journal)
    require_sound(records, params.policy.endpoint.max_failed_share)
    return records


def play_teacher(
    inputs: EpisodeInputs, params: TeacherParams, play: PlayParams, scorer: ScorerParams, work: Path
) -> list[EpisodeRecord]:
    """`params.samples` episodes of the teacher on each training problem. StageError where its server fails too
    often.
    """
    sampling = Sampling(params.temperature, 1.0, params.max_new_tokens, params.seed)
    problems = _problems(inputs, params.most_problems)
    arena = Arena(open_index(inputs.index), play, load_titles(scorer))
    policy = expert_policy() if params.backend == "expert" else endpoint_policy(params.endpoint)
    with Journal(work / ANSWERS / "teacher.jsonl") as journal:
        records = collect(policy, make_jobs(problems, params.samples, sampling), arena, journal)
    require_sound(records, params.endpoint.max_failed_share)
    return records


def _problems(inputs: EpisodeInputs, most: int) -> list[Problem]:
    problems = train_problems(list(read_problems(inputs.problems)), read_pools(inputs.pools), most)
    if not problems:
        raise StageError(f"{inputs.pools}: no problem is in the train pool; lower leakage.pools or add problems")
    return problems


def write_episodes(records: Sequence[EpisodeRecord], out: Path, summary: Path) -> None:
    """Write the episodes, and what they yield, by category."""
    write_records(records, out)
    summary.write_bytes(msgspec.json.format(msgspec.json.encode(yield_of(records)), indent=1) + b"\n")


def yield_of(records: Sequence[EpisodeRecord]) -> dict[str, Any]:
    """Counts by category: episodes, successes, problems, solved ones, and groups with successes and failures."""
    groups: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for record in records:
        groups[(record.problem.category, record.problem.problem_id)].append(record.success)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for (category, _), wins in sorted(groups.items()):
        for name in (category, "all"):
            counts[name]["episodes"] += len(wins)
            counts[name]["successes"] += sum(wins)
            counts[name]["problems"] += 1
            counts[name]["solved"] += any(wins)
            counts[name]["mixed"] += 0 < sum(wins) < len(wins)
    return {
        "in": len(records),
        "kept": sum(r.success for r in records),
        "dropped": dict(sorted(Counter(r.outcome for r in records if not r.success).items())),
        "by_category": {name: dict(counts[name]) for name in sorted(counts)},
    }
