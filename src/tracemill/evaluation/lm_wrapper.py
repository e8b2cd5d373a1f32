"""The model `tracemill` of lm-evaluation-harness: plays whole episodes inside `generate_until`.

A request that holds an episode is played with the same jobs, settings and waves as our own engine, so the scores are
the same. Any other request is generated from the text as it stands. Importing this module registers the model.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model

from tracemill.environment.params import PlayParams, ScorerParams
from tracemill.environment.problem import Problem
from tracemill.errors import StageError
from tracemill.evaluation.collect import Arena, Job, collect
from tracemill.evaluation.params import RolloutParams
from tracemill.evaluation.policies import ConcurrentPolicy, Policy, Sampling
from tracemill.evaluation.records import AXES, EpisodeRecord
from tracemill.evaluation.suites import SuiteProblem

EPISODE = "tracemill-episode:"


class EpisodeRequest(msgspec.Struct, frozen=True):
    """What stands behind the mark in a request."""

    problem: Problem
    key: str


def episode_request(problem: SuiteProblem) -> str:
    """The request text for one problem."""
    return EPISODE + msgspec.json.encode(EpisodeRequest(problem.problem, problem.key)).decode()


@register_model("tracemill")
class TracemillLM(LM):  # type: ignore[misc]
    """`--model tracemill --model_args pretrained=FOLDER[,index=...,params=...]`; `backend=expert` plays the script."""

    def __init__(
        self,
        pretrained: str = "",
        index: str = "data/environment/index",
        params: str = "params.yaml",
        backend: str = "",
        batch_size: int | str = 32,
        **_: Any,
    ) -> None:
        from tracemill.document import read_yaml
        from tracemill.environment.index import open_index
        from tracemill.environment.titles import load_titles
        from tracemill.evaluation.backends import make_policy

        document = read_yaml(Path(params))
        environment, evaluation = document["environment"], document["evaluation"]
        rollouts = RolloutParams.model_validate_json(json.dumps(evaluation["rollouts"]))
        if backend:
            rollouts = RolloutParams.model_validate_json(json.dumps({**evaluation["rollouts"], "backend": backend}))
        sections = {key: environment[key] for key in ("episode", "observation", "prompt")}
        arena = Arena(
            open_index(Path(index)),
            PlayParams.model_validate_json(json.dumps(sections)),
            load_titles(ScorerParams.model_validate_json(json.dumps(environment["scorer"]))),
        )
        policy = make_policy(rollouts, Path(pretrained) if pretrained else None)
        sampling = evaluation["sampling"]
        greedy = Sampling(0.0, 1.0, sampling["max_new_tokens"], sampling["seed"])
        self._setup(policy, arena, greedy, (rollouts.wave, rollouts.live))
        self.batch = batch_size if isinstance(batch_size, int) else 32

    @classmethod
    def over(
        cls,
        policy: Policy | ConcurrentPolicy,
        arena: Arena,
        sampling: Sampling,
        waves: tuple[int, int] = (128, 0),
        batch: int = 32,
    ) -> TracemillLM:
        """A model over a policy that is there already; `waves` as `collect` takes them: episodes, and those at once."""
        made = cls.__new__(cls)
        made._setup(policy, arena, sampling, waves)
        made.batch = batch
        return made

    def _setup(
        self, policy: Policy | ConcurrentPolicy, arena: Arena, sampling: Sampling, waves: tuple[int, int]
    ) -> None:
        super().__init__()
        self.policy, self.arena, self.sampling, self.waves = policy, arena, sampling, waves

    def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[str]:
        """Play the requests that are episodes, generate the others; answers in order."""
        answers: dict[int, str] = {}
        played = [i for i, r in enumerate(requests) if r.args[0].startswith(EPISODE)]
        texts = [i for i, r in enumerate(requests) if not r.args[0].startswith(EPISODE)]
        jobs = self._jobs([requests[i].args for i in played])
        records = collect(self.policy, jobs, self.arena, None, *self.waves)
        answers |= {i: episode_answer(record) for i, record in zip(played, records, strict=True)}
        for start in range(0, len(texts), self.batch):
            part = texts[start : start + self.batch]
            answers |= dict(zip(part, self._generate([requests[i].args for i in part], start), strict=True))
        return [answers[i] for i in range(len(requests))]

    def _jobs(self, arguments: Sequence[tuple[str, dict[str, Any]]]) -> list[Job]:
        seen: Counter[str] = Counter()
        jobs = []
        for text, options in arguments:
            request = msgspec.json.decode(text.removeprefix(EPISODE), type=EpisodeRequest)
            name, sampling = request.problem.problem_id, self._sampling(options)
            sample = seen[name]
            seen[name] += 1
            label = "greedy" if sampling.temperature == 0 else str(sample)
            jobs.append(Job(f"{name}#{label}", request.problem, sampling, sample, request.key))
        return jobs

    def _sampling(self, options: dict[str, Any]) -> Sampling:
        """The harness's generation options over our own; greedy unless it asks to draw."""
        drawn = bool(options.get("do_sample", False)) and float(options.get("temperature", 1.0)) > 0
        return Sampling(
            temperature=float(options.get("temperature", 1.0)) if drawn else 0.0,
            top_p=float(options.get("top_p", 1.0)) if drawn else 1.0,
            max_new_tokens=int(options.get("max_gen_toks", self.sampling.max_new_tokens)),
            seed=self.sampling.seed,
        )

    def _generate(self, arguments: Sequence[tuple[str, dict[str, Any]]], start: int) -> list[str]:
        from tracemill.evaluation.tokens import Prompt
        from tracemill.evaluation.transformers_policy import TransformersPolicy

        if not isinstance(self.policy, TransformersPolicy):
            raise StageError(f"{self.policy.name} plays episodes only; use backend transformers for this task")
        tokenizer = self.policy.tokenizer
        prompts = [
            Prompt(f"text-{start + i}", tuple(tokenizer(text, add_special_tokens=False)["input_ids"]), start + i, s)
            for i, (text, s) in enumerate((text, self._sampling(options)) for text, options in arguments)
        ]
        generated = self.policy.generator.generate(prompts)
        texts = [tokenizer.decode(g.ids[:-1] if g.ended else g.ids, skip_special_tokens=False) for g in generated]
        return [cut_at(text, options.get("until") or []) for text, (_, options) in zip(texts, arguments, strict=True)]

    def loglikelihood(self, requests: Sequence[Any]) -> list[tuple[float, bool]]:
        """Not served: tasks that score likelihoods run with `--model hf`."""
        raise StageError("the model `tracemill` plays and generates; use --model hf for likelihoods")

    def loglikelihood_rolling(self, requests: Sequence[Any]) -> list[float]:
        """Not served: tasks that score likelihoods run with `--model hf`."""
        raise StageError("the model `tracemill` plays and generates; use --model hf for likelihoods")


def cut_at(text: str, until: Sequence[str]) -> str:
    """The text before the first of the stop strings."""
    ends = [text.index(stop) for stop in until if stop and stop in text]
    return text[: min(ends)] if ends else text


def episode_answer(record: EpisodeRecord) -> str:
    """What an episode answers to the harness: outcome, scores and the messages, as JSON."""
    score = record.score or {}
    scores = {
        "success": float(record.success),
        **{key: float(score.get(key, 0.0)) for key in ("rule", "format", "length", *AXES)},
        "hallucinated_ids": float(len(record.hallucinated)),
        "steps": float(record.steps),
    }
    return msgspec.json.encode({"outcome": record.outcome, "scores": scores, "messages": record.messages}).decode()
