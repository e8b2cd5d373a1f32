"""Tables of what checkpoints did: a rate never stands without n, interval and the worth of one problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracemill.report.blocks import Block, Table, interval, number, percent

Json = Mapping[str, Any]


def rate_cells(rate: Json) -> list[str]:
    """Percent, interval, n, worth of one problem."""
    step = "" if rate["step"] is None else f"{100 * rate['step']:.2f}"
    return [percent(rate["value"]), interval(rate["low"], rate["high"]), str(rate["n"]), step]


def share_cells(name: str, shares: Sequence[Json | None]) -> list[str]:
    """A row of one share for several checkpoints: name, n, worth of one problem, then value over interval for each."""
    n = max((share["n"] for share in shares if share), default=0)
    return [name, str(n), f"{100 / n:.2f}" if n else "", *(_share(share) for share in shares)]


def _share(share: Json | None) -> str:
    if share is None or not share["n"]:
        return ""
    return f"{percent(share['value'])}\n{interval(share['low'], share['high'])}"


def bucket_table(known: Mapping[str, Json]) -> Table:
    """Success by kind of problem, checkpoints side by side."""
    names = sorted({bucket for suite in known.values() for bucket in suite["by_bucket"]})
    rows = [
        share_cells(name, [suite["by_bucket"].get(name, {}).get("success") for suite in known.values()])
        for name in names
    ]
    columns = ["bucket", "n", "one problem, points", *known]
    caption = "Success by kind of problem, percent with 95% interval"
    return Table(caption, columns, rows, list(range(1, len(columns))))


def pass_table(drawn: Mapping[str, Json]) -> Table:
    """pass@k, checkpoints side by side; `drawn` are the blocks `pass_at` by checkpoint."""
    ks = sorted({e["k"] for found in drawn.values() for e in found["estimates"]})
    rows = [share_cells(f"pass@{k}", [_estimate(found, k) for found in drawn.values()]) for k in ks]
    mixed = [str(found["mixed_problems"]) for found in drawn.values()]
    rows.append(["solved in some draws, not in all", rows[0][1], "", *mixed])
    columns = ["estimate", "n", "one problem, points", *drawn]
    caption = "pass@k, percent with 95% bootstrap interval over problems"
    return Table(caption, columns, rows, list(range(1, len(columns))))


def _estimate(found: Json, k: int) -> Json | None:
    estimate = next((e for e in found["estimates"] if e["k"] == k), None)
    return None if estimate is None else {"n": found["problems"], **estimate}


def paired_table(tests: Sequence[Json]) -> Table:
    """Paired tests (evaluation.compare.compare_all)."""
    rows = [
        [
            f"{test['b']} against {test['a']}",
            _signed(test["difference"]),
            interval(test["low"], test["high"]),
            str(test["n"]),
            "" if test["step"] is None else f"{100 * test['step']:.2f}",
            str(test["only_b"]),
            str(test["only_a"]),
            _p(test["p_value"]),
            _p(test["p_holm"]),
        ]
        for test in tests
    ]
    columns = ["pair", "difference, points", "95% interval", "n", "one problem, points", "won", "lost"]
    columns += ["exact McNemar p", "p, Holm"]
    caption = (
        "Paired tests on the problems that both played: won are problems that only the first solves, lost those that "
        f"only the second solves; Holm adjusts for the {len(tests)} pairs."
    )
    return Table(caption, columns, rows, list(range(1, len(columns))))


def _signed(value: float | None) -> str:
    return "" if value is None else f"{100 * value:+.1f}"


def _p(value: float | None) -> str:
    if value is None:
        return ""
    return "below 0.001" if value < 0.001 else f"{value:.3f}"


def suites_table(summaries: Mapping[str, Json], left_out: str) -> list[Block]:
    """Success in all suites but one; the contaminated ones are marked."""
    rows = []
    for name, summary in summaries.items():
        for suite, block in summary["suites"].items():
            if suite != left_out and block["success"]["n"]:
                note = "contaminated: training clusters touch it" if block["contaminated"] else ""
                rows.append([name, suite, *rate_cells(block["success"]), note])
    columns = ["checkpoint", "suite", "success %", "95% interval", "n", "one problem, points", "note"]
    return [Table("Other suites, greedy", columns, rows, [2, 3, 4, 5])] if rows else []


def lm_table(lm: Mapping[str, Json]) -> list[Block]:
    """Scores of lm-eval's tasks, checkpoints side by side, with documents and version; limited runs are marked."""
    columns = ["task", "score", "version", "documents", *lm]
    named = {
        (task, score) for found in lm.values() for task, block in found["tasks"].items() for score in block["scores"]
    }
    rows = []
    for task, score in sorted(named):
        blocks = [found["tasks"].get(task) for found in lm.values()]
        facts = next(block for block in blocks if block is not None)
        documents = facts["documents"] or {"effective": None, "original": None}
        limit = f"\nlimited: of {number(documents['original'])}" if facts["limited"] else ""
        cells = [
            task,
            score.removesuffix(",none"),
            number(facts["version"]),
            f"{number(documents['effective'])}{limit}",
        ]
        rows.append([*cells, *(_score(block, score) for block in blocks)])
    caption = "lm-evaluation-harness, mean over 95% interval; documents of one problem count as one observation"
    return [Table(caption, columns, rows, list(range(2, len(columns))))] if rows else []


def _score(block: Json | None, score: str) -> str:
    if block is None or score not in block["scores"]:
        return ""
    spread = block.get("intervals", {}).get(score)
    return f"{block['scores'][score]:.3f}" + (f"\n{spread['low']:.3f} to {spread['high']:.3f}" if spread else "")


def count_table(caption: str, what: str, counts: Mapping[str, Mapping[str, int]]) -> Table:
    """Counts by name (rows) and checkpoint (columns)."""
    names = sorted({name for found in counts.values() for name in found})
    rows = [[name, *(number(found.get(name, 0)) for found in counts.values())] for name in names]
    return Table(caption, [what, *counts], rows, list(range(1, len(counts) + 1)))
