"""The page's section on the checkpoints: rates with intervals, paired tests, pass@k, published numbers apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracemill.report.blocks import Block, Figure, Section, Table, Text, interval, number, percent
from tracemill.report.plots import Interval, plot_lines, plot_rates
from tracemill.report.suite_tables import (
    bucket_table,
    count_table,
    lm_table,
    paired_table,
    pass_table,
    rate_cells,
    share_cells,
    suites_table,
)

Json = Mapping[str, Any]
SUITE = "eval"
AXES = {"product": "a known product", "gt": "the very product (gt)"}
CONDITIONS = {"shop": "all from one shop (shop)", "budget": "within the budget (voucher)"}


def results_section(
    summaries: Mapping[str, Json], tests: Sequence[Json], published: Sequence[Json], lm: Mapping[str, Json]
) -> Section:
    """Checkpoints on the eval pool with intervals, buckets, axes and paired tests; other suites and lm-eval's tasks;
    published numbers apart and marked. `lm` are the results of lm-eval by checkpoint.
    """
    known = known_suites(summaries)
    blocks: list[Block] = [
        *_limits(summaries),
        _checkpoints(known, published),
        Figure(plot_rates(_by_category(known), "Success by category"), "Strict success, greedy, 95% Wilson interval."),
        paired_table(tests),
        Figure(plot_rates(_by_bucket(known), "Success by kind of problem"), "Few problems of a kind: wide intervals."),
        bucket_table(known),
        Figure(
            plot_rates(_by_axis(known), "Mean score of each axis"),
            f"Each axis over the problems that ask for it; 95% bootstrap interval over problems.{_titles(summaries)}",
        ),
        _axes(known),
        *_pass_curve(known),
        *suites_table(summaries, SUITE),
        *lm_table(lm),
        count_table("How greedy episodes ended", "outcome", {name: s["outcomes"] for name, s in known.items()}),
        count_table("Axes that failed", "axis", {name: s["failed_axes"] for name, s in known.items()}),
        count_table("Calls that no tool took", "error", {name: s["tool_errors"] for name, s in known.items()}),
    ]
    lead = (
        "Strict success in real multi-turn episodes. A difference below one problem is no difference. Each checkpoint "
        "is one training run: intervals cover the choice of problems, not the seed."
    )
    return Section("results", "Checkpoints", lead, [b for b in blocks if not isinstance(b, Table) or b.rows])


def known_suites(summaries: Mapping[str, Json]) -> dict[str, Json]:
    """The eval suite of each checkpoint that played it."""
    return {name: summary["suites"][SUITE] for name, summary in summaries.items() if SUITE in summary["suites"]}


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


def _limits(summaries: Mapping[str, Json]) -> list[Block]:
    """A line for each suite of which only a part was played."""
    found = {
        f"Limited: {block['success']['n']} of the {block['whole']} problems of the suite {suite} were played."
        for summary in summaries.values()
        for suite, block in summary["suites"].items()
        if block["limited"]
    }
    return [Text(line) for line in sorted(found)]


def _checkpoints(known: Mapping[str, Json], published: Sequence[Json]) -> Table:
    means = ("rule", "format", "length", "hallucinated_ids", "steps", "completion_tokens")
    rows = [
        [name, *rate_cells(suite["success"]), *(number(suite[key], 3) for key in means)]
        for name, suite in known.items()
    ]
    ours = len(rows)
    for row in published:
        cells = [f"{row['success_percent']:.1f}", interval(row["interval"]["low"], row["interval"]["high"])]
        cells += [str(row["problems"]), f"{100.0 / row['problems']:.2f}", *([""] * len(means))]
        rows.append([f"published: {row['name']}", *cells])
    columns = ["checkpoint", "success %", "95% interval", "n", "one problem, points"]
    columns += ["mean rule score", "format score", "length score", "invented ids", "turns", "tokens"]
    caption = "Eval pool, greedy; the six columns at the right are means an episode."
    if published:
        caption += (
            f" Rows in italics are published ({published[0]['source']}) for other problems and other models: they are"
            " no comparison, and their intervals are what their n allows."
        )
    return Table(caption, columns, rows, list(range(1, len(columns))), list(range(ours, len(rows))))


def _by_category(known: Mapping[str, Json]) -> dict[str, dict[str, Interval]]:
    return _grouped(known, lambda suite: {"all": suite, **suite["by_category"]}, "success")


def _by_bucket(known: Mapping[str, Json]) -> dict[str, dict[str, Interval]]:
    return dict(sorted(_grouped(known, lambda suite: suite["by_bucket"], "success").items()))


def _by_axis(known: Mapping[str, Json]) -> dict[str, dict[str, Interval]]:
    return _grouped(known, lambda suite: {AXES.get(a, a): {"mean": b} for a, b in suite["axes"].items()}, "mean")


def _grouped(
    known: Mapping[str, Json], parts: Callable[[Json], Mapping[str, Json]], key: str
) -> dict[str, dict[str, Interval]]:
    groups: dict[str, dict[str, Interval]] = {}
    for name, suite in known.items():
        for part, block in parts(suite).items():
            rate = block[key]
            if rate["n"]:
                mark = (100 * rate["value"], 100 * rate["low"], 100 * rate["high"])
                groups.setdefault(f"{part} (n = {rate['n']})", {})[name] = mark
    return groups


def _axes(known: Mapping[str, Json]) -> Table:
    columns = ["axis", "n", "one problem, points", *known]
    names = list(dict.fromkeys(axis for suite in known.values() for axis in suite["axes"]))
    rows = [share_cells(AXES.get(name, name), [suite["axes"].get(name) for suite in known.values()]) for name in names]
    first = next(iter(known.values()), {})
    for key in first.get("conditions", {}):
        rates = [suite["conditions"][key] for suite in known.values()]
        rows.append(share_cells(CONDITIONS[key], rates))
    caption = "Mean score of each axis over the problems that ask for it, percent with 95% interval"
    return Table(caption, columns, [row for row in rows if row[1] != "0"], list(range(1, len(columns))))


def _titles(summaries: Mapping[str, Json]) -> str:
    models = {summary["settings"]["scorer"]["title_model"] for summary in summaries.values()}
    return " No title model is set: a title counts for the very product alone." if models == {None} else ""


def _pass_curve(known: Mapping[str, Json]) -> list[Block]:
    drawn = {name: suite["pass_at"] for name, suite in known.items() if suite.get("pass_at", {}).get("estimates")}
    if not drawn:
        return []
    lines = {  # those without draws keep their place: a checkpoint has one colour in all pictures
        name: [(e["k"], 100 * e["value"]) for e in drawn[name]["estimates"]] if name in drawn else [] for name in known
    }
    one = next(iter(drawn.values()))
    ticks = {float(e["k"]): str(e["k"]) for e in one["estimates"]}
    caption = (
        f"Unbiased estimate from {one['samples']} drawn episodes a problem, temperature {one['temperature']:g}, "
        f"top-p {one['top_p']:g}; intervals in the table."
    )
    return [Figure(plot_lines(lines, "pass@k", "k", "percent", ticks=ticks), caption), pass_table(drawn)]
