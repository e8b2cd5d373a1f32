"""The leak audit: a gate that fails the build, with the evidence, when anything of a held-out pool could reach
training.

It trusts neither the clusters nor the pools that it is given: every check goes back to the nodes' queries and gold
ids and to the corpus rows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from tracemill.errors import GateError
from tracemill.leakage.clusters import explain_cluster
from tracemill.leakage.edges import GOLD, Edge, read_edges
from tracemill.leakage.ledger import promised_pools, read_ledger
from tracemill.leakage.nodes import Node, read_nodes
from tracemill.leakage.normalise import clean
from tracemill.leakage.params import AuditParams, SimilarityParams
from tracemill.leakage.pools import BENCHMARK, EVAL, NEVER_TOUCH, TRAIN, read_pools
from tracemill.leakage.split import corpus_rows
from tracemill.terminal import printable

PASSED = b"the leak audit passed\n"
"""Content of the gate file, always the same: changed counts retrain nothing."""

Row = tuple[str, tuple[str, ...]]
Findings = dict[str, list[str]]


def audit_leaks(
    nodes_path: Path,
    edges_path: Path,
    pools_path: Path,
    corpus: Path,
    ledger: Path,
    *,
    report_path: Path,
    passed_path: Path,
    params: AuditParams,
    similarity: SimilarityParams,
) -> None:
    """Write the audit's report and the gate file; GateError with the evidence when a check fails."""
    nodes, clusters = read_nodes(nodes_path)
    edges, entries, rows = read_edges(edges_path), read_ledger(ledger), corpus_rows(corpus)
    pool_of, conflicts = _pools_by_key(pools_path)
    split = read_pools(pools_path)
    admitted = [row for row in rows if split.refuse_key(*row) is None]
    promised = promised_pools(nodes, entries, similarity)
    findings = {"problem_in_two_pools": conflicts, **find_leaks(nodes, edges, clusters, pool_of, admitted, promised)}
    findings["cluster_too_large"] = find_giant(nodes, edges, clusters, rows, params)
    failed = {check: lines for check, lines in findings.items() if lines}
    if failed:
        raise GateError(_message(failed, params.evidence))
    counts = Counter(pool_of.get(key, "unknown") for key, _ in rows)
    report = {
        "checks": dict.fromkeys(findings, "passed"),
        "rows": {"in": len(rows), "admitted_to_training": len(admitted), "by_pool": dict(sorted(counts.items()))},
        "problems": dict(sorted(Counter(pool_of.values()).items())),
        "ledger": len(entries),
    }
    report_path.write_bytes(msgspec.json.format(msgspec.json.encode(report, order="sorted")) + b"\n")
    passed_path.write_bytes(PASSED)


def find_leaks(
    nodes: Sequence[Node],
    edges: Sequence[Edge],
    clusters: Mapping[str, str],
    pool_of: Mapping[str, str],
    admitted: Sequence[Row],
    promised: Mapping[str, str],
) -> Findings:
    """Return the evidence against each check, one line a finding; all lists empty means that nothing leaks.

    `promised` is what the ledger says: the pool of the node keys that it speaks of.
    """
    train = [n for n in nodes if pool_of.get(n.key) == TRAIN]
    held = [n for n in nodes if pool_of.get(n.key) != TRAIN]
    evaluated = [n for n in held if pool_of.get(n.key) == EVAL]
    sealed = {key: pool for key, pool in promised.items() if pool == NEVER_TOUCH}
    by_key = {n.key: n for n in nodes}
    return {
        "problem_without_pool": [f"{_name(n)} has no pool" for n in nodes if n.key not in pool_of],
        "cluster_in_two_pools": list(_split_edges(edges, by_key, pool_of)) + list(_split_clusters(clusters, pool_of)),
        "gold_in_held_out_pool": list(_shared_golds(train, held, pool_of)),
        "recommended_in_held_out_pool": list(_recommended(admitted, by_key, held, pool_of)),
        "protected_in_train": list(_protected(nodes, train, clusters, pool_of)),
        "ledger_in_train": list(_broken(train, TRAIN, promised)),
        "ledger_in_eval": list(_broken(evaluated, EVAL, sealed)),
    }


