"""The embedded catalogue: an index folder mapped into memory that answers as SN15's search server does."""

from __future__ import annotations

import functools
import threading
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from tracemill.environment import ranking
from tracemill.environment.analysis import analyse
from tracemill.environment.kernel import WINDOW, rank_kernel
from tracemill.environment.products import product_page, search_result
from tracemill.environment.search import CANDIDATES, MAX_PAGE, MAX_TERMS, PAGE_SIZE, Search, read_search
from tracemill.environment.storage import TextTable, decompressor, open_array, read_meta

COMPILED_FROM = 50_000
"""From this many products on the ranking loop is compiled; below, array operations are as fast and start at once."""

REMEMBERED_TERMS = 1 << 15


class Catalog:
    """A catalogue opened from an index folder; satisfies `CatalogBackend`. Read-only; threads may share it."""

    def __init__(self, path: Path) -> None:
        meta = read_meta(path)
        self.path = path
        self._indexed = int(meta["indexed"])
        self._ids = TextTable(path, "ids")
        self._bodies = TextTable(path, "documents")
        self._dictionary = bytes(open_array(path, "dictionary"))
        self._shops = TextTable(path, "shops")
        self._terms = TextTable(path, "terms")
        self._starts = open_array(path, "posting_starts")
        self._peaks = open_array(path, "posting_peaks")
        self._postings = ranking.Postings(
            documents=open_array(path, "posting_documents"),
            frequencies=open_array(path, "posting_frequencies"),
            length_codes=open_array(path, "length_codes"),
            norms=ranking.inverse_norms(meta["total_length"], self._indexed, meta["k1"], meta["b"]),
        )
        self._threads = threading.local()
        self._term_position = functools.lru_cache(maxsize=REMEMBERED_TERMS)(self._find_term)
        self._price = open_array(path, "price")
        self._sold_count = open_array(path, "sold_count")
        self._service = open_array(path, "service")
        self._shop = open_array(path, "shop")

    def __reduce__(self) -> tuple[type[Catalog], tuple[Path]]:
        return Catalog, (self.path,)

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
        """Return ids and scores of the best `limit` matches of a plain query.

        Scores are as Pyserini's searcher reports them, to six decimals.
        """
        found, scores = self._rank(text, limit)
        adjusted = ranking.tie_adjusted(scores)
        return [(self._ids[int(at)].decode(), round(float(s), 6)) for at, s in zip(found, adjusted, strict=True)]

    def _product(self, position: int) -> dict[str, Any]:
        if not hasattr(self._threads, "decompress"):
            self._threads.decompress = decompressor(self._dictionary)
        return orjson.loads(self._threads.decompress(self._bodies[position]))  # type: ignore[no-any-return]

    def _rank(self, text: str, limit: int) -> ranking.Ranked:
        spans = self._spans(text)
        if len(self) < COMPILED_FROM:
            return ranking.rank_arrays(self._postings, spans, limit)
        return self._rank_compiled(spans, limit)

    def _spans(self, text: str) -> list[ranking.Span]:
        counts = Counter(analyse(text))
        if len(counts) > MAX_TERMS:
            return []
        spans = []
        for term, count in counts.items():
            position = self._term_position(term)
            if position is not None:
                start, end = int(self._starts[position]), int(self._starts[position + 1])
                weight = ranking.term_weight(self._indexed, end - start, count)
                spans.append((start, end, weight, weight - weight / (np.float32(1) + self._peaks[position])))
        return spans

    def _find_term(self, term: str) -> int | None:
        return self._terms.position(term.encode("utf-8", "surrogatepass"))

    def _rank_compiled(self, spans: list[ranking.Span], limit: int) -> ranking.Ranked:
        if not hasattr(self._threads, "totals"):
            self._threads.totals = np.zeros(WINDOW, dtype=np.float64)
            self._threads.touched = np.empty(WINDOW, dtype=np.int64)
        held = self._postings
        heap = np.empty(min(limit, len(self)), dtype=np.uint64)
        size = rank_kernel()(
            *_columns(spans),
            held.documents,
            held.frequencies,
            held.length_codes,
            held.norms,
            self._threads.totals,
            self._threads.touched,
            heap,
        )
        return ranking.ranked(heap[:size])

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


def _columns(spans: list[ranking.Span]) -> tuple[npt.NDArray[Any], ...]:
    """First and last postings, weights and bounds as arrays, by ascending bound."""
    starts, ends, weights, bounds = zip(*sorted(spans, key=_bound), strict=True) if spans else ((), (), (), ())
    columns = (np.array(starts, np.int64), np.array(ends, np.int64))
    return *columns, np.array(weights, np.float32), np.array(bounds, np.float32)


def _bound(span: ranking.Span) -> np.float32:
    return span[3]
