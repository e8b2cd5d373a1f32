"""What a page is made of: sections of texts, tables and figures; and how numbers are written.

A rate is never written alone: n, the 95% interval and what one problem is worth stand beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec


class Text(msgspec.Struct, frozen=True, tag=True):
    """A paragraph of plain text."""

    text: str


class Table(msgspec.Struct, frozen=True, tag=True):
    """Rows of plain text under named columns; columns in `numeric` are set flush right, rows in `published` in
    italics. `stages` are the addresses of the stages that the rows' second cells name: the page adds their times."""

    caption: str
    columns: list[str]
    rows: list[list[str]]
    numeric: list[int] = []
    published: list[int] = []
    stages: list[str] = []


class Figure(msgspec.Struct, frozen=True, tag=True):
    """An inline SVG and what it shows; small ones stand side by side where there is room."""

    svg: str
    caption: str = ""
    small: bool = False


Block = Text | Table | Figure


class Section(msgspec.Struct, frozen=True):
    """A part of the page with an anchor."""

    anchor: str
    title: str
    lead: str
    blocks: list[Block]


def counts_table(caption: str, counts: dict[str, Any], name: str, what: str = "count") -> Table:
    """A table of names and counts, in the order given."""
    return Table(caption, [name, what], [[str(key), number(value)] for key, value in counts.items()], numeric=[1])


def matrix(caption: str, what: str, counts: Mapping[str, Mapping[str, Any]]) -> Table:
    """Values by name (rows, in the order they come) and by column; what a column lacks stays empty."""
    names = list(dict.fromkeys(name for found in counts.values() for name in found))
    rows = [[name, *(number(found.get(name)) for found in counts.values())] for name in names]
    return Table(caption, [what, *counts], rows, list(range(1, len(counts) + 1)))


def number(value: Any, digits: int = 4) -> str:
    """A number for people: thousands separated, at most `digits` significant digits behind the point; "" for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{digits}g}"


def percent(value: float | None) -> str:
    """A share in percent with one decimal; "" for None."""
    return "" if value is None else f"{100 * value:.1f}"


def interval(low: float | None, high: float | None) -> str:
    """An interval of shares in percent; "" where there is none."""
    return "" if low is None or high is None else f"{100 * low:.1f} to {100 * high:.1f}"


def table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], numeric: Sequence[int] = ()) -> Table:
    """A table whose cells are made text."""
    return Table(caption, list(columns), [[number(cell) for cell in row] for row in rows], list(numeric))
