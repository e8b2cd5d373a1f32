"""Leak clusters: the connected components of problems under their edges, and what a reader should know about them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tracemill.environment.problem import Problem, read_problems
from tracemill.environment.problem_book import ProblemBook
from tracemill.leakage.edges import KINDS, Edge, find_edges, write_edges
from tracemill.leakage.nodes import Node, build_nodes, read_problem_table, write_nodes
from tracemill.leakage.normalise import NORMALISER_VERSION
from tracemill.leakage.params import SimilarityParams


def find_clusters(keys: Iterable[str], edges: Iterable[Edge]) -> dict[str, str]:
    """Return the cluster of each node key; a cluster is called by its smallest key."""
    import networkx

    graph: Any = networkx.Graph()
    graph.add_nodes_from(sorted(keys))
    graph.add_edges_from((edge.a, edge.b) for edge in edges)
    names = {key: min(component) for component in networkx.connected_components(graph) for key in component}
    return dict(sorted(names.items()))


def members_of(clusters: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the sorted node keys of each cluster, by cluster name."""
    members: dict[str, list[str]] = defaultdict(list)
    for key in sorted(clusters):
        members[clusters[key]].append(key)
    return dict(sorted(members.items()))


def cluster_leaks(
    tables: Sequence[Path],
    environment: Sequence[Path],
    protected: Sequence[Path],
    *,
    nodes_path: Path,
    edges_path: Path,
    report_path: Path,
    params: SimilarityParams,
) -> None:
    """Build the leak graph of all problems ever seen (rejected trajectories' too) and of the protected benchmarks.

    `tables` are problems.parquet, `environment` and `protected` problem files; their order and names do not matter.
    """
    known = [p for path in environment for p in read_problems(path)]
    book = ProblemBook(known)
    problems = known + [p for table in tables for seen in read_problem_table(table) for p in as_scored(seen, book)]
    guarded: list[Problem] = [p for path in protected for p in read_problems(path)]
    nodes = build_nodes(problems, guarded)
    edges = find_edges(nodes, params)
    clusters = find_clusters((n.key for n in nodes), edges)
    write_nodes(nodes, clusters, nodes_path)
    write_edges(edges, edges_path)
    report = describe_clusters(nodes, edges, clusters)
    report["similarity"] = {"normaliser": NORMALISER_VERSION, "threshold": [params.numerator, params.denominator]}
    report_path.write_bytes(msgspec.json.format(msgspec.json.encode(report, order="sorted")) + b"\n")


def as_scored(seen: Problem, book: ProblemBook) -> list[Problem]:
    """Return a problem of a trace as its rows are keyed: in its own words, with the products it is scored against.

    Arenas name the problem but rarely its reward, so the problem table's reward comes first; the trace's own counts
    too.
    """
    known = book.find(seen.problem_id, seen.query)
    if known is None or known.reward is None:
        return [seen]
    scored = msgspec.structs.replace(known, query=seen.query)
    return [scored] if seen.reward is None else [scored, seen]


def describe_clusters(
    nodes: Sequence[Node], edges: Sequence[Edge], clusters: Mapping[str, str], evidence: int = 20
) -> dict[str, Any]:
    """Return counts by edge kind, sizes of clusters, and the largest cluster with the edges that made it."""
    members = members_of(clusters)
    guarded = {clusters[n.key] for n in nodes if n.protected}
    largest = max(members, key=lambda name: (len(members[name]), name), default=None)
    kinds = Counter(edge.kind for edge in edges)
    return {
        "nodes": len(nodes),
        "problems": len({problem_id for n in nodes for problem_id in n.problem_ids}),
        "without_content": sum(not n.tokens for n in nodes),
        "edges": {kind: kinds[kind] for kind in KINDS},
        "numeric_only_links": sum(edge.numeric_only for edge in edges),
        "clusters": len(members),
        "clusters_by_nodes": {str(k): v for k, v in sorted(Counter(len(m) for m in members.values()).items())},
        "protected": {
            "nodes": sum(n.protected for n in nodes),
            "clusters": len(guarded),
            "nodes_pulled_in": sum(clusters[n.key] in guarded and not n.protected for n in nodes),
        },
        "largest": None if largest is None else explain_cluster(largest, nodes, edges, clusters, evidence),
    }


def explain_cluster(
    name: str, nodes: Sequence[Node], edges: Sequence[Edge], clusters: Mapping[str, str], evidence: int
) -> dict[str, Any]:
    """Return a cluster's problems and the edges that hold it together, at most `evidence` of each."""
    inside = {n.key: n for n in nodes if clusters[n.key] == name}
    links = [edge for edge in edges if clusters[edge.a] == name]
    return {
        "cluster": name,
        "nodes": len(inside),
        "edges": len(links),
        "problem_ids": [n.problem_ids[0] for n in inside.values()][:evidence],
        "evidence": [explain_edge(edge, inside) for edge in links[:evidence]],
    }


def explain_edge(edge: Edge, nodes: Mapping[str, Node]) -> dict[str, Any]:
    """Return an edge with what a reader needs to judge it: problem ids, queries (cut at 200 characters), ids or
    score."""
    ends = {
        end: {"problem_id": nodes[key].problem_ids[0], "query": nodes[key].queries[0][:200]}
        for end, key in (("a", edge.a), ("b", edge.b))
    }
    return {**ends, "kind": edge.kind, "score": round(edge.score, 4), "ids": list(edge.ids)}
