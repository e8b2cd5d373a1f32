"""The rule score of one product against one wanted product: constraints met / constraints asked for.

Values are compared without casts and missing keys raise, since that is what the arena's validators do: a catalogue or a
reward of the wrong shape has to show, not to pass as a miss.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tracemill.environment.titles import Titles, Vector

Pair = tuple[Any, Any]
"""Name and value of an option or an attribute."""

FIELDS = ("title", "price", "service", "sku & attrs")


class RuleScore(msgspec.Struct):
    """Outcome of the rules; `asked` and `met` count constraints by field."""

    rule: float
    asked: dict[str, int]
    met: dict[str, int]


def is_gold(product: Mapping[str, Any], reward: Mapping[str, Any]) -> bool:
    """Whether the product is the one that the reward names."""
    return bool(product["product_id"] == reward["product_id"])


def rule_score(
    product: Mapping[str, Any], reward: Mapping[str, Any], titles: Titles | None = None, vector: Vector | None = None
) -> RuleScore:
    """Apply all rules; `vector` is the product title's embedding where it was already computed.

    The gold product scores 1 whatever its fields say; a reward that asks for nothing gives 0.
    """
    gold = is_gold(product, reward)
    counts = (
        _title_counts(product, reward, gold, titles, vector),
        _price_counts(product, reward),
        _service_counts(product, reward),
        _option_counts(product, reward),
    )
    asked = dict(zip(FIELDS, (count[0] for count in counts), strict=True))
    met = dict(zip(FIELDS, (count[1] for count in counts), strict=True))
    total = sum(asked.values())
    rule: float = 1 if gold else sum(met.values()) / total if total else 0
    return RuleScore(rule, asked, met)


def price_met(mode: str, low: Any, high: Any, price: Any) -> bool:
    """Whether a price is in a range; both ends belong to it, an unknown mode is never met."""
    if mode == "less than":
        return bool(price <= high)
    if mode == "greater than":
        return bool(price >= low)
    return mode == "between" and bool(low <= price <= high)


def option_sets(product: Mapping[str, Any]) -> tuple[list[set[Pair]], set[Pair]]:
    """(name, value) pairs of each option of the product, and of its attributes."""
    options = [set(option.items()) for option in _part(product, "sku_options").values()]
    attributes = {(name, value) for name, values in _part(product, "attributes").items() for value in values}
    return options, attributes


def best_option(product: Mapping[str, Any], reward: Mapping[str, Any]) -> tuple[list[Pair], int, set[Pair]]:
    """Pairs that the reward asks for, how many are met at best, and what meets them.

    That is a single option of the product together with its attributes: the first option where several meet as many,
    the attributes alone where no option adds anything. Options may meet what was asked of attributes, and the reverse;
    a pair that is asked for twice counts twice.
    """
    options, attributes = option_sets(product)
    wanted: list[Pair] = []
    most = 0
    for pair in _wanted_pairs(reward):
        most += pair in attributes
        wanted.append(pair)
    best = attributes
    for option in options:
        met = sum(pair in option or pair in attributes for pair in wanted)
        if met > most:
            best, most = option | attributes, met
    return wanted, most, best


def _wanted_pairs(reward: Mapping[str, Any]) -> Iterator[Pair]:
    for option in reward.get("sku_options", ()):
        yield from option.items()
    for attribute in reward.get("attributes", ()):
        for name, values in attribute.items():
            for value in values:
                yield name, value


def _part(product: Mapping[str, Any], key: str) -> Any:
    value = product.get(key)
    return value if value else {}


def _title_counts(
    product: Mapping[str, Any], reward: Mapping[str, Any], gold: bool, titles: Titles | None, vector: Vector | None
) -> tuple[int, int]:
    if "title" not in reward:
        return 0, 0
    if gold:
        return len(reward["title"]), len(reward["title"])
    given = reward.get("_title_embeddings", {})
    if titles is None:
        return 0, 0
    found = vector if vector is not None else titles.encode([product["title"]])[0]
    hits = [titles.matches(found, title, given) for title in reward["title"]]
    return len(hits), sum(hits)


def _price_counts(product: Mapping[str, Any], reward: Mapping[str, Any]) -> tuple[int, int]:
    if "price" not in reward:
        return 0, 0
    price = product["price"]
    asked = met = 0
    for bounds in reward["price"]:
        for mode, (low, high) in bounds.items():
            asked += 1
            met += price_met(mode, low, high, price)
    return asked, met


def _service_counts(product: Mapping[str, Any], reward: Mapping[str, Any]) -> tuple[int, int]:
    asked = met = 0
    if "service" in reward:
        for service in reward["service"]:
            asked += 1
            met += service in product["service"]
    return asked, met


def _option_counts(product: Mapping[str, Any], reward: Mapping[str, Any]) -> tuple[int, int]:
    wanted, met, _ = best_option(product, reward)
    return len(wanted), met
