"""The page's sections on the corpus: the funnel with a reason for every row that left, and the leak guard."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tracemill.report.blocks import Block, Figure, Section, Table, counts_table, matrix, number, percent, table
from tracemill.report.plots import plot_bars, plot_lines

Json = Mapping[str, Any]
QUERY_CUT = 200
"""Characters after which the leak guard cuts the queries of its evidence."""
AXES = "on axis A the model itself made the calls, on axis B code around it did"


def funnel_section(traces: Mapping[str, Json], filtered: Mapping[str, Json], corpus: Json) -> Section:
    """Rows from raw line to training row. `traces` and `filtered` are the snapshots' summaries, by snapshot name."""
    stages = {
        "raw lines": sum(s["in"] for s in traces.values()),
        "normalised": sum(s["kept"] for s in traces.values()),
        "through the gates": sum(s["kept"] for s in filtered.values()),
        "distinct rows": corpus["in"] - corpus["roles"]["exact_duplicate"] - corpus["roles"]["near_duplicate"],
        "SFT rows": corpus["roles"]["sft"],
    }
    blocks: list[Block] = [
        Figure(plot_bars({k: float(v) for k, v in stages.items()}, "Rows left after each step", "rows")),
        table("Dropped rows by step and reason", ["step", "reason", "rows"], _drops(traces, filtered, corpus), [2]),
        counts_table("SFT rows by category", dict(corpus["sft_by_category"]), "category", "rows"),
        _agents(filtered),
        _snapshots(traces, filtered),
    ]
    lead = f"{number(stages['raw lines'])} raw lines became {number(stages['SFT rows'])} SFT rows."
    return Section("funnel", "Funnel", lead, blocks)


def _drops(traces: Mapping[str, Json], filtered: Mapping[str, Json], corpus: Json) -> list[tuple[str, str, int]]:
    unread: Counter[str] = Counter()
    gates: Counter[str] = Counter()
    for summary in traces.values():
        unread.update(summary["rejected"])
    for summary in filtered.values():
        gates.update(summary["dropped"])
    left = {role: n for role, n in corpus["roles"].items() if role not in ("sft", "undesirable")}
    rows = [("normalise", reason, n) for reason, n in sorted(unread.items())]
    rows += [("gates", reason, n) for reason, n in sorted(gates.items())]
    return rows + [("assemble", reason, n) for reason, n in sorted(left.items())]


def _agents(filtered: Mapping[str, Json]) -> Table:
    kinds: Counter[tuple[str, str]] = Counter()
    for summary in filtered.values():
        for key, n in summary["agents"].items():
            agent, _, what = key.rpartition(" ")
            kinds[agent.partition("/")[0], what] += n
    names = sorted({kind for kind, _ in kinds})
    rows = [(kind, kinds[kind, "in"], kinds[kind, "kept"]) for kind in names]
    caption = "Rows through the gates by kind of agent (its version's name before the stroke)"
    return table(caption, ["agent", "in", "kept"], rows, [1, 2])


def _snapshots(traces: Mapping[str, Json], filtered: Mapping[str, Json]) -> Table:
    rows = []
    for name in sorted(traces):
        before, after = traces[name], filtered[name]
        share = after["kept"] / before["in"] if before["in"] else None
        rows.append((name, before["snapshot_digest"][:12], before["in"], before["kept"], after["kept"], percent(share)))
    columns = ["snapshot", "digest", "lines", "normalised", "through the gates", "% of lines"]
    return table("Yield by snapshot", columns, rows, [2, 3, 4, 5])


def leak_section(clusters: Json, shares: Json, audit: Json, examples: Sequence[Json]) -> Section:
    """Clusters, pools and audit; `examples` are explained edges (leakage.clusters.explain_edge)."""
    largest = clusters["largest"]
    blocks: list[Block] = [
        counts_table("Links between problems by evidence", dict(clusters["edges"]), "evidence", "links"),
        counts_table("Clusters by number of problems", dict(clusters["clusters_by_nodes"]), "problems", "clusters"),
        table("Examples of evidence", ["evidence", "score", "one problem", "the other"], map(_example, examples), [1]),
        _pools(shares),
        counts_table("Audit", dict(audit["checks"]), "check", "result"),
    ]
    lead = (
        f"{number(clusters['nodes'])} distinct problems form {number(clusters['clusters'])} clusters; "
        f"the largest holds {number(largest['nodes']) if largest else 0}. A cluster stays in one pool."
    )
    return Section("leaks", "Leak guard", lead, blocks)


def _example(edge: Json) -> tuple[str, Any, str, str]:
    why = f"product {', '.join(edge['ids'])}" if edge["ids"] else "text"
    return why, edge["score"], *(_problem(edge[side]) for side in "ab")


def _problem(end: Json) -> str:
    cut = " …" if len(end["query"]) == QUERY_CUT else ""
    return f"{end['problem_id']}: {end['query']}{cut}"


def _pools(shares: Json) -> Table:
    rows = []
    for pool in sorted(shares["problems"]):
        share = shares["rows"]["share"].get(pool)
        wanted = shares["wanted"].get(pool)
        counts = shares["clusters"].get(pool, 0), shares["problems"][pool], shares["rows"]["by_pool"].get(pool, 0)
        rows.append((pool, *counts, percent(share), percent(wanted)))
    columns = ["pool", "clusters", "problems", "corpus rows", "% of rows", "% wanted"]
    return table("Pools: wanted and realised shares", columns, rows, [1, 2, 3, 4, 5])


def drift_section(drift: Sequence[Json]) -> Section:
    """How the snapshots differ (records of corpus.drift)."""
    rows = [
        [
            record["snapshot"],
            *(number(record[key]) for key in ("lines", "normalised", "kept")),
            *(percent(record["shares"][key]) for key in ("kept", "axis_a", "success")),
            number(record["shares"]["judge_mean"], 3),
            *(number(record[key]) for key in ("problems", "new_problems", "links_to_older")),
        ]
        for record in drift
    ]
    columns = ["snapshot", "lines", "normalised", "kept", "% kept", "% axis A", "% success", "judge, mean"]
    columns += ["problems", "new", "links to older"]
    shares = {"kept": "kept of lines", "axis_a": "axis A of kept", "success": "success of kept"}
    lines = {
        label: [
            (float(place), 100 * record["shares"][key])
            for place, record in enumerate(drift, 1)
            if record["shares"][key] is not None
        ]
        for key, label in shares.items()
    }
    ticks = {float(place): record["snapshot"] for place, record in enumerate(drift, 1)}
    given = sorted({coefficient for record in drift for coefficient in record["judge_coefficients"]})
    judged = {
        record["snapshot"]: {coefficient: record["judge_coefficients"].get(coefficient, 0) for coefficient in given}
        for record in drift
    }
    blocks: list[Block] = [
        Table(f"Snapshots in the order of their names; {AXES}", columns, rows, list(range(1, len(columns)))),
        Figure(plot_lines(lines, "Shares by snapshot", "", "percent", ticks=ticks)),
        matrix("Rows dropped, by reason", "reason", {record["snapshot"]: record["dropped"] for record in drift}),
        matrix("Rows kept, by category", "category", {record["snapshot"]: record["categories"] for record in drift}),
        matrix("Rows by the reasoning coefficient that the judge gave", "coefficient", judged),
    ]
    lead = "A change of the arena's problems, or of what pleases the judge, shows here first."
    return Section("drift", "Snapshot drift", lead, blocks)
