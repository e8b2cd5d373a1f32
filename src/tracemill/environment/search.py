"""The arguments of a product search, read as SN15's search server reads them.

Source: SN15's server. A malformed page answers nothing; a malformed price, sort or service is as if it were not
given.
"""

from __future__ import annotations

from dataclasses import dataclass

from tracemill.environment.products import SERVICES

CANDIDATES = 10_000
"""Filters look at this many of the best matches."""
PAGE_SIZE = 10
MAX_PAGE = 5
MAX_PAGE_DIGITS = 4_300
"""Python turns no longer digit string into a number, there as here."""
MAX_TERMS = 1_024
"""Most distinct terms of a query; Lucene refuses more."""

_SPECIALS = str.maketrans(dict.fromkeys('+-&|!(){}[]^"~*?:\\/', " "))
_SORTS = frozenset(("order", "priceasc", "pricedesc"))


@dataclass(frozen=True)
class Search:
    """A search that can have results. `lowest` and `highest` are inclusive; `services` are bits, all required."""

    text: str
    page: int
    shop_id: str | None
    lowest: float | None
    highest: float | None
    sort: str | None
    services: int

    @property
    def filtered(self) -> bool:
        """Whether any filter can drop a product."""
        return bool(self.shop_id or self.services or self.lowest is not None or self.highest is not None)


def read_search(
    q: str | None, page: str | None, shop_id: str | None, price: str | None, sort: str | None, service: str | None
) -> Search | None:
    """Return the search that these arguments ask for, None where the answer is empty whatever the catalogue holds."""
    number = read_page(None if page is None else str(page))
    text = (q or "").translate(_SPECIALS).strip()
    if number is None or not text:
        return None
    lowest, highest = read_price(price)
    return Search(
        text=text,
        page=number,
        shop_id=shop_id or None,
        lowest=lowest,
        highest=highest,
        sort=sort if sort in _SORTS else None,
        services=read_services(service),
    )


def read_page(page: str | None) -> int | None:
    """Return the page number 1 to 5 of a digit string, None for anything else."""
    if not page or not page.isdecimal() or len(page) > MAX_PAGE_DIGITS:
        return None
    number = int(page)
    return number if 1 <= number <= MAX_PAGE else None


def read_price(price: str | None) -> tuple[float | None, float | None]:
    """Return the lowest and highest price of `low-high`; a side that is no number is open."""
    sides = (price or "").split("-")
    if len(sides) != 2:
        return None, None
    return _number(sides[0]), _number(sides[1])


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def read_services(service: str | None) -> int:
    """Return the bits of the comma separated services that exist; names are compared exactly."""
    asked = set((service or "").split(","))
    return sum(1 << bit for bit, name in enumerate(SERVICES) if name in asked)
