"""Thinned pairs hold the same components together, and every like of a protected text still says so."""

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leak_graph import make
from tracemill.leakage.clusters import find_clusters
from tracemill.leakage.edges import find_edges
from tracemill.leakage.nodes import build_nodes
from tracemill.leakage.params import SimilarityParams
from tracemill.leakage.thinning import thin_pairs

TEXTS = 20
pairs = st.lists(
    st.tuples(st.integers(0, TEXTS - 1), st.integers(0, TEXTS - 1)).filter(lambda pair: pair[0] < pair[1]),
    unique=True,
    max_size=150,
)


def _blocks(found, size):
    for start in range(0, len(found), size):
        part = np.array(found[start : start + size], dtype=np.int64)
        yield part[:, 0], part[:, 1]


def _components(found):
    graph = networkx.Graph(found)
    graph.add_nodes_from(range(TEXTS))
    return sorted(map(sorted, networkx.connected_components(graph)))


@given(pairs, st.sets(st.integers(0, TEXTS - 1)), st.integers(1, 4), st.integers(1, 40))
@settings(max_examples=200, deadline=None)
def test_components_stay_and_every_text_keeps_its_first_pairs(found, guarded, most, size):
    kept = list(thin_pairs(_blocks(found, size), [n in guarded for n in range(TEXTS)], most))
    assert set(kept) <= set(found)
    assert len(kept) == len(set(kept)) <= (2 * most + 1) * TEXTS
    assert _components(kept) == _components(found)
    for crossing in (True, False):
        of_kind = [pair for pair in found if ((pair[0] in guarded) != (pair[1] in guarded)) is crossing]
        for text in range(TEXTS):
            mine = [pair for pair in of_kind if text in pair]
            assert len([pair for pair in kept if pair in mine]) >= min(most, len(mine))


def test_few_pairs_are_all_kept():
    found = [(0, 1), (0, 2), (1, 2), (3, 4)]
    assert list(thin_pairs(_blocks(found, 2), [False] * 5, 3)) == found


@pytest.mark.parametrize("guard", [False, True])
def test_a_template_makes_one_cluster_of_few_edges(guard):
    problems = [make(str(n), f"red steel kettle with whistle model {n}") for n in range(300)]
    nodes = build_nodes(problems, problems[:1] if guard else [])
    edges = find_edges(nodes, SimilarityParams(all_pairs=4))
    assert len(edges) <= 9 * 300
    assert len(set(find_clusters((n.key for n in nodes), edges).values())) == 1
    protected = {n.key for n in nodes if n.protected}
    direct = {key for edge in edges if {edge.a, edge.b} & protected for key in (edge.a, edge.b)}
    assert len(direct) == (300 if guard else 0)
