"""The built-in catalogue, in the schema of SN15's search server.

Products come in lines. The members of a line share their title, so a search ranks them alike, and differ in one
respect: price, service, an option, the combination of options, or the shop. That respect is what a problem about the
line has to decide, and the kinds are its difficulty. `lines_of` finds lines and their kind in any catalogue of this
schema.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from tracemill.arena.params import CatalogParams
from tracemill.arena.words import BRANDS, COLOURS, DEPARTMENTS, SERVICES, STYLES

KINDS = ("single", "price", "service", "option", "combination", "shop")
"""What decides between the members of a line, easiest first."""

Product = dict[str, Any]


def generate_catalog(params: CatalogParams) -> list[Product]:
    """Return at least `params.products` products, sorted by product id; the same parameters give the same catalogue."""
    rng = random.Random(params.seed)
    weights = [getattr(params, kind) for kind in KINDS]
    shops = [str(number) for number in sorted(rng.sample(range(1_000, 10_000), params.shops))]
    ids = iter(rng.sample(range(100_000, 1_000_000), 2 * params.products + 10 * params.members))
    products: list[Product] = []
    titles: set[str] = set()
    while len(products) < params.products:
        kind = rng.choices(KINDS, weights)[0]
        line = _line(rng, titles)
        for member in _members(kind, line, shops, params.members, rng):
            products.append({"product_id": str(next(ids)), **member})
    return sorted(products, key=lambda product: product["product_id"])


def _line(rng: random.Random, titles: set[str]) -> dict[str, Any]:
    """Words that no line has used yet."""
    while True:
        department = rng.choice(sorted(DEPARTMENTS))
        nouns, materials, option, values = DEPARTMENTS[department]
        words = [rng.choice(STYLES), rng.choice(BRANDS), rng.choice(COLOURS), rng.choice(materials), rng.choice(nouns)]
        title = " ".join(words)
        if title not in titles:
            titles.add(title)
            return {"title": title, "words": words, "option": option, "values": values}


def _members(kind: str, line: dict[str, Any], shops: Sequence[str], size: int, rng: random.Random) -> list[Product]:
    count = {"single": 1, "combination": 2}.get(kind, size)
    price = rng.randrange(110, 330)
    prices = [price + rng.randrange(0, 9) for _ in range(count)]
    services = [_services(rng)] * count
    options = [_skus(line, rng.sample(line["values"], 2))] * count
    sellers = rng.sample(shops, count)
    if kind == "price":
        prices = [price * (10 + 6 * rank) // 10 + rng.randrange(0, 9) for rank in range(count)]
        rng.shuffle(prices)
        services = [[]] * count
    elif kind == "service":
        wanted = rng.sample(SERVICES, 3)
        services = [sorted({wanted[rank % 3]}) if rank else sorted({wanted[0], wanted[1]}) for rank in range(count)]
        rng.shuffle(services)
    elif kind == "option":
        values = rng.sample(line["values"], len(line["values"]))
        options = [_skus(line, [values[rank % len(values)]]) for rank in range(count)]
    elif kind == "combination":
        options = _crossed_skus(line, rng)
    return [_product(line, *fields, rng) for fields in zip(prices, services, options, sellers, strict=True)]


def _services(rng: random.Random) -> list[str]:
    return sorted(rng.sample(SERVICES, rng.choices((0, 1, 2), (5, 4, 1))[0]))


def _skus(line: dict[str, Any], values: Sequence[str]) -> list[dict[str, str]]:
    return [{"color_family": line["words"][2], line["option"]: value} for value in values]


def _crossed_skus(line: dict[str, Any], rng: random.Random) -> list[list[dict[str, str]]]:
    """Two products with the same option values, crossed: the title's colour comes in another value of the option."""
    colour = line["words"][2]
    other = rng.choice([c for c in COLOURS if c != colour])
    first, second = rng.sample(line["values"], 2)
    name = line["option"]
    crossed = [
        [{"color_family": colour, name: first}, {"color_family": other, name: second}],
        [{"color_family": colour, name: second}, {"color_family": other, name: first}],
    ]
    rng.shuffle(crossed)
    return crossed


def _product(
    line: dict[str, Any], price: int, service: list[str], skus: list[dict[str, str]], shop: str, rng: random.Random
) -> Product:
    words = line["words"]
    attributes = {"brand": [words[1]], "material": [words[3]]}
    about = "; ".join(f"{name}: {','.join(values)}" for name, values in attributes.items())
    return {
        "shop_id": shop,
        "title": line["title"],
        "price": float(price),
        "service": list(service),
        "sold_count": rng.randrange(1, 5_000),
        "sku_options": {str(number): dict(sku) for number, sku in enumerate(skus, 1)},
        "attributes": attributes,
        "short_description": about,
        "description": f"{line['title']}. {about}",
    }


def lines_of(products: Iterable[Product]) -> dict[str, list[Product]]:
    """Products by title, members in order of product id."""
    lines: dict[str, list[Product]] = defaultdict(list)
    for product in sorted(products, key=lambda p: str(p["product_id"])):
        lines[str(product["title"])].append(product)
    return dict(lines)


def kind_of(line: Sequence[Product]) -> str | None:
    """What decides between the members of a line, or None where the members cannot be told apart by one respect."""
    if len(line) == 1:
        return "single"
    if len({frozenset(p["service"]) for p in line}) == len(line):
        return "service"
    if len({tuple(sorted(option_values(p))) for p in line}) == len(line):
        return "option"
    if len({str(sorted(map(sorted, map(dict.items, p["sku_options"].values())))) for p in line}) == len(line):
        return "combination"
    prices = sorted(float(p["price"]) for p in line)
    if all(high >= 1.15 * low for low, high in pairwise(prices)):
        return "price"
    return "shop" if len({p["shop_id"] for p in line}) == len(line) else None


def option_values(product: Product) -> list[str]:
    """Distinct values of a product's SKU options, as they are indexed."""
    return sorted({str(value) for sku in product["sku_options"].values() for value in sku.values()})
