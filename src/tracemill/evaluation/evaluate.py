"""One checkpoint plays its suites: a greedy episode for every problem, drawn ones for pass@k.

Beside the episodes stands what they are about: digests of checkpoint, template, settings and suites. Results with equal
digests are the same result, others are compared on the problems that they share. What the episodes say is computed
apart (evaluation.measure), so that a new metric costs no model call.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from tracemill.environment.params import PlayParams, ScorerParams
from tracemill.environment.problem import digest
from tracemill.environment.scorer import SCORER_VERSION
from tracemill.environment.stage_params import play_params
from tracemill.evaluation.collect import Job, require_sound
from tracemill.evaluation.journal import Journal
from tracemill.evaluation.params import RolloutParams, SamplingParams, SuiteParams
from tracemill.evaluation.players import Venue, play_jobs
from tracemill.evaluation.policies import Sampling
from tracemill.evaluation.records import EVAL_SUITE, EpisodeRecord, write_records
from tracemill.evaluation.suites import PROTECTED_FULL, SuiteProblem, Suites, hash_order, load_suites
from tracemill.stage import Stage

logger = logging.getLogger(__name__)


class Settings(msgspec.Struct, frozen=True):
    """All that decides how a checkpoint plays and is scored."""

    rollouts: RolloutParams
    sampling: SamplingParams
    play: PlayParams
    scorer: ScorerParams

    def as_expert(self) -> Settings:
        """The same with the scripted expert in the place of a model."""
        return msgspec.structs.replace(self, rollouts=self.rollouts.model_copy(update={"backend": "expert"}))

    def digest(self) -> str:
        """SHA-256 of what changes an episode; where and how fast it is played is left out."""
        rollouts = self.rollouts.model_dump(mode="json")
        endpoint = {"url": self.rollouts.endpoint.url, "model": self.rollouts.endpoint.model}
        parts = [self.sampling.model_dump(mode="json"), self.play.model_dump(mode="json"), SCORER_VERSION]
        return digest([{**rollouts, "endpoint": endpoint}, *parts, self.scorer.model_dump(mode="json")])


def stage_settings(stage: Stage) -> Settings:
    """The settings of a stage, from the sections `evaluation.rollouts`, `evaluation.sampling`, `environment.scorer` and
    those of `play_params`; StageError where its rule does not declare one.
    """
    return Settings(
        rollouts=stage.params("evaluation.rollouts", RolloutParams),
        sampling=stage.params("evaluation.sampling", SamplingParams),
        play=play_params(stage),
        scorer=stage.params("environment.scorer", ScorerParams),
    )


class Inputs(msgspec.Struct, frozen=True):
    """Files of an evaluation; `model` is None where no checkpoint is played."""

    model: Path | None
    problems: Path
    protected: list[Path]
    pools: Path
    index: Path


def play_checkpoint(
    name: str, inputs: Inputs, episodes: Path, played: Path, suites: SuiteParams, settings: Settings, work: Path
) -> None:
    """Play the checkpoint `name`; write its episodes, and to `played` what they are about.

    Finished episodes under `work` are not played again.
    """
    selected = load_suites(inputs.problems, inputs.protected, inputs.pools, suites.names, suites.most_problems)
    if not selected.problems:
        logger.warning("no problem is in the suites %s: the rates of %s are unknown", ", ".join(suites.names), name)
    write_records(play_suites(selected.problems, inputs, settings, work), episodes)
    about = describe(name, selected, inputs.model, settings)
    played.write_bytes(msgspec.json.format(msgspec.json.encode(about), indent=1) + b"\n")


def play_suites(
    problems: Sequence[SuiteProblem], inputs: Inputs, settings: Settings, work: Path
) -> list[EpisodeRecord]:
    """Play the greedy and the drawn episodes of these problems; journalled under `work`."""
    scripted = settings.rollouts.backend == "expert"
    jobs = [*greedy_jobs(problems, settings.sampling), *([] if scripted else drawn_jobs(problems, settings.sampling))]
    if not jobs:
        return []
    venue = Venue(settings.rollouts, inputs.model, inputs.index, settings.play, settings.scorer)
    with Journal(work / "episodes.jsonl") as journal:
        records = play_jobs(venue, jobs, journal)
    require_sound(records, settings.rollouts.endpoint.max_failed_share)
    return records


def greedy_jobs(problems: Sequence[SuiteProblem], params: SamplingParams) -> list[Job]:
    """One episode a problem at temperature 0."""
    sampling = Sampling(0.0, 1.0, params.max_new_tokens, params.seed)
    return [Job(f"{p.problem.problem_id}#greedy", p.problem, sampling, 0, p.key, p.suites) for p in problems]


def drawn_jobs(problems: Sequence[SuiteProblem], params: SamplingParams) -> list[Job]:
    """`samples` episodes for each problem of the eval pool, or for as many of them as are wanted."""
    sampling = Sampling(params.temperature, params.top_p, params.max_new_tokens, params.seed)
    pool = [p for p in problems if EVAL_SUITE in p.suites]
    if params.most_problems:
        names = sorted((p.problem.problem_id for p in pool), key=hash_order)[: params.most_problems]
        pool = [p for p in pool if p.problem.problem_id in set(names)]
    return [
        Job(f"{p.problem.problem_id}#{sample}", p.problem, sampling, sample, p.key, p.suites)
        for p in pool
        for sample in range(params.samples)
    ]


def describe(name: str, selected: Suites, model: Path | None, settings: Settings) -> dict[str, Any]:
    """Return what the episodes of one checkpoint are about."""
    return {
        "checkpoint": name,
        "backend": settings.rollouts.backend,
        "digests": {
            "checkpoint": folder_digest(model) if model else None,
            "template": template_digest(model) if model else None,
            "settings": settings.digest(),
        },
        "settings": {
            "sampling": settings.sampling.model_dump(mode="json"),
            "play": settings.play.model_dump(mode="json"),
            "scorer": {**settings.scorer.model_dump(mode="json"), "version": SCORER_VERSION},
        },
        "suites": {
            suite: {
                "digest": selected.digest(suite),
                "whole": whole,
                "limited": sum(suite in p.suites for p in selected.problems) < whole,
                "contaminated": suite == PROTECTED_FULL,
            }
            for suite, whole in sorted(selected.whole.items())
        },
    }


def folder_digest(folder: Path) -> str:
    """SHA-256 (hex) over the names and bytes of a checkpoint's files, its README aside."""
    total = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "README.md"):
        with path.open("rb") as data:
            content = hashlib.file_digest(data, "sha256").hexdigest()
        total.update(f"{path.relative_to(folder).as_posix()}\0{content}\n".encode())
    return total.hexdigest()


def template_digest(folder: Path) -> str | None:
    """SHA-256 (hex) of the chat template that a checkpoint ships, None where it ships none in a file of its own."""
    path = folder / "chat_template.jinja"
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
