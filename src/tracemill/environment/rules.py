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

_NO_OPTION: Mapping[str, Any] = {}
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
    match = match_options(product, reward)
    asked = (title, price, service, len(match.wanted))
    met = (title_met, price_met, service_met, match.met)
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


class OptionMatch(NamedTuple):
    """How a product meets the options and attributes that a reward asks for."""

    wanted: list[Pair]
    """All pairs asked for; a pair that is asked for twice counts twice."""
    met: int
    attributes: set[Pair]
    """What the product has as attributes."""
    option: Mapping[str, Any]
    """The single option that adds most to the attributes: the first one where several add as much; empty where none
    does."""


def match_options(product: Mapping[str, Any], reward: Mapping[str, Any]) -> OptionMatch:
    """Match wanted options and attributes, each against the attributes together with one option of the product.

    Options may meet what was asked of attributes, and the reverse. Values that cannot be hashed raise TypeError, since
    the arena compares sets of pairs.
    """
    options = _options(product)
    given = product.get("attributes")
    attributes = {(name, value) for name, values in given.items() for value in values} if given else set()
    wanted: list[Pair] = []
    missing: list[Pair] = []
    for pair in _wanted_pairs(reward):
        wanted.append(pair)
        if pair not in attributes:
            missing.append(pair)
    chosen, most = _NO_OPTION, 0
    if missing:
        for option in options:
            met = 0
            for name, value in missing:
                if name in option and option[name] == value:
                    met += 1
            if met > most:
                chosen, most = option, met
    return OptionMatch(wanted, len(wanted) - len(missing) + most, attributes, chosen)


def _options(product: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    given = product.get("sku_options")
    options = list(given.values()) if given else []
    for option in options:
        for _, value in option.items():
            if type(value) is not str:
                hash(value)
    return options


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