def find_giant(
    nodes: Sequence[Node], edges: Sequence[Edge], clusters: Mapping[str, str], rows: Sequence[Row], params: AuditParams
) -> list[str]:
    """Return what holds the largest cluster together when it has more than its share of the corpus rows."""
    sizes = Counter(clusters[key] for key, _ in rows if key in clusters)
    name = max(sizes, key=lambda c: (sizes[c], c), default=None)
    if name is None or sizes[name] <= params.largest_share * len(rows):
        return []
    told = explain_cluster(name, nodes, edges, clusters, params.evidence)
    links = [
        f"{e['a']['problem_id']} ~ {e['b']['problem_id']}: {e['kind']} {', '.join(e['ids']) or e['score']}"
        for e in told["evidence"]
    ]
    share = f"cluster {name[:12]} holds {sizes[name]} of {len(rows)} rows, over {params.largest_share:.0%}; linked by"
    return [share, *links]


def _pools_by_key(path: Path) -> tuple[dict[str, str], list[str]]:
    import polars as pl

    pools: dict[str, str] = {}
    conflicts = []
    for key, pool in pl.read_parquet(path, columns=["problem_key", "pool"]).rows():
        if pools.setdefault(key, pool) != pool:
            conflicts.append(f"problem {key[:12]} is in {pools[key]} and {pool}")
    return pools, conflicts


def _name(node: Node) -> str:
    return f"{node.problem_ids[0]} ({node.key[:12]})"


def _split_edges(edges: Sequence[Edge], nodes: Mapping[str, Node], pool_of: Mapping[str, str]) -> Iterator[str]:
    for edge in edges:
        pools = pool_of.get(edge.a), pool_of.get(edge.b)
        if pools[0] != pools[1]:
            why = f"shared gold ids {', '.join(edge.ids)}" if edge.kind == GOLD else f"text similarity {edge.score:.3f}"
            yield f"{_name(nodes[edge.a])} in {pools[0]} and {_name(nodes[edge.b])} in {pools[1]}: {why}"


def _split_clusters(clusters: Mapping[str, str], pool_of: Mapping[str, str]) -> Iterator[str]:
    found: dict[str, set[str]] = defaultdict(set)
    for key, name in clusters.items():
        found[name].add(pool_of.get(key, "none"))
    for name, pools in sorted(found.items()):
        if len(pools) > 1:
            yield f"cluster {name[:12]} is in {', '.join(sorted(pools))}"


def _shared_golds(train: Sequence[Node], held: Sequence[Node], pool_of: Mapping[str, str]) -> Iterator[str]:
    owners = {product: node for node in held for product in node.gold_ids}
    for node in train:
        for product in node.gold_ids:
            if product in owners:
                other = owners[product]
                yield f"product {product}: {_name(node)} in train, {_name(other)} in {pool_of.get(other.key)}"


def _recommended(
    admitted: Sequence[Row], nodes: Mapping[str, Node], held: Sequence[Node], pool_of: Mapping[str, str]
) -> Iterator[str]:
    owners = {product: node for node in held for product in node.gold_ids}
    for key, recommended in admitted:
        for product in recommended:
            if product in owners:
                other, name = owners[product], _name(nodes[key]) if key in nodes else key[:12]
                where = f"gold of {_name(other)} in {pool_of.get(other.key)}"
                yield f"product {product}: recommended in a training row of {name}, {where}"


def _protected(
    nodes: Sequence[Node], train: Sequence[Node], clusters: Mapping[str, str], pool_of: Mapping[str, str]
) -> Iterator[str]:
    guarded = [n for n in nodes if n.protected]
    verbatim = {clean(query): n for n in guarded if n.tokens for query in n.queries}
    by_cluster = {clusters[n.key]: n for n in guarded}
    for node in guarded:
        if pool_of.get(node.key) != BENCHMARK:
            yield f"protected {_name(node)} is in {pool_of.get(node.key)}, not in {BENCHMARK}"
    for node in train:
        same = next((verbatim[text] for text in map(clean, node.queries) if text in verbatim), None)
        if same is not None:
            yield f"{_name(node)} in train has the words of protected {_name(same)}"
        elif clusters[node.key] in by_cluster:
            yield f"{_name(node)} in train is in a cluster with protected {_name(by_cluster[clusters[node.key]])}"


def _broken(nodes: Sequence[Node], entered: str, promised: Mapping[str, str]) -> Iterator[str]:
    for node in nodes:
        pool = promised.get(node.key)
        if pool is not None:
            yield (
                f"{_name(node)} would enter {entered} but the ledger has it in {pool}, or a problem like it: bring "
                "back its snapshot, or set leakage.pools.ledger to hold"
            )


def _message(failed: Findings, evidence: int) -> str:
    lines = []
    for check, found in failed.items():
        lines.append(f"leak audit: {check}: {len(found)} findings")
        lines += [f"  {line}" for line in found[:evidence]]
        if len(found) > evidence:
            lines.append(f"  and {len(found) - evidence} more")
    return "\n".join(map(printable, lines))
