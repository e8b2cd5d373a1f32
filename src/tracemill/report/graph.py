"""The picture of what was built from what: layers from top to bottom, arrows from input to output.

Arrows that others imply are left out, else a stage that reads ten artifacts hides the chain that it belongs to. Labels
carry the stage's name as an id (`stage:NAME`), by which the page adds how long a stage took.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tracemill.report.plots import INK, SERIES, SOFT, make_figure, plain, to_svg

LABEL = "stage:"
_SWEEPS = 8


def plot_graph(edges: Iterable[tuple[str, str]], title: str) -> str:
    """A layered picture of a directed acyclic graph; `edges` are (from, to)."""
    import networkx as nx

    graph = nx.transitive_reduction(nx.DiGraph(sorted(set(edges))))
    layers = [sorted(layer) for layer in nx.topological_generations(graph)]
    places = lay_out(layers, {node: sorted(graph.predecessors(node)) for node in graph})
    figure, axes = make_figure(0.5 + 0.42 * len(layers), title)
    for start, end in sorted(graph.edges):
        axes.annotate(
            "",
            xy=places[end],
            xytext=places[start],
            arrowprops={"arrowstyle": "->", "color": SOFT, "linewidth": 0.7, "shrinkA": 4, "shrinkB": 4},
        )
    for node in sorted(graph):
        x, y = places[node]
        axes.plot(x, y, "o", color=SERIES[0], markersize=4)
        label = axes.annotate(plain(node), (x, y), (5, 0), textcoords="offset points", va="center", color=INK)
        label.set(fontsize=7.5, gid=f"{LABEL}{node}")
    axes.set_axis_off()
    widest = max((x for x, _ in places.values()), default=0.0)
    axes.set_xlim(-0.1, max(widest, 1.0) + 1.1)  # room for the last label
    axes.margins(y=0.04)
    return to_svg(figure, title)


def lay_out(layers: Sequence[Sequence[str]], above: Mapping[str, Sequence[str]]) -> dict[str, tuple[float, float]]:
    """Return (x, y) of every node: its layer downwards, x near its neighbours', at least 1 apart in a layer.

    `above` are the nodes that each node follows. Neighbours in a layer stand a little higher and lower in turn, so that
    their labels do not meet.
    """
    below: dict[str, list[str]] = {}
    for node, before in above.items():
        for other in before:
            below.setdefault(other, []).append(node)
    x = {node: float(place) for layer in layers for place, node in enumerate(layer)}
    for sweep in range(_SWEEPS):
        near: Mapping[str, Any] = above if sweep % 2 == 0 else below
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = {node: _mean([x[other] for other in near.get(node, ())], x[node]) for node in layer}
            x |= _apart(wanted)
    least = min(x.values(), default=0.0)
    return {
        node: (x[node] - least, -depth - 0.28 * (place % 2))
        for depth, layer in enumerate(layers)
        for place, node in enumerate(sorted(layer, key=lambda name: (x[name], name)))
    }


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _apart(wanted: Mapping[str, float]) -> dict[str, float]:
    """The wanted places, moved until neighbours are 1 apart, with the same mean."""
    placed: dict[str, float] = {}
    last = float("-inf")
    for node in sorted(wanted, key=lambda name: (wanted[name], name)):
        last = placed[node] = max(wanted[node], last + 1.0)
    shift = _mean([placed[node] - wanted[node] for node in wanted], 0.0)
    return {node: place - shift for node, place in placed.items()}
