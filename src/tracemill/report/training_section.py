"""The page's section on training: the recipe, curves, what the mask gates counted, what rollouts yielded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tracemill.report.blocks import Block, Figure, Section, Table, matrix, table
from tracemill.report.plots import plot_lines

Json = Mapping[str, Any]
NAMES = {
    "mean_token_accuracy": "share of tokens right",
    "reward": "mean reward",
    "rewards/outcome/mean": "reward for the outcome",
    "rewards/match/mean": "reward for the teacher's steps",
    "hallucinated_ids": "invented ids an episode",
    "kl": "distance to the reference (KL)",
    "completions/mean_length": "tokens an episode",
    "rewards/margins": "margin of desirable rows",
}


def training_section(
    recipe: Sequence[Json],
    curves: Mapping[str, Sequence[Mapping[str, str]]],
    masks: Mapping[str, Json],
    rollouts: Mapping[str, Json],
) -> Section:
    """The recipe (lineage records with `parent`, base first), curves by stage (rows of plot_curve.csv), what each mask
    gate counted, and what rollouts yielded."""
    blocks: list[Block] = [*_recipe(recipe)] if recipe else []
    for stage, rows in curves.items():
        for column in _plotted(rows):
            points = [(float(row["step"]), float(row[column])) for row in rows if row.get(column)]
            if points:
                picture = plot_lines({stage: points}, f"{stage}: {NAMES.get(column, column)}", "step", "", small=True)
                blocks.append(Figure(picture, small=True))
    if masks:
        blocks.append(matrix("Mask gate: rows and tokens of each stage", "what", _gates(masks)))
    if rollouts:
        blocks.append(_yield(rollouts))
    return Section("training", "Training", "What was supervised is exactly the assistant's turns.", blocks)


def _gates(masks: Mapping[str, Json]) -> dict[str, dict[str, Any]]:
    counted: dict[str, dict[str, Any]] = {}
    for stage, report in masks.items():
        counted[stage] = {key: value for key, value in report.items() if isinstance(value, int | float)}
        for reason, n in report.get("dropped", {}).items():
            counted[stage][f"dropped: {reason}"] = n
    return counted


def _recipe(recipe: Sequence[Json]) -> Iterator[Table]:
    """The base's settings, and all others side by side: equal names are equal settings."""
    for record in recipe[:1]:
        yield matrix(f"Settings of {record['stage']}", "setting", {record["stage"]: dict(_settings(record["params"]))})
    others = {
        record["stage"]: {"parent": record["parent"], "trainer": record["kind"], **dict(_settings(record["params"]))}
        for record in recipe[1:]
    }
    if others:
        yield matrix("The recipe: what each stage was trained from, and how", "setting", others)


def _settings(params: Json, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in params.items():
        if isinstance(value, Mapping):
            yield from _settings(value, "" if key == "train" else f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _yield(rollouts: Mapping[str, Json]) -> Table:
    rows = [
        [stage, category, *(counts[key] for key in ("episodes", "successes", "problems", "solved", "mixed"))]
        for stage, summary in rollouts.items()
        for category, counts in summary["by_category"].items()
    ]
    columns = ["stage", "category", "episodes", "successes", "problems", "solved at least once", "some but not all"]
    return table("What rollouts on training problems yielded", columns, rows, [2, 3, 4, 5, 6])


def _plotted(rows: Sequence[Mapping[str, str]]) -> list[str]:
    wanted = (
        *("loss", "mean_token_accuracy", "reward", "rewards/outcome/mean", "rewards/match/mean"),
        *("hallucinated_ids", "kl", "completions/mean_length", "rewards/margins"),
    )
    return [name for name in wanted if rows and name in rows[0]]
