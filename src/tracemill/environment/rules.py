"""The rule score of one product against one wanted product: constraints met / constraints asked for.

Values are compared without casts and missing keys raise, since that is what the arena's validators do: a catalogue or a
reward of the wrong shape has to show, not to pass as a miss.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tracemill.environment.titles import Titles, Vector

Pair = tuple[Any, Any]
"""Name and value of an option or an attribute."""

FIELDS = ("title", "price", "service", "sku & attrs")


class RuleScore(NamedTuple):
    """Outcome of the rules; `asked` and `met` count constraints, in the order of FIELDS."""

    rule: float
    asked: tuple[int, int, int, int]
    met: tuple[int, int, int, int]


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
    title, title_met = _title_counts(product, reward, gold, titles, vector) if "title" in reward else (0, 0)
    price, price_met = _price_counts(product, reward) if "price" in reward else (0, 0)
    service, service_met = _service_counts(product, reward) if "service" in reward else (0, 0)
    wanted, option_met, _ = best_option(product, reward)
    asked = (title, price, service, len(wanted))
    met = (title_met, price_met, service_met, option_met)
    total = sum(asked)
    rule: float = 1 if gold else sum(met) / total if total else 0
    return RuleScore(rule, asked, met)


def is_in_range(mode: str, low: Any, high: Any, price: Any) -> bool:
    """Whether a price is in a range; both ends belong to it, an unknown mode is never met."""
    if mode == "less than":
        return bool(price <= high)
    if mode == "greater than":
        return bool(price >= low)
    return mode == "between" and bool(low <= price <= high)


def option_sets(product: Mapping[str, Any]) -> tuple[list[set[Pair]], set[Pair]]:
    """(name, value) pairs of each option of the product, and of its attributes."""
    given = product.get("sku_options")
    options = [set(option.items()) for option in given.values()] if given else []
    given = product.get("attributes")
    attributes = {(name, value) for name, values in given.items() for value in values} if given else set()
    return options, attributes


def best_option(product: Mapping[str, Any], reward: Mapping[str, Any]) -> tuple[list[Pair], int, set[Pair]]:
    """Pairs that the reward asks for, how many are met at best, and what meets them.

    That is a single option of the product together with its attributes: the first option where several meet as many,
    the attributes alone where no option adds anything. Options may meet what was asked of attributes, and the reverse;
    a pair that is asked for twice counts twice.
    """
    options, attributes = option_sets(product)
    wanted: list[Pair] = []
    open_pairs: list[Pair] = []
    for pair in _wanted_pairs(reward):
        wanted.append(pair)
        if pair not in attributes:
            open_pairs.append(pair)
    chosen, most = None, 0
    if open_pairs:
        for option in options:
            met = 0
            for pair in open_pairs:
                if pair in option:
                    met += 1
            if met > most:
                chosen, most = option, met
    return wanted, len(wanted) - len(open_pairs) + most, attributes if chosen is None else attributes | chosen


def _wanted_pairs(reward: Mapping[str, Any]) -> Iterator[Pair]:
    if "sku_options" in reward:
        for option in reward["sku_options"]:
            yield from option.items()
    if "attributes" in reward:
        for attribute in reward["attributes"]:
            for name, values in attribute.items():
                for value in values:
                    yield name, value


def _title_counts(
    product: Mapping[str, Any], reward: Mapping[str, Any], gold: bool, titles: Titles | None, vector: Vector | None
) -> tuple[int, int]:
    if gold:
        return len(reward["title"]), len(reward["title"])
    given = reward.get("_title_embeddings", {})
    if titles is None:
        return 0, 0
    found = vector if vector is not None else titles.encode([product["title"]])[0]
    hits = [titles.matches(found, title, given) for title in reward["title"]]
    return len(hits), sum(hits)


def _price_counts(product: Mapping[str, Any], reward: Mapping[str, Any]) -> tuple[int, int]:
    price = product["price"]
    asked = met = 0
    for bounds in reward["price"]:
        for mode, (low, high) in bounds.items():
            asked += 1
            met += is_in_range(mode, low, high, price)
    return asked, met


def _service_counts(product: Mapping[str, Any], reward: Mapping[str, Any]) -> tuple[int, int]:
    asked = met = 0
    for service in reward["service"]:
        asked += 1
        met += service in product["service"]
    return asked, met
