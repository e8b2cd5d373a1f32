"""The embedded catalogue: an index folder mapped into memory that answers as SN15's search server does."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from tracemill.environment import ranking
from tracemill.environment.analysis import analyse
from tracemill.environment.index import FORMAT, META
from tracemill.environment.products import product_page, search_result
from tracemill.environment.search import CANDIDATES, MAX_PAGE, MAX_TERMS, PAGE_SIZE, Search, read_search
from tracemill.environment.storage import TextTable, open_array
from tracemill.errors import InputError


class Catalog:
    """A catalogue opened from an index folder; satisfies `CatalogBackend`. Read-only; threads may share it."""

    def __init__(self, path: Path) -> None:
        meta = _read_meta(path)
        self.path = path
        self._documents_with_terms = int(meta["indexed"])
        self._norms = ranking.inverse_norms(int(meta["total_length"]), self._documents_with_terms)
        self._ids = TextTable(path, "ids")
        self._bodies = TextTable(path, "documents")
        self._shops = TextTable(path, "shops")
        self._terms = TextTable(path, "terms")
        self._starts = open_array(path, "posting_starts")
        self._documents = open_array(path, "posting_documents")
        self._frequencies = open_array(path, "posting_frequencies")
        self._length_codes = open_array(path, "length_codes")
        self._price = open_array(path, "price")
        self._sold_count = open_array(path, "sold_count")
        self._service = open_array(path, "service")
        self._shop = open_array(path, "shop")

    def __len__(self) -> int:
        return len(self._ids)

    def find_product(
        self,
        q: str | None = "",
        page: str | None = "1",
        shop_id: str | None = None,
        price: str | None = None,
        sort: str | None = None,
        service: str | None = None,
    ) -> list[dict[str, Any]]:
        """Return one page of the products that match, best first, as the search server does."""
        search = read_search(q, page, shop_id, price, sort, service)
        if search is None:
            return []
        found, _ = self._rank(search.text, CANDIDATES if search.filtered else PAGE_SIZE * MAX_PAGE)
        chosen = self._sorted(self._filtered(found, search)[: PAGE_SIZE * MAX_PAGE], search.sort)
        first = (search.page - 1) * PAGE_SIZE
        return [search_result(self._product(at)) for at in chosen[first : first + PAGE_SIZE]]

    def view_product_information(self, product_ids: str) -> list[dict[str, Any]]:
        """Return the pages of the products named, comma separated and not trimmed; unknown ids are left out."""
        return [product_page(p) for i in product_ids.split(",") if (p := self.get_product_raw(i)) is not None]

    def get_product_raw(self, product_id: str) -> dict[str, Any] | None:
        """Return the full document of one product, None where there is none."""
        try:
            position = self._ids.position(product_id.encode())
        except UnicodeEncodeError:
            return None
        return None if position is None else self._product(position)

    def get_products_raw(self, product_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the full documents of those products that exist, by id."""
        found = ((i, self.get_product_raw(i)) for i in dict.fromkeys(product_ids))
        return {i: product for i, product in found if product is not None}

    def search_scored(self, text: str, limit: int) -> list[tuple[str, float]]:
        """Return ids and scores of the best `limit` matches of a plain query, as Pyserini's searcher reports them."""
        found, scores = self._rank(text, limit)
        adjusted = ranking.tie_adjusted(scores)
        return [(self._ids[int(at)].decode(), float(score)) for at, score in zip(found, adjusted, strict=True)]

    def _product(self, position: int) -> dict[str, Any]:
        return orjson.loads(self._bodies[position])  # type: ignore[no-any-return]

    def _rank(self, text: str, limit: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        totals = np.zeros(len(self), dtype=np.float64)
        counts = Counter(analyse(text))
        if len(counts) > MAX_TERMS:
            counts.clear()
        for term, count in counts.items():
            position = self._terms.position(term.encode("utf-8", "surrogatepass"))
            if position is None:
                continue
            start, end = int(self._starts[position]), int(self._starts[position + 1])
            documents = self._documents[start:end]
            weight = ranking.term_weight(self._documents_with_terms, end - start, count)
            norms = self._norms[self._length_codes[documents]]
            ranking.accumulate(totals, documents, self._frequencies[start:end], norms, weight)
        return ranking.best(totals, np.flatnonzero(totals), limit)

    def _filtered(self, found: npt.NDArray[np.int64], search: Search) -> npt.NDArray[np.int64]:
        keep = np.ones(len(found), dtype=bool)
        if search.shop_id is not None:
            shop = self._shops.position(search.shop_id.encode("utf-8", "surrogatepass"))
            keep &= self._shop[found] == (-2 if shop is None else shop)
        if search.lowest is not None:
            keep &= ~(self._price[found] < search.lowest)
        if search.highest is not None:
            keep &= ~(self._price[found] > search.highest)
        if search.services:
            keep &= (self._service[found] & search.services) == search.services
        return found[keep]

    def _sorted(self, found: npt.NDArray[np.int64], sort: str | None) -> list[int]:
        key = {"order": self._sold_count, "priceasc": self._price, "pricedesc": self._price}.get(sort or "")
        chosen = found.tolist()
        if key is not None:
            chosen.sort(key=lambda at: key[at], reverse=sort != "priceasc")
        return chosen  # type: ignore[no-any-return]


def _read_meta(path: Path) -> dict[str, Any]:
    try:
        meta = json.loads((path / META).read_text(encoding="ascii"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: no search index ({error}); build one with rule index_catalog") from error
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise InputError(f"{path / META}: not an index of format {FORMAT}; build it again")
    return meta
