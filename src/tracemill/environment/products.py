"""Catalogue files: products in the schema of SN15's search server, one JSON object a line; `.jsonl`, `.gz` or `.zst`.

A product has product_id, shop_id, title, price, service, sold_count, sku_options {number: {name: value}}, attributes
{name: [value]}, short_description and description; further keys are kept. Only product_id, title and price must be
there. Files that SN15's index was built from are read too: there a line is {id, contents, product}, and `contents` is
the text to index as it stands.
"""

from __future__ import annotations

import gzip
import io
import math
import reprlib
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import IO, Any, cast

import orjson

from tracemill.errors import InputError

SERVICES = ("official", "freeShipping", "COD", "flashsale")
"""Services that a search can ask for, in the order of their bits in the index."""

SEARCH_FIELDS = ("price", "product_id", "service", "shop_id", "sold_count", "title")
"""Fields of a search result, in the order in which the server sends them (its JSON has sorted keys)."""
PAGE_FIELDS = ("attributes", "description", "product_id", "short_description", "sku_options")
"""Fields of a product page, in the order in which the server sends them."""

MAX_LINE_BYTES = 64 << 20
_ZSTD_LEVEL = 10
_ZSTD_READ = 4096
"""Compressed bytes taken at once: what they can expand to is bounded (128 KiB for every 4 bytes)."""
_DEFAULTS: dict[str, Any] = {
    "attributes": {},
    "description": "",
    "price": 0.0,
    "service": [],
    "shop_id": "",
    "short_description": "",
    "sku_options": {},
    "sold_count": 0,
    "title": "",
}


