"""Dr. GRPO over several turns in the real environment, with TRL's GRPOTrainer and a rollout function of our own.

TRL's environment factory cannot end an episode after `terminate`, so episodes are played by the code that evaluates
(`evaluation.rollouts.play`); what the environment wrote is masked out. The three settings that make it Dr. GRPO belong
together: `loss_type="dr_grpo"`, `scale_rewards="none"`, `disable_dropout=True`. The loss is normalised by the constant
`max_completion_length`, which therefore scales the gradient.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import msgspec

from tracemill.environment.episode import Episode
from tracemill.environment.grading import grade_dialogue
from tracemill.environment.index import open_index
from tracemill.environment.params import PlayParams, ScorerParams
from tracemill.environment.titles import Titles, load_titles
from tracemill.errors import StageError
from tracemill.evaluation.policies import Reply, Sampling
from tracemill.evaluation.records import EpisodeRecord, hallucinated_ids, read_records
from tracemill.evaluation.rollouts import play
from tracemill.evaluation.token_policy import TokenPolicy, end_token_ids
from tracemill.evaluation.vllm_policy import VllmPolicy, memory_share, require_vllm
from tracemill.training.checkpoint import load_model, load_tokenizer, lora_config
from tracemill.training.match import Call, calls_of, match_share
from tracemill.training.params import GrpoParams, OptimiserParams
from tracemill.training.sft import Run, finish, start, trainer_arguments
from tracemill.training.sharding import precise, whole_weights

logger = logging.getLogger(__name__)

DR_GRPO = {"loss_type": "dr_grpo", "scale_rewards": "none", "disable_dropout": True}
"""What makes it Dr. GRPO; any one alone leaves length or standard deviation in the loss, or dropout in the rollouts."""

CURVE = (
    "loss",
    "reward",
    "reward_std",
    "rewards/outcome/mean",
    "rewards/match/mean",
    "hallucinated_ids",
    "drifted",
    "kl",
    "completions/mean_length",
    "entropy",
)

ENGINE_CURVE = ("sampling/sampling_logp_difference/mean", "sampling/importance_sampling_ratio/mean")
"""How far the engine's log-probabilities are from the model's in training; the loss corrects for it (TRL)."""


class Scene(msgspec.Struct, frozen=True):
    """Where rollouts are played."""

    catalog: Any
    play: PlayParams
    titles: Titles | None


class Task(msgspec.Struct, frozen=True):
    """A problem with the teacher's calls."""

    record: EpisodeRecord
    teacher: list[Call]


def prompt_key(messages: Sequence[dict[str, Any]]) -> str:
    """Names a task by its prompt, which is all that a rollout function sees."""
    return json.dumps([[m["role"], m["content"]] for m in messages], ensure_ascii=False)


def tasks_of(records: Sequence[EpisodeRecord], scene: Scene, groups: int) -> dict[str, Task]:
    """One task per prompt, from the teacher's successful episodes; StageError where they are fewer than `groups`."""
    tasks: dict[str, Task] = {}
    for record in records:
        if record.success:
            prompt = Episode(scene.catalog, record.problem, scene.play).messages
            tasks.setdefault(prompt_key(prompt), Task(record, calls_of(record.messages)))
    if len(tasks) < groups:
        raise StageError(
            f"dr_grpo: the teacher solved {len(tasks)} problems, a step takes {groups}; lower "
            "training.stages.*.grpo.groups, or raise teacher.most_problems and look at the teacher's summary"
        )
    return tasks


def splice(turns: Sequence[Reply]) -> tuple[list[int], list[int], list[int], list[float], bool]:
    """Prompt ids, completion ids, mask (1: drawn by the model), log-probabilities, and whether tokens drifted.

    A turn's prompt is the tokens so far and what the environment wrote. Where the history, read again as text, has
    other tokens than were drawn, the sequence ends before that turn: no prefix is trained on that no one saw.
    """
    first = list(turns[0].prompt_ids)
    ids, mask, scores = list(first), [0] * len(first), [0.0] * len(first)
    for turn in turns:
        prompt = list(turn.prompt_ids)
        if prompt[: len(ids)] != ids:
            return first, ids[len(first) :], mask[len(first) :], scores[len(first) :], True
        added = len(prompt) - len(ids)
        ids += prompt[len(ids) :] + list(turn.completion_ids)
        mask += [0] * added + [1] * len(turn.completion_ids)
        scores += [0.0] * added + list(turn.logprobs)
    return first, ids[len(first) :], mask[len(first) :], scores[len(first) :], False


def rollout_function(
    tokenizer: Any, tasks: dict[str, Task], scene: Scene, params: GrpoParams, seed: int
) -> Callable[..., Any]:
    """A function of TRL's kind: prompts in, tokens, masks and reward parts out, one episode a prompt."""
    sampling = Sampling(params.temperature, params.top_p, params.max_turn_tokens, seed)

    def rollout(prompts: list[Any], trainer: Any) -> dict[str, list[Any]]:
        chosen = [tasks[prompt_key(prompt)] for prompt in prompts]
        episodes = [Episode(scene.catalog, task.record.problem, scene.play) for task in chosen]
        rank, step = trainer.accelerator.process_index, trainer.state.global_step
        keys = [f"{step}/{rank}/{i}" for i in range(len(episodes))]
        with nullcontext() if params.backend == "vllm" else whole_weights(trainer.model):
            replies = play(policy_in_training(trainer, tokenizer, params), episodes, sampling, keys)
        output: dict[str, list[Any]] = {name: [] for name in ("prompt_ids", "completion_ids", "env_mask", "logprobs")}
        drifted: list[bool] = []
        for turns in replies:
            prompt, completion, mask, scores, drift = splice(turns)
            limit = params.max_completion_length
            drifted.append(drift)
            output["prompt_ids"].append(prompt)
            output["completion_ids"].append(completion[:limit])
            output["env_mask"].append(mask[:limit])
            output["logprobs"].append(scores[:limit])
        output["outcome"] = [_outcome(episode, scene) for episode in episodes]
        pairs = zip(episodes, chosen, strict=True)
        output["match"] = [match_share(calls_of(episode.messages), task.teacher) for episode, task in pairs]
        log_means(trainer, hallucinated_ids=[len(hallucinated_ids(e.messages)) for e in episodes], drifted=drifted)
        return output

    return rollout


