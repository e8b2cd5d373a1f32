"""The search index of a catalogue: built once as a folder of arrays, opened by mapping them into memory.

Products are numbered by id as text, which is also how ties in the ranking are broken. Building reads the catalogue
once, spools the documents to disk and keeps one number a token in memory; the folder's bytes depend on the products
alone, not on their order.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import orjson

from tracemill.environment.analysis import term_of
from tracemill.environment.params import IndexParams
from tracemill.environment.products import SERVICES, check_product, document_text
from tracemill.environment.ranking import encode_length, inverse_norms
from tracemill.environment.storage import FORMAT, META, compressor, save_array, save_texts, train_dictionary
from tracemill.environment.word_break import split_words
from tracemill.errors import InputError

if TYPE_CHECKING:
    from tracemill.environment.catalog import Catalog

MAX_PRODUCTS = 2**31 - 1
MAX_REMEMBERED = 1 << 21
DICTIONARY_SAMPLES = 4_000
MAX_SAMPLE = 4_096


@dataclass(frozen=True)
class IndexSummary:
    """Counts of an index. `indexed` products have at least one term; lengths and postings count terms."""

    format: str
    products: int
    indexed: int
    terms: int
    postings: int
    total_length: int
    k1: float
    b: float


def build_index(products: Iterable[Mapping[str, Any]], out: Path, params: IndexParams | None = None) -> IndexSummary:
    """Write the index of these products into the folder `out`, which must be empty or not exist.

    Raises InputError for a row that is no product, two products with one id, or text that is no valid Unicode.
    """
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        raise InputError(f"{out}: not empty; an index is written into a folder of its own")
    with tempfile.TemporaryFile(dir=out.parent) as spool:
        collected = _Collector(spool)
        for number, row in enumerate(products, 1):
            collected.add(row, f"product {number}")
        summary = collected.write(out, params or IndexParams())
    (out / META).write_text(json.dumps(asdict(summary), indent=1) + "\n", encoding="ascii")
    return summary


def open_index(path: Path) -> Catalog:
    """Open an index folder; raises InputError when it is none or of another format."""
    from tracemill.environment.catalog import Catalog

    return Catalog(path)


class _TermNumbers(dict[str, int]):
    """The number of each token's term, found out when first asked for; -1 for a stop word."""

    def __init__(self) -> None:
        super().__init__()
        self.terms: dict[str, int] = {}

    def __missing__(self, token: str) -> int:
        term = term_of(token)
        number = -1 if term is None else self.terms.setdefault(term, len(self.terms))
        if len(self) >= MAX_REMEMBERED:
            self.clear()
        self[token] = number
        return number


