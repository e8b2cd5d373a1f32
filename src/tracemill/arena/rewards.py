"""Reward specifications about products of the catalogue, and the vouchers of voucher problems."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from tracemill.arena.catalog import Product

Reward = dict[str, Any]


def loose_reward(product: Product, priced: float, rng: random.Random) -> Reward:
    """Title, brand, material and colour, and with chance `priced` a price range around the product's price."""
    reward = _stem(product)
    if rng.random() < priced:
        reward["price"] = [around(product["price"], rng)]
    return reward


def single_reward(product: Product, priced: float, rng: random.Random) -> Reward:
    """A loose reward that by chance asks for one of the product's services too."""
    reward = loose_reward(product, priced, rng)
    if product["service"] and rng.random() < 0.3:
        reward["service"] = product["service"][:1]
    return reward


def isolating_reward(product: Product, line: Sequence[Product], kind: str, rng: random.Random) -> Reward | None:
    """A reward that only `product` of its line meets, by way of `kind`; None where there is none for this member."""
    reward = _stem(product)
    others = [other for other in line if other["product_id"] != product["product_id"]]
    if kind == "price":
        reward["price"] = [_price_between(product, others, rng)]
    elif kind == "service":
        wanted = _isolating_services(product, others)
        if wanted is None:
            return None
        reward["service"] = wanted
    else:
        sku = _isolating_sku(product, others)
        if sku is None:
            return None
        reward["sku_options"] = [sku]
    return reward


def around(price: float, rng: random.Random) -> dict[str, list[int | None]]:
    """A price range that holds `price`."""
    low, high = int(price) - rng.randrange(5, 40), int(price) + rng.randrange(5, 40)
    return {"between": [low, high]} if rng.random() < 0.7 else {"greater than": [low, None]}


def make_voucher(kind: str, total: float, percentage: float, rng: random.Random) -> dict[str, Any]:
    """A voucher that the wanted products reach, and a budget that they meet only with it."""
    threshold = round(total * rng.uniform(0.4, 0.95))
    if rng.random() < percentage:
        discount, cap = rng.randrange(10, 40) / 100, round(total * rng.uniform(0.1, 0.5))
        after = max(total * (1 - discount), total - cap)
        terms: dict[str, Any] = {"discount_type": "percentage", "face_value": None, "discount": discount, "cap": cap}
    else:
        face_value = round(total * rng.uniform(0.1, 0.4))
        after = total - face_value
        terms = {"discount_type": "fixed", "face_value": face_value, "discount": None, "cap": None}
    budget = min(int(total) - 1, int(after) + rng.randrange(2, 12))
    return {"voucher_type": kind, "threshold": threshold, **terms, "price_after_voucher": after, "budget": budget}


def is_describable(product: Product) -> bool:
    """Whether the built-in wording fits: a title of five words, brand, material, and a colour for the first option."""
    named = {"brand", "material"} <= set(product["attributes"])
    coloured = "color_family" in product["sku_options"].get("1", {})
    return named and coloured and len(str(product["title"]).split()) == 5


def _stem(product: Product) -> Reward:
    attributes = [{name: list(values)} for name, values in product["attributes"].items()]
    return {
        "product_id": product["product_id"],
        "title": [product["title"]],
        "sku_options": [{"color_family": product["sku_options"]["1"]["color_family"]}],
        "attributes": attributes,
    }


def _price_between(product: Product, others: Sequence[Product], rng: random.Random) -> dict[str, list[int | None]]:
    """The range that holds this price and none of the others, open at the outer ends by chance."""
    price = product["price"]
    below = [other["price"] for other in others if other["price"] < price]
    above = [other["price"] for other in others if other["price"] > price]
    low = int((max(below) if below else 0.7 * price) + price) // 2
    high = int((min(above) if above else 1.4 * price) + price) // 2
    chance = rng.random()
    if not above and chance < 0.5:
        return {"greater than": [low, None]}
    if not below and chance < 0.5:
        return {"less than": [None, high]}
    return {"between": [low, high]}


def _isolating_services(product: Product, others: Sequence[Product]) -> list[str] | None:
    """The fewest services that no other member has together."""
    for count in range(1, len(product["service"]) + 1):
        for wanted in combinations(product["service"], count):
            if not any(set(wanted) <= set(other["service"]) for other in others):
                return list(wanted)
    return None


def _isolating_sku(product: Product, others: Sequence[Product]) -> dict[str, str] | None:
    """An option combination in the title's colour that no other member has."""
    title = product["title"].split()
    for sku in product["sku_options"].values():
        named = str(sku.get("color_family", "")) in title
        if named and not any(sku in other["sku_options"].values() for other in others):
            return dict(sku)
    return None
