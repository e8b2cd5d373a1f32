"""Clusters over text and products, their evidence, and independence from how snapshots are listed."""

import json

import pytest

from leak_graph import P1, S1, V1, make, write_table
from tracemill.environment.problem import write_problems
from tracemill.leakage.edges import Edge, find_edges
from tracemill.leakage.nodes import build_nodes, problem_key, read_nodes
from tracemill.leakage.params import SimilarityParams


def test_shared_products_link_across_categories_without_a_common_word(build, tmp_path):
    report = build.cluster([write_table([P1, V1, S1], tmp_path / "p.parquet")])
    _, clusters = read_nodes(build.nodes)
    assert len(set(clusters.values())) == 1
    assert report["edges"] == {"gold": 2, "text": 0}
    assert report["largest"]["nodes"] == 3
    told = {(e["a"]["problem_id"], e["b"]["problem_id"]): e["ids"] for e in report["largest"]["evidence"]}
    assert {tuple(sorted(pair)): ids for pair, ids in told.items()} == {("P1", "V1"): ["7"], ("S1", "V1"): ["8"]}


def test_unicode_forms_are_one_cluster_and_numeric_links_are_counted(build, tmp_path):
    problems = [
        make("t", "Find a ＵＳＢ‑C cable, ½ m"),
        make("e", "find a usb-c  cable 1⁄2 m"),
        make("u", "Find a u\u00adsb-c\u00a0cab\u200ble, ½ m"),
        make("ten", "ceramic red mug with handle under 10"),
        make("hundred", "ceramic red mug with handle under 100"),
    ]
    report = build.cluster([write_table(problems, tmp_path / "p.parquet")])
    assert report["numeric_only_links"] == 1
    nodes, clusters = read_nodes(build.nodes)
    groups = {}
    for node in nodes:
        groups.setdefault(clusters[node.key], set()).update(node.problem_ids)
    assert sorted(map(sorted, groups.values())) == [["e", "t", "u"], ["hundred", "ten"]]


SEATS = """Looking for a thick seat cushion pad

My budget is only `263`, but I have a voucher with the following rules:
1. The voucher applies to all products.
2. It is valid only when the total price of the products exceeds `257`."""


def test_a_query_with_other_line_ends_is_a_node_in_its_own_words_with_the_known_products(build, tmp_path):
    folded = " ".join(SEATS.split())
    assert problem_key(folded, ["7"]) != problem_key(SEATS, ["7"])
    write_problems([make("p", SEATS, ["7"], "voucher")], tmp_path / "env.jsonl")
    own_reward = make("p", folded, ["8"], "voucher")
    for seen, golds in ((make("query-1", folded, (), "voucher"), ["7"]), (own_reward, ["7", "8"])):
        build.cluster([write_table([seen], tmp_path / "p.parquet")], [tmp_path / "env.jsonl"])
        nodes, clusters = read_nodes(build.nodes)
        assert {problem_key(folded, [g]) for g in golds} | {problem_key(SEATS, ["7"])} == {n.key for n in nodes}
        assert len(set(clusters.values())) == 1


def test_queries_of_stop_words_never_link_by_text():
    nodes = build_nodes([make("a", "show me"), make("b", "what do you have"), make("c", "")])
    assert find_edges(nodes, SimilarityParams()) == []


def test_a_text_edge_carries_rapidfuzzs_score():
    nodes = build_nodes([make("a", "red clay mug", ["1"]), make("b", "red clay cup", ["2"])])
    (edge,) = find_edges(nodes, SimilarityParams())
    assert (edge.kind, edge.ids) == ("text", ())
    assert edge.score == pytest.approx(2 / 3)


def test_one_text_with_different_products_is_linked():
    nodes = build_nodes([make(str(i), "red clay mug", [str(i)]) for i in range(3)])
    assert [(e.kind, e.score) for e in find_edges(nodes, SimilarityParams())] == [("text", 1.0)] * 3


def test_large_groups_are_linked_through_a_protected_member():
    corpus = [make(f"c{i}", f"unique{i} words{i}", ["7"]) for i in range(9)]
    nodes = build_nodes(corpus, [make("bench", "quite other thing", ["7"])])
    edges = find_edges(nodes, SimilarityParams(all_pairs=4))
    hub = next(n.key for n in nodes if n.protected)
    assert len(edges) == 9
    assert all(hub in (edge.a, edge.b) for edge in edges)


def test_renamed_reordered_and_repeated_snapshots_give_the_same_bytes(build, tmp_path):
    first = write_table([P1, V1], tmp_path / "a.parquet")
    second = write_table([S1, P1], tmp_path / "b.parquet")
    write_problems([make("env", "unisex baby bowl", ["7"])], tmp_path / "env.jsonl")
    build.cluster([first, second], [tmp_path / "env.jsonl"])
    files = (build.nodes, build.edges, build.clusters)
    before = [path.read_bytes() for path in files]
    renamed = write_table([V1, P1], tmp_path / "z.parquet")
    build.cluster([second, renamed, first], [tmp_path / "env.jsonl"])
    assert [path.read_bytes() for path in files] == before


def test_the_real_problems_have_their_thirteen_product_links_and_no_large_cluster(shared):
    from tracemill.environment.problem import read_problems
    from tracemill.leakage.clusters import find_clusters, members_of

    nodes = build_nodes(read_problems(shared / "data/shoppingbench/problems.jsonl"))
    edges = find_edges(nodes, SimilarityParams())
    clusters = find_clusters((n.key for n in nodes), edges)
    of = {i: clusters[n.key] for n in nodes for i in n.problem_ids}
    pairs = json.loads((shared / "cases/gold_links.json").read_text())
    assert len(pairs) == 13
    assert all(of[a] == of[b] for a, b in pairs)
    assert max(len(m) for m in members_of(clusters).values()) == 2
    assert sum(edge.kind == "gold" for edge in edges) == 13


def test_edges_sort_by_their_ends():
    assert sorted([Edge("b", "c", "gold", 1.0), Edge("a", "z", "text", 0.6)])[0].a == "a"
