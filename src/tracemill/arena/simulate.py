"""A snapshot of the built-in arena: miners play problems, and the sandbox writes one envelope for each episode.

The envelopes are those of SN15: problem id, status, times, inference counts, error, dialogue, and the validator's
provenance, score and judgement. The same problems, catalogue, parameters and seed give the same bytes; an episode
depends on seed and its own number, so a longer snapshot begins like a shorter one (a very small one need not hold every
kind of miner).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tracemill.arena import faults
from tracemill.arena.damage import DAMAGES, encode
from tracemill.arena.judge import judge
from tracemill.arena.miners import MINERS, Failure, Miner, agent_version_of, hotkey_of
from tracemill.arena.params import MinerParams
from tracemill.arena.recorder import Recorder
from tracemill.environment.grading import grade_dialogue
from tracemill.environment.problem import Problem
from tracemill.environment.scorer import SCORER_VERSION
from tracemill.errors import InputError, ParamsError

if TYPE_CHECKING:
    from tracemill.environment.backend import CatalogBackend

EPOCH = 1_750_000_000_000
DAY = 86_400_000
EPISODE = 60_000
VALIDATORS = 3
_KINDS_FROM = (faults,)  # importing the module registers its kinds

Envelope = dict[str, Any]


def simulate(
    problems: Sequence[Problem], catalog: CatalogBackend, params: MinerParams, seed: int, episodes: int
) -> Iterator[Envelope]:
    """Yield `episodes` envelopes. Problems whose reward names no product are not played: there is nothing to find.

    Raises InputError without problems, ParamsError for a kind of miner that does not exist.
    """
    problems = [problem for problem in problems if problem.rewards]
    if not problems:
        raise InputError("no problem has a reward, so there is nothing to play; look at environment.problems")
    unknown = sorted(set(params.kinds) - set(MINERS))
    if unknown:
        raise ParamsError(f"arena.miners.kinds: no miner {unknown[0]!r}; there are {', '.join(sorted(MINERS))}")
    kinds = [name for name in sorted(params.kinds) if params.kinds[name] > 0]
    weights = [params.kinds[name] for name in kinds]
    order = _order(problems, seed)
    featured = order[: params.featured_problems]
    for number in range(episodes):
        rng = random.Random(f"episode/{seed}/{number}")
        # the first episodes bring each kind once, so that no snapshot of some size lacks one
        kind = kinds[number] if number < len(kinds) and episodes >= 4 * len(kinds) else rng.choices(kinds, weights)[0]
        problem = rng.choice(featured) if rng.random() < params.featured else order[number % len(order)]
        yield _envelope(MINERS[kind], problem, catalog, params, rng, EPOCH + seed * DAY + number * EPISODE)


def write_lines(envelopes: Iterator[Envelope], params: MinerParams, episodes: int) -> Iterator[bytes]:
    """Yield the lines of a snapshot: every envelope, and among them copies that arrived broken, each kind in turn."""
    wanted = round(params.damaged * episodes)
    every = max(1, episodes // wanted) if wanted else episodes + 1
    names = list(DAMAGES)
    broken = 0
    for number, envelope in enumerate(envelopes):
        yield encode(envelope)
        if broken < wanted and number >= every * broken and envelope["status"] == "SUCCESS" and envelope["dialogue"]:
            yield DAMAGES[names[broken % len(names)]](envelope)
            broken += 1


def _order(problems: Sequence[Problem], seed: int) -> list[Problem]:
    """The problems in the race's order: shuffled anew for each snapshot."""
    return random.Random(f"order/{seed}").sample(list(problems), len(problems))


def _envelope(
    miner: Miner, problem: Problem, catalog: CatalogBackend, params: MinerParams, rng: random.Random, start: int
) -> Envelope:
    hotkey = rng.randrange(miner.hotkeys)
    recorder = Recorder(catalog, problem, rng, start, miner.logged)
    status, error, keep = "SUCCESS", None, True
    try:
        miner.play(recorder, hotkey, rng)
    except Failure as failure:
        status, error, keep = failure.status, {"type": failure.kind, "message": failure.message}, failure.keep_steps
    seconds = round(recorder.milliseconds / 1_000, 3)
    dialogue = recorder.steps if keep else None
    if dialogue:
        dialogue[0]["extra_info"]["execution_time"] = seconds
    envelope: Envelope = {
        "problem_id": problem.problem_id,
        "status": status,
        "execution_time": seconds,
        "inference_failure_count": 1 if error and rng.random() < 0.3 else 0,
        "inference_total": recorder.inference_total,
        "error": error,
        "dialogue": dialogue,
        "miner_hotkey": hotkey_of(miner.kind, hotkey),
        "agent_version_id": agent_version_of(miner.kind, hotkey),
        "validator_hotkey": hotkey_of("validator", rng.randrange(VALIDATORS)),
    }
    if status == "SUCCESS" and dialogue:
        envelope |= _judged(problem, dialogue, catalog, params, rng)
    return envelope


def _judged(
    problem: Problem, dialogue: list[Envelope], catalog: CatalogBackend, params: MinerParams, rng: random.Random
) -> Envelope:
    """Score, judgement and scorer version; some episodes no judge has seen."""
    grade = grade_dialogue(problem, dialogue, catalog, explain=False)
    judged: Envelope = {"scoring_version": SCORER_VERSION}
    if grade.score is not None:  # production raises for some dialogues and leaves the score out
        judged["score"] = {**grade.score, "success": float(grade.success)}
    if rng.random() >= params.unjudged:
        messages = [step["completion"]["message"] for step in dialogue]
        acting = sum(1 for message in messages if message.get("tool_call"))
        verdict = judge([message.get("think", "") for message in messages], acting, problem.query)
        judged["reasoning"] = {"score": verdict.score, "explanation": verdict.explanation, "model": verdict.model}
    return judged
