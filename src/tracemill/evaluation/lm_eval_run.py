"""The stage around lm-evaluation-harness: run the listed tasks on one checkpoint and keep what is reproducible.

No cache is used: lm-eval keys its caches by request and not by model. Our tasks run through the model `tracemill`, all
others through lm-eval's own `hf`; a task that cannot be loaded fails the stage by name.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tracemill.environment.index import open_index
from tracemill.environment.problem import digest
from tracemill.environment.titles import load_titles
from tracemill.errors import StageError
from tracemill.evaluation.evaluate import Settings, folder_digest, template_digest
from tracemill.evaluation.params import LmEvalParams
from tracemill.evaluation.policies import Sampling
from tracemill.evaluation.statistics import clustered_interval

if TYPE_CHECKING:
    from lm_eval.tasks import TaskManager

logger = logging.getLogger(__name__)

OURS = ("tracemill_next_action", "tracemill_episode", "tracemill_episode_pass")


class LmInputs(msgspec.Struct, frozen=True):
    """Files of the stage; `episodes` are the expert's."""

    model: Path
    episodes: Path
    problems: Path
    pools: Path
    index: Path


def run_tasks(name: str, inputs: LmInputs, settings: Settings, params: LmEvalParams) -> dict[str, Any]:
    """Return results, versions, counts and digests of every listed task; StageError for one that cannot be loaded."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    metadata = {
        "pretrained": str(inputs.model),
        "episodes": str(inputs.episodes),
        "problems": str(inputs.problems),
        "pools": str(inputs.pools),
    }
    manager = _manager(params.tasks, metadata)
    found: dict[str, Any] = {}
    for ours in (True, False):
        chosen = [task for task in params.tasks if (task in OURS) is ours]
        if chosen:
            model = _our_model(inputs, settings, params) if ours else _hf_model(inputs.model, params)
            found |= _evaluate(model, chosen, manager, params)
    return {
        "checkpoint": name,
        "digests": {
            "checkpoint": folder_digest(inputs.model),
            "template": template_digest(inputs.model),
            "settings": digest([settings.digest(), params.model_dump(mode="json")]),
        },
        "limited": params.limit > 0,
        "tasks": dict(sorted(found.items())),
    }


def _manager(tasks: Sequence[str], metadata: dict[str, Any]) -> TaskManager:
    from lm_eval.tasks import TaskManager

    # lm-eval loads this module by its path; named here, so that the stage depends on it
    import tracemill.evaluation.lm_eval_tasks.functions  # noqa: F401

    folder = files("tracemill.evaluation") / "lm_eval_tasks"
    theirs = any(task not in OURS for task in tasks)
    manager = TaskManager(include_path=str(folder), include_defaults=theirs, metadata=metadata)
    for task in tasks:
        if task not in manager.all_tasks:
            raise StageError(
                f"lm-eval has no task {task!r}; correct evaluation.lm_eval.tasks or install what brings it"
            )
        if task not in OURS:
            _require_loadable(task, manager)
    return manager


def _require_loadable(task: str, manager: TaskManager) -> None:
    """Load a task with its data before any model plays; StageError by name for what cannot be had."""
    try:
        manager.load([task])
    except Exception as error:  # whatever a task's own code or the hub raises
        raise StageError(
            f"lm-eval task {task!r} cannot be loaded: {_words(error)}; install what it needs, let it reach its data, "
            "or take it out of evaluation.lm_eval.tasks"
        ) from error


def _words(error: Exception) -> str:
    """What an error says, in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def _our_model(inputs: LmInputs, settings: Settings, params: LmEvalParams) -> Any:
    from tracemill.evaluation.backends import make_policy
    from tracemill.evaluation.collect import Arena
    from tracemill.evaluation.lm_wrapper import TracemillLM

    policy = make_policy(settings.rollouts, inputs.model)
    arena = Arena(open_index(inputs.index), settings.play, load_titles(settings.scorer))
    sampling = Sampling(0.0, 1.0, settings.sampling.max_new_tokens, settings.sampling.seed)
    return TracemillLM.over(policy, arena, sampling, (settings.rollouts.wave, settings.rollouts.live), params.batch)


def _hf_model(model: Path, params: LmEvalParams) -> Any:
    import torch
    from lm_eval.models.huggingface import HFLM

    device = "cuda" if torch.cuda.is_available() else "cpu"  # its default is cuda, also where there is none
    return HFLM(pretrained=str(model), device=device, batch_size=params.batch, trust_remote_code=False)


def _evaluate(model: Any, tasks: list[str], manager: TaskManager, params: LmEvalParams) -> dict[str, Any]:
    from lm_eval import simple_evaluate

    found: dict[str, Any] = {}
    for task in tasks:
        try:
            results = simple_evaluate(
                model=model, tasks=[task], task_manager=manager, limit=params.limit or None, bootstrap_iters=0
            )
        except StageError:
            raise
        except Exception as error:  # whatever a task raises, it is this task that failed
            raise StageError(f"lm-eval task {task!r} failed: {_words(error)}") from error
        found |= _kept(results, params.limit)
    return found


def _kept(results: Any, limit: int) -> dict[str, Any]:
    """What is the same whenever and wherever it is run."""
    kept = {}
    for name, scores in results["results"].items():
        # a score's key is `metric,filter`; other keys count and name things
        numbers = {k: v for k, v in scores.items() if "," in k and "stderr" not in k and isinstance(v, float | int)}
        samples = results.get("samples", {}).get(name, [])
        kept[name] = {
            "version": results["versions"].get(name),
            "documents": results["n-samples"].get(name),
            "limited": limit > 0,
            "task_digest": digest([[s["doc_hash"], s["prompt_hash"]] for s in samples]),
            "scores": {key: numbers[key] for key in sorted(numbers)},
            "intervals": {key: found for key in sorted(numbers) if (found := _interval(key, numbers[key], samples))},
        }
    return kept


def _interval(key: str, score: float, samples: Sequence[Any]) -> dict[str, float] | None:
    """The interval of a score that is the mean of its documents' values in [0, 1]; documents of one problem count
    together."""
    metric, _, chosen = key.partition(",")
    shown = [s for s in samples if s.get("filter", "none") == chosen and isinstance(s.get(metric), bool | int | float)]
    values = [float(s[metric]) for s in shown]
    if not values or min(values) < 0 or max(values) > 1 or abs(sum(values) / len(values) - score) > 1e-9:
        return None
    low, high = clustered_interval(values, [_cluster(sample) for sample in shown], seed=0)
    return {"low": low, "high": high}


def _cluster(sample: Any) -> str:
    document = sample.get("doc")
    problem = document.get("problem_id") if isinstance(document, dict) else None
    return str(sample["doc_id"] if problem is None else problem)


def flat_scores(result: dict[str, Any]) -> dict[str, float]:
    """The few numbers of `dvc metrics show`; the harness's filter name is left out where it is `none`."""
    flat = {}
    for task, block in result["tasks"].items():
        for key, value in block["scores"].items():
            metric, _, chosen = key.partition(",")
            parts = [task, metric, *([chosen] if chosen not in ("", "none") else [])]
            flat["_".join(parts)] = round(float(value), 6)
    return flat


def run_lm_eval(
    name: str, inputs: LmInputs, settings: Settings, params: LmEvalParams, *, results: Path, metrics: Path
) -> None:
    """Write the results of all tasks, and the few numbers of `dvc metrics show`."""
    found = run_tasks(name, inputs, settings, params)
    results.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    metrics.write_bytes(msgspec.json.format(msgspec.json.encode(flat_scores(found)), indent=1) + b"\n")
