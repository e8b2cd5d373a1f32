"""Plots as inline SVG that follow the page's light or dark colours, the same bytes for the same numbers.

matplotlib draws in marker colours; each marker becomes a CSS variable of the page, so no colour is fixed in the
picture.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, SOFT = "#010101", "#020202"
SERIES = tuple(f"#0{number:x}0{number:x}0{number:x}" for number in range(3, 11))
_VARIABLES = {INK: "var(--ink)", SOFT: "var(--soft)"} | {
    colour: f"var(--series-{number})" for number, colour in enumerate(SERIES)
}

Interval = tuple[float, float, float]
"""Value, low, high; all in percent."""


def make_figure(height: float, title: str, width: float = 5.6) -> tuple[Figure, Axes]:
    """An empty figure of this size in inches; narrow, so that its text can be read on a phone too."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams.update({"svg.hashsalt": "tracemill", "svg.fonttype": "none", "font.size": 9})
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title, loc="left", color=INK, fontsize=10)
    axes.tick_params(colors=SOFT, labelcolor=INK)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(SOFT)
    return figure, axes


def to_svg(figure: Figure, label: str) -> str:
    """The figure as inline SVG; `label` is what screen readers say."""
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    for marker, variable in _VARIABLES.items():
        text = re.sub(re.escape(marker), variable, text, flags=re.IGNORECASE)
    safe = label.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return text.replace("<svg ", f'<svg role="img" aria-label="{safe}" ', 1)


def plot_bars(values: Mapping[str, float], title: str, unit: str) -> str:
    """Horizontal bars, one for each name, in the order given; values are written beside them."""
    figure, axes = make_figure(0.6 + 0.28 * max(len(values), 1), title)
    names = list(values)
    axes.barh(range(len(names)), [values[name] for name in names], color=SERIES[0], height=0.7)
    axes.set_yticks(range(len(names)), [plain(name) for name in names])
    axes.invert_yaxis()
    axes.set_xlabel(unit, color=SOFT)
    for position, name in enumerate(names):
        axes.text(values[name], position, f" {values[name]:,.6g}", va="center", color=INK, fontsize=8)
    axes.margins(x=0.15)
    return to_svg(figure, title)


def plot_rates(
    groups: Mapping[str, Mapping[str, Interval]], title: str, unit: str = "percent, with 95% interval"
) -> str:
    """Rates with intervals (percent): one row for each group, one mark for each series in it."""
    series = list(dict.fromkeys(name for group in groups.values() for name in group))
    figure, axes = make_figure(1.1 + 0.12 * len(groups) * (max(len(series), 1) + 1.5), title)
    for number, name in enumerate(series):
        rows = [(place, group[name]) for place, group in enumerate(groups.values()) if name in group]
        shift = (number - (len(series) - 1) / 2) * 0.8 / max(len(series), 1)
        errors = [[max(v - low, 0.0) for _, (v, low, _) in rows], [max(high - v, 0.0) for _, (v, _, high) in rows]]
        axes.errorbar(
            [value for _, (value, _, _) in rows],
            [place + shift for place, _ in rows],
            xerr=errors,
            fmt="o",
            markersize=4,
            linewidth=1.3,
            color=SERIES[number % len(SERIES)],
            label=plain(name),
        )
    axes.set_yticks(range(len(groups)), [plain(name) for name in groups])
    for line in range(1, len(groups)):
        axes.axhline(line - 0.5, color=SOFT, linewidth=0.3)
    axes.set_ylim(len(groups) - 0.5, -0.5)
    axes.set_xlim(-1, 101)
    axes.set_xlabel(unit, color=SOFT)
    _legend(figure, len(series))
    return to_svg(figure, title)


def plot_lines(
    series: Mapping[str, Sequence[tuple[float, float]]],
    title: str,
    x: str,
    y: str,
    *,
    ticks: Mapping[float, str] | None = None,
    small: bool = False,
) -> str:
    """Lines through (x, y) points, one for each series; `ticks` names the places on the x axis that are marked.

    A series without points is left out, but keeps its colour from those behind it.
    """
    figure, axes = make_figure(2.0, title, 3.7) if small else make_figure(2.8, title)
    for number, (name, points) in enumerate(series.items()):
        if not points:
            continue
        axes.plot(
            [point[0] for point in points],
            [point[1] for point in points],
            color=SERIES[number % len(SERIES)],
            linewidth=1.4,
            marker="o" if len(points) < 20 else None,
            markersize=3,
            label=plain(name),
        )
    if ticks:
        axes.set_xticks(list(ticks), [plain(name) for name in ticks.values()])
    axes.set_xlabel(x, color=SOFT)
    axes.set_ylabel(y, color=SOFT)
    _legend(figure, sum(map(bool, series.values())))
    return to_svg(figure, title)


def _legend(figure: Figure, count: int) -> None:
    if count > 1:  # below the axes, where it hides no mark
        figure.legend(loc="outside lower left", ncols=4, frameon=False, labelcolor=INK, fontsize=8)


def plain(text: str) -> str:
    """At most 60 characters as they stand: a dollar sign would switch matplotlib to formula mode."""
    return text.replace("$", r"\$")[:60]
