"""Edges of the leak graph, each with the evidence that a reader can check.

`gold`: two problems share gold product ids, in whatever category (the ids are the evidence). `text`: the Dice
similarity of their content tokens is at or above the threshold (rapidfuzz's score over the two token lists is the
evidence).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from tracemill.leakage.join import dice_blocks
from tracemill.leakage.nodes import Node
from tracemill.leakage.normalise import differ_only_in_numbers
from tracemill.leakage.params import SimilarityParams
from tracemill.leakage.thinning import thin_pairs

GOLD, TEXT = "gold", "text"
KINDS = (GOLD, TEXT)


class Edge(msgspec.Struct, frozen=True, order=True):
    """One link; `a` < `b` are node keys."""

    a: str
    b: str
    kind: str
    score: float
    """Similarity of the token lists in [0, 1], for either kind."""
    ids: tuple[str, ...] = ()
    """Shared gold ids of a `gold` edge."""
    numeric_only: bool = False
    """Whether the token lists of a `text` edge differ in numbers alone."""


def find_edges(nodes: Sequence[Node], params: SimilarityParams) -> list[Edge]:
    """Return all edges, sorted. Groups above `params.all_pairs` members are linked to one hub instead of pairwise."""
    return sorted([*gold_edges(nodes, params.all_pairs), *text_edges(nodes, params)])


def gold_edges(nodes: Sequence[Node], all_pairs: int) -> list[Edge]:
    """Return the edges between nodes that share gold ids; each names all ids that its two nodes share."""
    holders: dict[str, list[int]] = defaultdict(list)
    for position, node in enumerate(nodes):
        for product in node.gold_ids:
            holders[product].append(position)
    pairs = {pair for members in holders.values() for pair in _spread(nodes, members, all_pairs)}
    return [
        _edge(nodes[i], nodes[j], GOLD, tuple(sorted(set(nodes[i].gold_ids) & set(nodes[j].gold_ids))))
        for i, j in sorted(pairs)
    ]


def text_edges(nodes: Sequence[Node], params: SimilarityParams) -> list[Edge]:
    """Return the edges between nodes whose token lists are equal or similar; empty lists are in none.

    A text that is like more than `params.all_pairs` others keeps only as many edges as hold its component together.
    """
    holders: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for position, node in enumerate(nodes):
        if node.tokens:
            holders[node.tokens].append(position)
    texts = sorted(holders)
    pairs = {pair for members in holders.values() for pair in _spread(nodes, members, params.all_pairs)}
    guarded = [any(nodes[member].protected for member in holders[text]) for text in texts]
    alike = ((left, right) for left, right, _ in dice_blocks(texts, params.numerator, params.denominator))
    for left, right in thin_pairs(alike, guarded, params.all_pairs):
        pairs.update(_across(nodes, holders[texts[left]], holders[texts[right]], params.all_pairs))
    return [_edge(nodes[i], nodes[j], TEXT, ()) for i, j in sorted(pairs)]


def _hub(nodes: Sequence[Node], members: Sequence[int]) -> int:
    return next((m for m in members if nodes[m].protected), members[0])


def _spread(nodes: Sequence[Node], members: Sequence[int], all_pairs: int) -> Iterable[tuple[int, int]]:
    """Pairs that make `members` one component: all of them, or a star around a protected one when there are many."""
    if len(members) <= all_pairs:
        return ((i, j) for k, i in enumerate(members) for j in members[k + 1 :])
    hub = _hub(nodes, members)
    return ((min(hub, m), max(hub, m)) for m in members if m != hub)


def _across(
    nodes: Sequence[Node], left: Sequence[int], right: Sequence[int], all_pairs: int
) -> Iterable[tuple[int, int]]:
    """Pairs between two groups of equal texts: all of them, or their hubs when there are many."""
    if len(left) * len(right) > all_pairs * all_pairs:
        left, right = [_hub(nodes, left)], [_hub(nodes, right)]
    return ((min(i, j), max(i, j)) for i in left for j in right)


def similarity(left: Sequence[str], right: Sequence[str]) -> float:
    """Return rapidfuzz's normalised Indel similarity of two sorted distinct token lists, which equals their Dice."""
    from rapidfuzz.distance import Indel

    if not left and not right:
        return 0.0
    codes = {token: code for code, token in enumerate(sorted({*left, *right}))}
    score: float = Indel.normalized_similarity([codes[t] for t in left], [codes[t] for t in right])
    return score


def _edge(one: Node, other: Node, kind: str, ids: tuple[str, ...]) -> Edge:
    a, b = sorted((one, other), key=lambda node: node.key)
    score = similarity(a.tokens, b.tokens)
    return Edge(a.key, b.key, kind, score, ids, kind == TEXT and differ_only_in_numbers(a.tokens, b.tokens))


def write_edges(edges: Sequence[Edge], path: Path) -> None:
    """Write the edges as parquet, in the order given."""
    import polars as pl

    columns = {
        "a": pl.Series([e.a for e in edges], dtype=pl.String),
        "b": pl.Series([e.b for e in edges], dtype=pl.String),
        "kind": pl.Series([e.kind for e in edges], dtype=pl.String),
        "score": pl.Series([e.score for e in edges], dtype=pl.Float64),
        "ids": pl.Series([list(e.ids) for e in edges], dtype=pl.List(pl.String)),
        "numeric_only": pl.Series([e.numeric_only for e in edges], dtype=pl.Boolean),
    }
    pl.DataFrame(columns).write_parquet(path, compression="zstd", statistics=False)


def read_edges(path: Path) -> list[Edge]:
    """Return the edges of an `edges.parquet`."""
    import polars as pl

    rows = pl.read_parquet(path).iter_rows(named=True)
    return [Edge(r["a"], r["b"], r["kind"], r["score"], tuple(r["ids"]), r["numeric_only"]) for r in rows]
