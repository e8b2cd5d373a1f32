"""Made-up catalogues and queries of any size, and the search engines that are measured on them.

Words follow Zipf's law over a made-up vocabulary; a product has the shape of the arena's (a title of a dozen words,
a few options and attributes). Queries take two to six words of one product's title, as agents do. An engine indexes the
products into a folder and answers a query with the first ten products of the best fifty.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np

PAGE, BEST = 10, 50
VOCABULARY = 60_000
_CHUNK = 10_000
_SYLLABLES = "ba ke li mo nu ra si ta ve zo pre con ter lin gra ster men der ing er ed s ness tion al ful".split()  # noqa: SIM905


def vocabulary(seed: int = 7) -> list[str]:
    """Return distinct made-up words, some of which the stemmer joins."""
    random = np.random.default_rng(seed)
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        drawn = random.integers(0, len(_SYLLABLES), (VOCABULARY, 4))
        words.update(
            ("".join(_SYLLABLES[at] for at in row[:size]), None)
            for row, size in zip(drawn.tolist(), random.integers(2, 5, VOCABULARY).tolist(), strict=True)
        )
    return list(words)[:VOCABULARY]


def products(count: int, seed: int = 11) -> Iterator[dict[str, Any]]:
    """Yield `count` products; the first are the same for every count."""
    words = np.array(vocabulary(), dtype=object)
    chances = 1 / np.arange(10, VOCABULARY + 10)
    edges = np.cumsum(chances / chances.sum())
    for start in range(0, count, _CHUNK):
        random = np.random.default_rng((seed, start))
        drawn = np.minimum(np.searchsorted(edges, random.random((_CHUNK, 22))), VOCABULARY - 1)
        texts = words[drawn].tolist()
        prices = np.round(random.gamma(2.0, 150.0, _CHUNK), 2).tolist()
        sold = random.integers(0, 5_000, _CHUNK).tolist()
        for offset in range(min(_CHUNK, count - start)):
            yield _product(start + offset, texts[offset], prices[offset], sold[offset])


def _product(number: int, words: list[str], price: float, sold: int) -> dict[str, Any]:
    options = {str(at + 1): {"color family": words[12 + at], "size": f"eu:{30 + at}"} for at in range(number % 4)}
    text = " ".join(words[: 8 + number % 5])
    return {
        "product_id": str(10_000_000 + number * 7),
        "shop_id": str(number % 997),
        "title": text,
        "price": price,
        "service": ["COD"] if number % 3 else ["official", "freeShipping"],
        "sold_count": sold,
        "sku_options": options,
        "attributes": {"material": [words[16]], "brand": [words[17]], "pattern": [f"{words[18]} {words[19]}"]},
        "short_description": f"material: {words[16]}; brand: {words[17]}",
        "description": f"{text}. material: {words[16]}; brand: {words[17]}; pattern: {words[18]} {words[19]}",
    }


def queries(count: int, seed: int = 13) -> list[str]:
    """Return queries about the first `count` products."""
    random = np.random.default_rng(seed)
    asked = []
    for product in products(count):
        title = product["title"].split()
        size = int(random.integers(2, 7))
        asked.append(" ".join(title[at] for at in random.permutation(len(title))[:size]))
    return asked


class Engine(Protocol):
    """A search engine under test."""

    def build(self, rows: Iterator[dict[str, Any]], folder: Path) -> None:
        """Index the products into the folder."""

    def open(self, folder: Path) -> None:
        """Get ready to answer."""

    def search(self, query: str) -> list[dict[str, Any]]:
        """Return the first page of the best products."""


class Tracemill:
    """The embedded catalogue."""

    arguments: dict[str, str] = {}  # noqa: RUF012

    def build(self, rows: Iterator[dict[str, Any]], folder: Path) -> None:
        """Index the products."""
        from tracemill.environment.index import build_index

        build_index(rows, folder)

    def open(self, folder: Path) -> None:
        """Open the index."""
        from tracemill.environment.index import open_index

        self._catalog = open_index(folder)

    def search(self, query: str) -> list[dict[str, Any]]:
        """Search for the words."""
        return self._catalog.find_product(query, **self.arguments)


class TracemillFiltered(Tracemill):
    """The embedded catalogue with a price, a service and a sort: the filters look through the best 10,000."""

    arguments = {"price": "100-200", "service": "COD", "sort": "priceasc"}  # noqa: RUF012


class Tantivy:
    """tantivy (Rust) with its English stemmer and its defaults."""

    def _schema(self) -> Any:
        import tantivy

        builder = tantivy.SchemaBuilder()
        builder.add_text_field("contents", tokenizer_name="en_stem")
        builder.add_bytes_field("product", stored=True, indexed=False)
        return builder.build()

    def build(self, rows: Iterator[dict[str, Any]], folder: Path) -> None:
        """Index the products."""
        import tantivy

        from tracemill.environment.products import document_text

        folder.mkdir()
        writer = tantivy.Index(self._schema(), path=str(folder)).writer(256 << 20, 1)
        for row in rows:
            writer.add_document(tantivy.Document(contents=document_text(row), product=json.dumps(row).encode()))
        writer.commit()
        writer.wait_merging_threads()

    def open(self, folder: Path) -> None:
        """Open the index."""
        import tantivy

        self._index = tantivy.Index(self._schema(), path=str(folder))
        self._searcher = self._index.searcher()

    def search(self, query: str) -> list[dict[str, Any]]:
        """Search for the words."""
        hits = self._searcher.search(self._index.parse_query(query, ["contents"]), BEST).hits[:PAGE]
        return [json.loads(bytes(self._searcher.doc(address).get_first("product"))) for _, address in hits]


class SqliteFts:
    """SQLite's FTS5 with the porter tokenizer, ranked by its own bm25."""

    def build(self, rows: Iterator[dict[str, Any]], folder: Path) -> None:
        """Index the products."""
        from tracemill.environment.products import document_text

        folder.mkdir()
        with sqlite3.connect(folder / "index.db") as database:
            database.execute("CREATE TABLE products (product TEXT)")
            database.execute("CREATE VIRTUAL TABLE words USING fts5(contents, content='', tokenize='porter unicode61')")
            for number, row in enumerate(rows, 1):
                database.execute("INSERT INTO products(rowid, product) VALUES (?, ?)", (number, json.dumps(row)))
                database.execute("INSERT INTO words(rowid, contents) VALUES (?, ?)", (number, document_text(row)))
            database.execute("INSERT INTO words(words) VALUES ('optimize')")
        database.close()

    def open(self, folder: Path) -> None:
        """Open the index."""
        self._database = sqlite3.connect(folder / "index.db")

    def search(self, query: str) -> list[dict[str, Any]]:
        """Search for the words."""
        words = " OR ".join(f'"{word}"' for word in query.split())
        found = self._database.execute("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 50", (words,))
        numbers = [number for (number,) in found.fetchall()][:PAGE]
        rows = (
            self._database.execute("SELECT product FROM products WHERE rowid = ?", (n,)).fetchone() for n in numbers
        )
        return [json.loads(row[0]) for row in rows]


ENGINES: dict[str, type[Engine]] = {
    "tracemill": Tracemill,
    "tracemill, filtered": TracemillFiltered,
    "tantivy": Tantivy,
    "sqlite fts5": SqliteFts,
}
