"""What in these files leaks into that benchmark: clusters, pairs with evidence, and the corpus problems to leave out.

The same nodes, edges and clusters as in the build, spoken of by the ids of the files. Three kinds of pairs are told
apart: `verbatim` (equal after Unicode form, case and spaces), `text` (similar content words) and `product` (shared gold
ids, or a trajectory that recommends the gold product of a protected problem).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

import msgspec

from tracemill.leakage.clusters import find_clusters
from tracemill.leakage.edges import GOLD, TEXT, Edge, find_edges
from tracemill.leakage.nodes import Node, build_nodes, problem_key
from tracemill.leakage.normalise import clean
from tracemill.leakage.params import SimilarityParams
from tracemill.leakage.sources import Entry
from tracemill.terminal import printable

VERBATIM, PRODUCT = "verbatim", "product"
MAX_PAIRS = 64
"""Item pairs written for one pair of nodes; beyond it one per side speaks for the rest."""


class Item(msgspec.Struct):
    """One problem as the files call it; repeated lines of one id and one node are one item."""

    label: str
    key: str
    text: str
    protected: bool
    rows: int
    recommended_ids: set[str]


class Link(msgspec.Struct, frozen=True, order=True):
    """One pair of items with its evidence, as `--json` writes it."""

    a: str
    b: str
    why: str
    score: float
    ids: tuple[str, ...] = ()
    crossing: bool = False
    """Whether one side is protected and the other is not."""


class Leaks(msgspec.Struct, frozen=True):
    """The whole answer; labels are sorted everywhere."""

    items: list[Item]
    links: list[Link]
    clusters: list[list[str]]
    leaking: list[str]
    """Corpus problems in a cluster with a protected one."""


def find_leaks_between(corpus: Sequence[Entry], protected: Sequence[Entry], params: SimilarityParams) -> Leaks:
    """Return the clusters over both groups of entries and how the corpus reaches the protected problems."""
    items = name_items([*((e, False) for e in corpus), *((e, True) for e in protected)])
    nodes = build_nodes((e.problem for e in corpus), (e.problem for e in protected))
    by_node: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        by_node[item.key].append(item)
    edges = [*find_edges(nodes, params), *recommendation_edges(nodes, by_node)]
    clusters = find_clusters((n.key for n in nodes), edges)
    members: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        members[clusters[item.key]].append(item)
    leaking = {
        i.label for group in members.values() if any(m.protected for m in group) for i in group if not i.protected
    }
    links = {link for node in nodes for link in _links_within(node, by_node[node.key])}
    links |= {link for edge in edges for link in _links_across(edge, by_node[edge.a], by_node[edge.b])}
    groups = sorted(sorted(i.label for i in group) for group in members.values() if len(group) > 1)
    return Leaks(items, sorted(links), groups, sorted(leaking))


def name_items(entries: Iterable[tuple[Entry, bool]]) -> list[Item]:
    """Return the items in file order. Equal ids in two files are prefixed by the file; a second problem under one id in
    one file, like a line without id, is FILE:LINE.
    """
    listed = list(entries)
    files: dict[str, set[str]] = defaultdict(set)
    for entry, _ in listed:
        files[entry.problem.problem_id].add(entry.file)
    taken: dict[tuple[bool, str, str], Item] = {}
    items: list[Item] = []
    for entry, guard in listed:
        problem = entry.problem
        key = problem_key(problem.query, problem.gold_ids)
        own = problem.problem_id
        label = f"{entry.file}:{own}" if entry.named and len(files[own]) > 1 else own
        item = taken.get((guard, entry.file, label))
        if item is None or item.key != key:
            label = label if item is None else f"{entry.file}:{entry.line}"
            item = Item(label, key, clean(problem.query), guard, 0, set())
            taken.setdefault((guard, entry.file, label), item)
            items.append(item)
        item.rows += 1
        item.recommended_ids.update(entry.recommended_ids)
    return items


def recommendation_edges(nodes: Sequence[Node], by_node: Mapping[str, Sequence[Item]]) -> list[Edge]:
    """Return an edge for each corpus node with a trajectory that recommends a gold product of a protected node."""
    owners: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        if node.protected:
            for gold in node.gold_ids:
                owners[gold].append(node.key)
    shared: dict[tuple[str, str], set[str]] = defaultdict(set)
    for key, items in by_node.items():
        for gold in {i for item in items if not item.protected for i in item.recommended_ids}:
            for owner in owners.get(gold, ()):
                if owner != key:
                    shared[min(key, owner), max(key, owner)].add(gold)
    return [Edge(a, b, GOLD, 1.0, tuple(sorted(ids))) for (a, b), ids in sorted(shared.items())]


def _links_within(node: Node, items: Sequence[Item]) -> Iterable[Link]:
    """One text and the same gold ids: every item is linked to the first protected one, else to the first."""
    hub = next((item for item in items if item.protected), items[0])
    for item in items:
        if item is not hub:
            if node.tokens:
                yield _link(hub, item, TEXT, 1.0, ())
            if node.gold_ids:
                yield _link(hub, item, GOLD, 1.0, node.gold_ids)


def _links_across(edge: Edge, left: Sequence[Item], right: Sequence[Item]) -> Iterable[Link]:
    if len(left) * len(right) > MAX_PAIRS:
        left, right = _speakers(left), _speakers(right)
    score = edge.score if edge.kind == TEXT else 1.0
    return [_link(a, b, edge.kind, score, edge.ids) for a, b in product(left, right)]


def _speakers(items: Sequence[Item]) -> list[Item]:
    return [next(i for i in items if i.protected is guard) for guard in sorted({i.protected for i in items})]


def _link(one: Item, other: Item, kind: str, score: float, ids: tuple[str, ...]) -> Link:
    a, b = sorted((one, other), key=lambda item: (item.protected, item.label))
    why = PRODUCT if kind == GOLD else VERBATIM if a.text == b.text else TEXT
    return Link(a.label, b.label, why, round(score, 6), ids, a.protected != b.protected)


def as_json(leaks: Leaks) -> bytes:
    """Return the answer as one JSON object: clusters, edges with evidence, protected (the leaking corpus problems)."""
    edges = [
        {"a": k.a, "b": k.b, "why": k.why, "score": k.score, **({"ids": list(k.ids)} if k.ids else {})}
        for k in leaks.links
    ]
    return msgspec.json.encode({"clusters": leaks.clusters, "edges": edges, "protected": leaks.leaking})


def as_text(leaks: Leaks, protected_given: bool, show: int) -> str:
    """Return the answer for a reader: counts, then the pairs, verbatim, by product and fuzzy apart."""
    corpus = [item for item in leaks.items if not item.protected]
    lines = [f"{len(corpus)} corpus problems in {sum(i.rows for i in corpus)} rows"]
    if protected_given:
        hit = set(leaks.leaking)
        rows = sum(item.rows for item in corpus if item.label in hit)
        lines[0] += f", {len(leaks.items) - len(corpus)} protected problems"
        lines.append(f"{len(hit)} corpus problems ({rows} rows) leak into the protected ones")
    lines.append(
        f"{len(leaks.clusters)} clusters of two or more, the largest with {max(map(len, leaks.clusters), default=0)}"
    )
    pairs = [link for link in leaks.links if link.crossing or not protected_given]
    direct = {link.a for link in pairs}
    for why, title in ((VERBATIM, "verbatim"), (PRODUCT, "by product"), (TEXT, "fuzzy")):
        chosen = sorted((k for k in pairs if k.why == why), key=lambda k: (-k.score, k))
        lines += ["", f"{title}: {len(chosen)} pairs"]
        lines += [f"  {_evidence(link)}" for link in chosen[:show]]
        if len(chosen) > show:
            lines.append(f"  and {len(chosen) - show} more (--show {len(chosen)}, or --json for all)")
    if protected_given and (indirect := [label for label in leaks.leaking if label not in direct]):
        lines += ["", f"by way of another corpus problem: {len(indirect)}", *(f"  {i}" for i in indirect[:show])]
    return "\n".join(map(printable, lines))


def _evidence(link: Link) -> str:
    told = f"products {', '.join(link.ids)}" if link.why == PRODUCT else f"similarity {link.score:.3f}"
    return f"{link.a}  ~  {link.b}  {told}"