class _Collector:
    """What is kept of each product while the catalogue is read."""

    def __init__(self, spool: IO[bytes]) -> None:
        self._spool = spool
        self._ids: list[bytes] = []
        self._ends = array("q", [0])
        self._numbers = _TermNumbers()
        self._tokens = array("i")
        self._token_ends = array("q", [0])
        self._prices = array("d")
        self._sold = array("d")
        self._services = array("B")
        self._shops: dict[str, int] = {}
        self._shop_of = array("i")

    def add(self, row: Mapping[str, Any], where: str) -> None:
        product = check_product(row, where)
        try:
            body = orjson.dumps(product, option=orjson.OPT_SORT_KEYS)
        except TypeError as error:
            raise InputError(f"{where} ({product['product_id']!r:.60}): cannot be written as JSON ({error})") from error
        if len(self._ids) == MAX_PRODUCTS:
            raise InputError(f"{where}: more than {MAX_PRODUCTS} products in one index")
        self._ids.append(product["product_id"].encode())
        self._spool.write(body)
        self._ends.append(self._ends[-1] + len(body))
        numbers = list(map(self._numbers.__getitem__, split_words(document_text(row))))
        self._tokens.extend([n for n in numbers if n >= 0] if -1 in numbers else numbers)
        self._token_ends.append(len(self._tokens))
        self._prices.append(float(product["price"]))
        self._sold.append(float(product.get("sold_count", 0)))
        self._services.append(_service_bits(product.get("service")))
        shop = product.get("shop_id")
        self._shop_of.append(self._shops.setdefault(shop, len(self._shops)) if isinstance(shop, str) else -1)

    def write(self, out: Path, params: IndexParams) -> IndexSummary:
        order = np.array(sorted(range(len(self._ids)), key=self._ids.__getitem__), dtype=np.int64)
        self._check_unique(order)
        ids = [self._ids[at] for at in order]
        save_texts(out, "ids", ids)
        samples = order[:: max(1, len(order) // DICTIONARY_SAMPLES)]
        dictionary = train_dictionary([body[:MAX_SAMPLE] for body in self._bodies(samples)])
        save_array(out, "dictionary", np.frombuffer(dictionary, dtype=np.uint8))
        save_texts(out, "documents", map(compressor(dictionary), self._bodies(order)))
        save_array(out, "price", np.array(self._prices, dtype=np.float64)[order])
        save_array(out, "sold_count", np.array(self._sold, dtype=np.float64)[order])
        save_array(out, "service", np.array(self._services, dtype=np.uint8)[order])
        shops = _save_names(out, "shops", self._shops)
        save_array(out, "shop", _renumbered(self._shop_of, self._shops, shops)[order])
        return self._write_postings(out, order, params)

    def _check_unique(self, order: npt.NDArray[np.int64]) -> None:
        for first, second in itertools.pairwise(order):
            if self._ids[first] == self._ids[second]:
                raise InputError(
                    f"products {first + 1} and {second + 1} both have the id {self._ids[first].decode()!r:.60}; "
                    "remove one of them"
                )

    def _bodies(self, order: npt.NDArray[np.int64]) -> Iterator[bytes]:
        for at in order:
            self._spool.seek(self._ends[at])
            yield self._spool.read(self._ends[at + 1] - self._ends[at])

    def _write_postings(self, out: Path, order: npt.NDArray[np.int64], params: IndexParams) -> IndexSummary:
        from scipy.sparse import csr_matrix

        ends = np.array(self._token_ends, dtype=np.int64)
        lengths = (ends[1:] - ends[:-1])[order]
        terms = _save_names(out, "terms", self._numbers.terms)
        numbers = _renumbered(self._tokens, self._numbers.terms, terms)
        shape = (len(self._ids), max(1, len(terms)))
        counts = csr_matrix((np.ones(len(numbers), dtype=np.uint32), numbers, ends), shape=shape)
        counts.sum_duplicates()
        postings = (counts if _ascending(order) else counts[order]).tocsc()
        frequencies = postings.data
        largest = int(frequencies.max(initial=0))
        save_array(out, "posting_starts", postings.indptr.astype(np.int64))
        save_array(out, "posting_documents", postings.indices.astype(np.int32))
        save_array(out, "posting_frequencies", frequencies.astype(np.min_scalar_type(largest)))
        save_array(out, "length_codes", np.array([encode_length(int(n)) for n in lengths], dtype=np.uint8))
        held = int(np.count_nonzero(lengths))
        norms = inverse_norms(int(lengths.sum()), held, params.k1, params.b)
        save_array(out, "posting_peaks", _peaks(postings, np.load(out / "length_codes.npy"), norms))
        return IndexSummary(
            format=FORMAT,
            products=len(order),
            indexed=held,
            terms=len(terms),
            postings=len(frequencies),
            total_length=int(lengths.sum()),
            k1=params.k1,
            b=params.b,
        )


def _peaks(postings: Any, codes: npt.NDArray[np.uint8], norms: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return for each term the largest frequency times inverse norm in its postings (CSC, every column with one)."""
    if not postings.nnz:
        return np.zeros(0, dtype=np.float32)
    return np.maximum.reduceat(postings.data.astype(np.float32) * norms[codes[postings.indices]], postings.indptr[:-1])


def _ascending(order: npt.NDArray[np.int64]) -> bool:
    return bool(np.array_equal(order, np.arange(len(order))))


def _save_names(out: Path, table: str, numbers: Mapping[str, int]) -> list[str]:
    """Write names as a sorted table and return them in its order (that of their UTF-8 bytes)."""
    names = sorted(numbers)
    save_texts(out, table, (name.encode() for name in names))
    return names


def _service_bits(offered: object) -> int:
    """Bits of the services a product offers: a list, or text that may name several (the server asks `in` of either)."""
    if not isinstance(offered, (list, tuple, str)):
        return 0
    return sum(1 << bit for bit, service in enumerate(SERVICES) if service in offered)


def _renumbered(numbers: array[int], first: Mapping[str, int], names: list[str]) -> npt.NDArray[np.int32]:
    """Return numbers given by first appearance as positions in the sorted names; -1 stays."""
    positions = np.full(len(first) + 1, -1, dtype=np.int32)
    for position, name in enumerate(names):
        positions[first[name]] = position
    return positions[np.array(numbers, dtype=np.int32)]
