"""The page's sections on the models: training curves, checkpoints with intervals, paired tests, published numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tracemill.report.blocks import Block, Figure, Section, Table, counts_table, interval, number, percent, table
from tracemill.report.plots import plot_lines, plot_rates

Json = Mapping[str, Any]
SUITE = "eval"


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


def results_section(summaries: Mapping[str, Json], tests: Sequence[Json], published: Sequence[Json]) -> Section:
    """Checkpoints on the eval pool with intervals, buckets, axes, paired tests; published numbers apart and marked."""
    known = {name: summary["suites"][SUITE] for name, summary in summaries.items() if SUITE in summary["suites"]}
    blocks: list[Block] = [
        _checkpoints(known, published),
        Figure(
            plot_rates(_by_category(known), "Success by category"),
            "Strict success, greedy, with 95% Wilson intervals.",
        ),
        Figure(plot_rates(_by_bucket(known), "Success by kind of problem"), "Few problems of a kind: wide intervals."),
        _buckets(known),
        Figure(
            plot_rates(_by_axis(known), "Mean score of each axis", "percent"),
            "Means over all episodes; a problem that does not ask for an axis counts 0 on it.",
        ),
        _axes(known),
        *_pass_curve(known),
        _tests(tests),
        *_other_suites(summaries),
        _outcomes(known),
    ]
    lead = "Strict success in real multi-turn episodes. A difference below one problem is no difference."
    return Section("results", "Checkpoints", lead, blocks)


def headline(known: Mapping[str, Json], ends: Sequence[str]) -> str:
    """Success of the base and of every end of the recipe, with n and interval: none is picked for its score."""
    parts = [f"{name} {_rate_words(known[name]['success'])}" for name in ["base", *ends] if name in known]
    if not parts:
        return "Nothing was evaluated."
    steps = {step for suite in known.values() if (step := suite["success"]["step"]) is not None}
    worth = [f" One problem is {100 * steps.pop():.2f} points."] if len(steps) == 1 else []
    where = "strict success on the eval pool, base model first, then every end of the recipe."
    return "".join([f"{'; '.join(parts)}: {where}", *worth])


def _rate_words(rate: Json) -> str:
    if not rate["n"]:
        return "unknown (n = 0)"
    return f"{percent(rate['value'])}% (n = {rate['n']}, 95% interval {interval(rate['low'], rate['high'])})"


def _checkpoints(known: Mapping[str, Json], published: Sequence[Json]) -> Table:
    rows = [
        [
            name,
            *_rate_cells(suite["success"]),
            *(number(suite[key], 3) for key in ("rule", "format", "hallucinated_ids", "steps", "completion_tokens")),
        ]
        for name, suite in known.items()
    ]
    ours = len(rows)
    for row in published:
        points = 100.0 / row["problems"]
        cells = [f"{row['success_percent']:.1f}", "", str(row["problems"]), f"{points:.2f}", "", "", "", "", ""]
        rows.append([f"published: {row['name']}", *cells])
    columns = ["checkpoint", "success %", "95% interval", "n", "one problem, points"]
    columns += ["rule", "format", "invented ids", "steps", "tokens"]
    caption = "Eval pool, greedy. Rows in italics are published elsewhere, on other problems, and are no comparison."
    return Table(caption, columns, rows, list(range(1, len(columns))), list(range(ours, len(rows))))


def _rate_cells(rate: Json) -> list[str]:
    step = "" if rate["step"] is None else f"{100 * rate['step']:.2f}"
    return [percent(rate["value"]), interval(rate["low"], rate["high"]), str(rate["n"]), step]


def _by_category(known: Mapping[str, Json]) -> dict[str, dict[str, tuple[float, float, float]]]:
    groups: dict[str, dict[str, tuple[float, float, float]]] = {}
    for name, suite in known.items():
        for category, block in [("all", suite), *suite["by_category"].items()]:
            rate = block["success"]
            if rate["n"]:
                mark = (100 * rate["value"], 100 * rate["low"], 100 * rate["high"])
                groups.setdefault(category, {})[name] = mark
    return groups


def _by_bucket(known: Mapping[str, Json]) -> dict[str, dict[str, tuple[float, float, float]]]:
    groups: dict[str, dict[str, tuple[float, float, float]]] = {}
    for name, suite in known.items():
        for bucket, block in suite["by_bucket"].items():
            rate = block["success"]
            if rate["n"]:
                mark = (100 * rate["value"], 100 * rate["low"], 100 * rate["high"])
                groups.setdefault(bucket, {})[name] = mark
    return dict(sorted(groups.items()))


def _by_axis(known: Mapping[str, Json]) -> dict[str, dict[str, tuple[float, float, float]]]:
    groups: dict[str, dict[str, tuple[float, float, float]]] = {}
    for name, suite in known.items():
        for axis, value in suite["axes"].items():
            if value is not None:
                groups.setdefault(axis, {})[name] = (100 * value,) * 3
    return groups


def _buckets(known: Mapping[str, Json]) -> Table:
    names = sorted({bucket for suite in known.values() for bucket in suite["by_bucket"]})
    rows = []
    for name in names:
        rates = [suite["by_bucket"].get(name, {}).get("success") for suite in known.values()]
        n = max((rate["n"] for rate in rates if rate), default=0)
        step = f"{100 / n:.2f}" if n else ""
        rows.append([name, str(n), step, *(_short_rate(rate) for rate in rates)])
    columns = ["bucket", "n", "one problem, points", *known]
    caption = "Success by kind of problem, percent with 95% interval"
    return Table(caption, columns, rows, list(range(1, len(columns))))


def _short_rate(rate: Json | None) -> str:
    if rate is None or not rate["n"]:
        return ""
    return f"{percent(rate['value'])} ({interval(rate['low'], rate['high'])})"


def _axes(known: Mapping[str, Json]) -> Table:
    names = list(next(iter(known.values()))["axes"]) if known else []
    rows = [[name, *(number(suite["axes"][axis], 3) for axis in names)] for name, suite in known.items()]
    return Table("Mean score of each axis", ["checkpoint", *names], rows, list(range(1, len(names) + 1)))


def _pass_curve(known: Mapping[str, Json]) -> list[Block]:
    drawn = {name: suite["pass_at"] for name, suite in known.items() if suite.get("pass_at", {}).get("estimates")}
    if not drawn:
        return []
    lines = {name: [(e["k"], 100 * e["value"]) for e in found["estimates"]] for name, found in drawn.items()}
    rows = [
        [name, str(e["k"]), percent(e["value"]), interval(e["low"], e["high"]), str(found["problems"])]
        for name, found in drawn.items()
        for e in found["estimates"]
    ]
    columns = ["checkpoint", "k", "pass@k %", "95% interval", "problems"]
    return [
        Figure(plot_lines(lines, "pass@k", "k", "percent"), "Unbiased estimate over drawn episodes."),
        Table("pass@k", columns, rows, [1, 2, 3, 4]),
    ]


def _tests(tests: Sequence[Json]) -> Table:
    rows = [
        [
            f"{test['b']} against {test['a']}",
            percent(test["difference"]),
            interval(test["low"], test["high"]),
            str(test["n"]),
            str(test["only_b"]),
            str(test["only_a"]),
            number(test["p_value"], 3),
        ]
        for test in tests
    ]
    columns = ["pair", "difference, points", "95% interval", "n", "won", "lost", "exact McNemar p"]
    return Table("Paired tests on the problems that both played", columns, rows, [1, 2, 3, 4, 5, 6])


def _other_suites(summaries: Mapping[str, Json]) -> list[Block]:
    rows = []
    for name, summary in summaries.items():
        for suite, block in summary["suites"].items():
            if suite != SUITE and block["success"]["n"]:
                note = "contaminated: training clusters touch it" if block["contaminated"] else ""
                rows.append([name, suite, *_rate_cells(block["success"]), note])
    columns = ["checkpoint", "suite", "success %", "95% interval", "n", "one problem, points", "note"]
    return [Table("Other suites", columns, rows, [2, 3, 4, 5])] if rows else []


def _outcomes(known: Mapping[str, Json]) -> Table:
    rows = [[name, outcome, n] for name, suite in known.items() for outcome, n in suite["outcomes"].items()]
    return table("How episodes ended", ["checkpoint", "outcome", "episodes"], rows, [2])
