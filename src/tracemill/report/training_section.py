"""The page's section on training: the recipe, curves, what the mask gates counted, what rollouts yielded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tracemill.report.blocks import Block, Figure, Section, Table, counts_table, table
from tracemill.report.plots import plot_lines

Json = Mapping[str, Any]


def training_section(
    recipe: Sequence[Json],
    curves: Mapping[str, Sequence[Mapping[str, str]]],
    masks: Mapping[str, Json],
    rollouts: Mapping[str, Json],
) -> Section:
    """The recipe (lineage records, base first), curves by stage (rows of plot_curve.csv), what each mask gate counted,
    and what rollouts yielded."""
    blocks: list[Block] = [_recipe(recipe)] if recipe else []
    for stage, rows in curves.items():
        for column in _plotted(rows):
            points = [(float(row["step"]), float(row[column])) for row in rows if row.get(column)]
            if points:
                picture = plot_lines({stage: points}, f"{stage}: {column}", "step", column)
                blocks.append(Figure(picture, f"{column} of {stage} over {len(points)} steps"))
    for stage, report in masks.items():
        counts = {key: value for key, value in report.items() if isinstance(value, int | float)}
        dropped = report.get("dropped")
        if isinstance(dropped, Mapping):
            counts |= {f"dropped: {reason}": n for reason, n in dropped.items()}
        blocks.append(counts_table(f"Mask gate of {stage}", counts, "what"))
    if rollouts:
        blocks.append(_yield(rollouts))
    return Section("training", "Training", "What was supervised is exactly the assistant's turns.", blocks)


def _recipe(recipe: Sequence[Json]) -> Table:
    rows = [[record["stage"], record["kind"], ", ".join(_settings(record["params"]))] for record in recipe]
    return Table("The recipe, each stage with all of its settings", ["stage", "kind", "settings"], rows)


def _settings(params: Json, prefix: str = "") -> Iterator[str]:
    for key, value in params.items():
        if isinstance(value, Mapping):
            yield from _settings(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key} = {value}"


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