def search_result(product: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a product that a search shows; a field the catalogue lacks has its empty value."""
    return {field: product.get(field, _DEFAULTS.get(field)) for field in SEARCH_FIELDS}


def product_page(product: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a product that its page shows; a field the catalogue lacks has its empty value."""
    return {field: product.get(field, _DEFAULTS.get(field)) for field in PAGE_FIELDS}


def check_product(row: Any, where: str) -> dict[str, Any]:
    """Return the product of one row, unwrapped from {id, contents, product} where it comes so.

    Raises InputError, with `where`, when product_id, title or price have a wrong type or the wrapper names another id.
    """
    product = row.get("product") if isinstance(row, dict) and "contents" in row else row
    if not isinstance(product, dict):
        raise InputError(
            f"{where}: {type(product).__name__}, expected a product (an object with product_id, title, price)"
        )
    product_id, title, price = product.get("product_id"), product.get("title"), product.get("price")
    if not isinstance(product_id, str) or not product_id:
        raise InputError(f"{where}: product_id is {_brief(product_id)}, expected text")
    if product is not row and str(row.get("id", product_id)) != product_id:
        raise InputError(
            f"{where}: id is {_brief(row.get('id'))} but product_id is {_brief(product_id)}; they must agree"
        )
    if not isinstance(title, str):
        raise InputError(f"{where}: title of product {_brief(product_id)} is {type(title).__name__}, expected text")
    if not _is_number(price):
        raise InputError(f"{where}: price of product {_brief(product_id)} is {_brief(price)}, expected a number")
    sold_count = product.get("sold_count", 0)
    if not _is_number(sold_count):
        raise InputError(
            f"{where}: sold_count of product {_brief(product_id)} is {_brief(sold_count)}, expected a number"
        )
    return product


def _brief(value: object) -> str:
    """A value as an error shows it: escaped, and no longer than a line can bear."""
    if isinstance(value, int) and abs(value) >= 2**63:
        return f"a number of {value.bit_length()} bits"
    return reprlib.repr(value)


def _is_number(value: object) -> bool:
    if isinstance(value, bool):
        return False
    return math.isfinite(value) if isinstance(value, float) else isinstance(value, int) and abs(value) < 2**63


def document_text(row: Mapping[str, Any]) -> str:
    """Return the text that is indexed for a product: title, distinct option values, distinct attribute values.

    Source: SN15's index. Each is a line; values are joined by blanks in order of first appearance (ranking sees a
    bag of words).
    """
    if "contents" in row and "product" in row:
        return str(row["contents"])
    options = row.get("sku_options") or {}
    attributes = row.get("attributes") or {}
    chosen = " ".join(_distinct(options)) if options else ""
    named = " ".join(_distinct(attributes)) if attributes else ""
    return f"{row['title']}\n{chosen}\n{named}"


def _values(container: Any) -> Iterable[Any]:
    if isinstance(container, dict):
        return container.values()
    return container if isinstance(container, (list, tuple)) else (container,)


def _distinct(groups: Any) -> dict[str, None]:
    return {str(value): None for group in _values(groups) for value in _values(group) if value is not None}


def read_products(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a catalogue file, checked; the format is told from the first bytes, not from the name.

    Raises InputError with file and line for a line that is no product, and with the file for damaged compression.
    """
    number = 0
    try:
        with path.open("rb") as file, _decompressed(file, path) as lines:
            while line := lines.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    raise InputError(f"{path}:{number}: line longer than {MAX_LINE_BYTES} bytes; is this a catalogue?")
                line = line.removeprefix(BOM_UTF8) if number == 1 else line
                if line.strip():
                    yield _parsed(line, f"{path}:{number}")
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read after line {number} ({error}); expected JSONL, gzip or zstd"
        ) from error
    except EOFError as error:
        raise InputError(f"{path}: cut off after line {number} ({error}); get the file again") from error


def _parsed(line: bytes, where: str) -> dict[str, Any]:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{where}: no JSON object ({error}); expected one product a line") from error
    check_product(row, where)
    return row  # type: ignore[no-any-return]


def _decompressed(file: IO[bytes], path: Path) -> AbstractContextManager[IO[bytes]]:
    magic = file.read(4)
    file.seek(0)
    if magic[:2] == b"\x1f\x8b":
        return closing(cast(IO[bytes], gzip.GzipFile(fileobj=file)))
    if magic == b"\x28\xb5\x2f\xfd":
        return closing(io.BufferedReader(_ZstdFrames(file, path), 1 << 20))
    return nullcontext(file)


class _ZstdFrames(io.RawIOBase):
    """All frames of a zstd file as one stream; a frame that is cut short is an error, not an early end."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        import zstandard

        self._file, self._path = file, path
        self._error = zstandard.ZstdError
        self._fresh = zstandard.ZstdDecompressor
        self._frame = self._fresh().decompressobj()
        self._started = False
        self._pending = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            if not self._pending:
                self._pending = self._file.read(_ZSTD_READ)
                if not self._pending:
                    if self._started:
                        raise EOFError("the last zstd frame is incomplete")
                    return 0
            self._started = True
            try:
                self._ready = memoryview(self._frame.decompress(self._pending))
            except self._error as error:
                raise InputError(f"{self._path}: damaged zstd data ({error}); get the file again") from error
            self._pending = b""
            if self._frame.eof:
                self._pending = self._frame.unused_data
                self._frame = self._fresh().decompressobj()
                self._started = False
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count


def write_products(products: Iterable[Mapping[str, Any]], path: Path) -> int:
    """Write rows as JSONL, compressed as the name's ending says (.gz, .zst, else plain); return their number.

    The bytes depend on the rows alone: no time or name is stored.
    """
    count = 0
    with path.open("wb") as file, _compressed(file, path) as out:
        for product in products:
            out.write(orjson.dumps(product) + b"\n")
            count += 1
    return count


def _compressed(file: IO[bytes], path: Path) -> Any:
    if path.suffix == ".gz":
        return gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0)
    if path.suffix == ".zst":
        import zstandard

        return zstandard.ZstdCompressor(level=_ZSTD_LEVEL).stream_writer(file, closefd=False)
    return nullcontext(file)
