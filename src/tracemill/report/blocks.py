"""What a page is made of: sections of texts, tables and figures; and how numbers are written.

A rate is never written alone: n, the 95% interval and what one problem is worth stand beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec


class Text(msgspec.Struct, frozen=True, tag=True):
    """A paragraph of plain text."""

    text: str


class Table(msgspec.Struct, frozen=True, tag=True):
    """Rows of plain text under named columns; columns in `numeric` are set flush right, rows in `published` in
    italics."""

    caption: str
    columns: list[str]
    rows: list[list[str]]
    numeric: list[int] = []
    published: list[int] = []


class Figure(msgspec.Struct, frozen=True, tag=True):
    """An inline SVG and what it shows."""

    svg: str
    caption: str


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


def number(value: Any, digits: int = 4) -> str:
    """A number for people: thousands separated, at most `digits` significant digits behind the point; "" for None."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
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
