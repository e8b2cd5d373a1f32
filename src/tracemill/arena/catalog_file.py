"""Writes the catalogue: the built-in products, or those of a file."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import orjson

from tracemill.arena.catalog import generate_catalog
from tracemill.arena.files import BUILT_IN, existing, refuse_repeats, write_zstd_lines
from tracemill.arena.params import CatalogParams
from tracemill.environment.products import read_products

log = logging.getLogger(__name__)


def write_catalog(source: str, params: CatalogParams, out: Path) -> None:
    """Write the products of file `source` (the built-in ones where it is `arena`), sorted by id, as zstd JSONL.

    Raises InputError when the file is missing or an id occurs twice.
    """
    if source == BUILT_IN:
        products = generate_catalog(params)
    else:
        products = sorted(read_products(existing(source, "environment.catalog.source")), key=_product_id)
        refuse_repeats(map(_product_id, products), source, "product_id")
    write_zstd_lines((orjson.dumps(product) for product in products), out)
    log.info("%d products", len(products))


def _product_id(row: dict[str, Any]) -> str:
    return str(row.get("product", row)["product_id"])