def log_means(trainer: Any, **counts: Sequence[int]) -> None:
    """Log the mean of each count over the episodes of all processes; every process must call this."""
    import torch

    of_mine = torch.tensor([sum(found) / len(found) for found in counts.values()], dtype=torch.float64)
    of_all = trainer.accelerator.reduce(of_mine.to(trainer.accelerator.device), "mean").tolist()
    for name, mean in zip(counts, of_all, strict=True):
        trainer._metrics["train"][name].append(mean)


def policy_in_training(trainer: Any, tokenizer: Any, params: GrpoParams) -> TokenPolicy:
    """The model in training as a policy: itself, or the copy in vLLM that the trainer keeps in step with it."""
    if params.backend == "vllm":
        engine = trainer.vllm_generation.llm
        limit = int(engine.llm_engine.model_config.max_model_len)
        return VllmPolicy(engine, tokenizer, end_token_ids(trainer.model.generation_config, tokenizer), limit)
    from tracemill.evaluation.transformers_policy import TransformersPolicy

    return TransformersPolicy(trainer.accelerator.unwrap_model(trainer.model), tokenizer)


def _outcome(episode: Episode, scene: Scene) -> float:
    return float(grade_dialogue(episode.problem, episode.dialogue(), scene.catalog, scene.titles).success)


def outcome(prompts: list[Any], completions: list[Any], outcome: list[float], **_: Any) -> list[float]:
    """Reward 1 where the production scorer counts the episode as a success."""
    return outcome


def match(prompts: list[Any], completions: list[Any], match: list[float], **_: Any) -> list[float]:
    """Reward for each step that is the teacher's at the same state."""
    return match


class GrpoInputs(msgspec.Struct, frozen=True):
    """Files beyond those of every training stage."""

    teacher: Path
    index: Path


def train_grpo(
    run: Run,
    inputs: GrpoInputs,
    params: OptimiserParams,
    grpo: GrpoParams,
    environment: tuple[PlayParams, ScorerParams],
    threads: int,
) -> None:
    """Train the parent in the environment and publish a whole checkpoint."""
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    if grpo.backend == "vllm":
        require_vllm()
    world = start(params, threads)
    scene = Scene(open_index(inputs.index), environment[0], load_titles(environment[1]))
    tasks = tasks_of(read_records(inputs.teacher), scene, grpo.groups)
    model, tokenizer = load_model(run.parent, params.dtype), load_tokenizer(run.parent)
    check_dropout(model.config)
    rewards: list[Callable[..., list[float]]] = [outcome, match]
    trainer = precise(GRPOTrainer)(
        model=model,
        reward_funcs=rewards,
        args=GRPOConfig(**grpo_arguments(params, grpo, run.work, world)),
        train_dataset=Dataset.from_list([{"prompt": messages_of(key)} for key in tasks]),
        processing_class=tokenizer,
        peft_config=lora_config(params.lora),
        rollout_func=rollout_function(tokenizer, tasks, scene, grpo, params.seed),
    )
    settings = {"train": params.model_dump(mode="json"), "grpo": {**grpo.model_dump(mode="json"), **DR_GRPO}}
    curve = CURVE + ENGINE_CURVE if grpo.backend == "vllm" else CURVE
    finish(trainer, tokenizer, run, params, settings, threads, curve)


def messages_of(key: str) -> list[dict[str, str]]:
    """The prompt that a key names."""
    return [{"role": role, "content": content} for role, content in json.loads(key)]


def grpo_arguments(params: OptimiserParams, grpo: GrpoParams, work: Path, world: int) -> dict[str, Any]:
    """Options of TRL's trainer: one optimiser step is `groups` problems with `group` episodes each."""
    episodes = grpo.group * grpo.groups
    shared = trainer_arguments(params.model_copy(update={"batch": episodes}), work, world)
    return {
        **shared,
        **DR_GRPO,
        "num_generations": grpo.group,
        "generation_batch_size": episodes,
        "temperature": grpo.temperature,
        "top_p": grpo.top_p,
        "beta": grpo.beta,
        "max_completion_length": grpo.max_completion_length,
        "reward_weights": [grpo.outcome_weight, grpo.match_weight],
        "use_vllm": grpo.backend == "vllm",
        # An engine on each process: with a server, every process would have to ask as often as the others.
        "vllm_mode": "colocate",
        "vllm_gpu_memory_utilization": memory_share(0.3),
    }


def check_dropout(config: Any) -> None:
    """Raise StageError where the model's configuration has dropout that TRL does not switch off."""
    found = {name: value for name, value in config.to_dict().items() if name.endswith("dropout") and value}
    if found:
        raise StageError(f"dr_grpo: the model's config has {found}, expected 0; dropout must be off in rollouts")
