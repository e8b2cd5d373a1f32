"""Opening the sealed pool: enter it in the book, play the problems greedily, keep the summary beside the book."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from pydantic import BaseModel

from tracemill.environment.params import PlayParams, ScorerParams
from tracemill.errors import InputError
from tracemill.evaluation.evaluate import Inputs, Settings, folder_digest, play_suites, template_digest
from tracemill.evaluation.metrics import summarise
from tracemill.evaluation.params import RolloutParams, SamplingParams
from tracemill.evaluation.sealed import OPENINGS, Opening, append_opening, commit_of, now
from tracemill.evaluation.suites import sealed_problems

Model = TypeVar("Model", bound=BaseModel)


def open_pool(root: Path, checkpoint: str, reason: str) -> tuple[Path, dict[str, Any]]:
    """Enter the opening, play, and write `opened-NNNN.json`; returns its path and content.

    Raises InputError where the checkpoint or the split is not built, or the reason is empty.
    """
    from tracemill.params import load_params

    document = load_params(root / "params.yaml")
    inputs = _inputs(root, checkpoint)
    problems = sealed_problems(inputs.problems, inputs.pools)
    if not problems:
        raise InputError(f"{inputs.pools}: the pool never_touch is empty; raise leakage.pools.never_touch")
    commit, dirty = commit_of(root.resolve())
    weights = folder_digest(inputs.model) if inputs.model else None
    opening = Opening(now(), commit, dirty, checkpoint, weights, len(problems), reason)
    number = append_opening(opening, root / OPENINGS)
    settings = _settings(document, checkpoint)
    with tempfile.TemporaryDirectory() as work:
        records = play_suites(problems, inputs, settings, Path(work))
    result = {
        "opening": msgspec.to_builtins(opening),
        "number": number,
        "settings": settings.digest(),
        "template": template_digest(inputs.model) if inputs.model else None,
        **summarise(records),
    }
    path = (root / OPENINGS).with_name(f"opened-{number:04d}.json")
    path.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")
    return path, result


def _inputs(root: Path, checkpoint: str) -> Inputs:
    data = root / "data"
    model = None if checkpoint == "expert" else data / "models" / checkpoint
    inputs = Inputs(
        model, data / "environment/problems.jsonl", [], data / "leakage/pools.parquet", data / "environment/index"
    )
    for path in (inputs.problems, inputs.pools, inputs.index, *([model] if model else [])):
        if not path.exists():
            raise InputError(f"{path}: not there; build it first, e.g. `snakemake --cores all {path}`")
    return inputs


def _settings(document: dict[str, Any], checkpoint: str) -> Settings:
    evaluation, environment = document["evaluation"], document["environment"]
    rollouts = _model(RolloutParams, evaluation["rollouts"])
    sampling = _model(SamplingParams, {**evaluation["sampling"], "samples": 0})
    settings = Settings(
        rollouts=rollouts,
        sampling=sampling,
        play=_model(PlayParams, {key: environment[key] for key in ("episode", "observation", "prompt")}),
        scorer=_model(ScorerParams, environment["scorer"]),
    )
    return settings.as_expert() if checkpoint == "expert" else settings


def _model(model: type[Model], section: Any) -> Model:
    return model.model_validate_json(json.dumps(section))


def result_line(result: dict[str, Any]) -> str:
    """The result in one line."""
    success = result["success"]
    return (
        f"{result['opening']['checkpoint']}: {success['hits']} of {success['n']} sealed problems solved, "
        f"{100 * success['value']:.1f}% [{100 * success['low']:.1f}, {100 * success['high']:.1f}], "
        f"one problem is {100 * success['step']:.2f} points; opening number {result['number']}"
    )
