"""From a problem to searches: the words of the query that name each wanted product, and its conditions as filters."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from tracemill.arena.wording import Reward, folded
from tracemill.environment.problem import Problem

_WORD = re.compile(r"\w+")
_SLACK = 4
_TITLE_WORDS = 7


class Want(msgspec.Struct, frozen=True):
    """One wanted product as a sequence of searches to try."""

    queries: tuple[str, ...]
    """Search words, best first; the last ones come from the product's title, which only a strong model would guess."""
    filters: dict[str, str]
    """`price` and `service` arguments, where the problem asks for them."""
    gold: str
    options: tuple[dict[str, Any], ...]
    """SKU options asked for beyond the colour."""


def plan(problem: Problem, guess_titles: bool = True) -> list[Want]:
    """The wanted products of a problem in the order of the task."""
    words = _WORD.findall(folded(problem.query))
    return [_want(words, reward, guess_titles) for reward in problem.rewards]


def _want(words: list[str], reward: Reward, guess_titles: bool) -> Want:
    title, skus = _title_words(reward), _skus(reward)
    said = spoken_words(words, title, _option_words(skus))
    queries = [" ".join(said)] if said else []
    if guess_titles or not queries:
        queries.append(" ".join(title[:_TITLE_WORDS]))
    filters = {}
    price = price_argument(reward.get("price"))
    if price is not None:
        filters["price"] = price
    services = reward.get("service")
    if isinstance(services, list) and services:
        filters["service"] = ",".join(map(str, services))
    options = tuple(sku for sku in skus if set(sku) - {"color_family"})
    return Want(tuple(dict.fromkeys(queries)), filters, str(reward.get("product_id")), options)


def spoken_words(words: list[str], title: list[str], options: list[str]) -> list[str]:
    """The words of the query that name a product with this title and these options, in the query's order.

    Several products stand in one query, so only the stretch that holds most of the title's words is read.
    """
    wanted = {*title, *options}
    span = len(title) + len(options) + _SLACK
    best, start = 0, 0
    for at in range(len(words)):
        held = len(wanted.intersection(words[at : at + span]))
        if held >= best:
            best, start = held, at
    return [word for word in dict.fromkeys(words[start : start + span]) if word in wanted] if best else []


def price_argument(price: Any) -> str | None:
    """The first condition of a reward's price as the search takes it (`100-200`, `100-`, `0-200`); None without one."""
    try:
        low, high = next(iter(price[0].values()))
        return f"{0 if low is None else _number(low)}-{'' if high is None else _number(high)}"
    except (TypeError, ValueError, LookupError, AttributeError, StopIteration, OverflowError):
        return None  # the scorer meets such a reward with an error of its own


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else str(float(value))


def _title_words(reward: Reward) -> list[str]:
    titles = reward.get("title") or [""]
    text = titles[0] if isinstance(titles, list) else titles
    return _WORD.findall(folded(str(text)))


def _skus(reward: Reward) -> list[dict[str, Any]]:
    options = reward.get("sku_options")
    return [sku for sku in options if isinstance(sku, dict)] if isinstance(options, list) else []


def _option_words(skus: list[dict[str, Any]]) -> list[str]:
    words: list[str] = []
    for sku in skus:
        for name, value in sku.items():
            words += _WORD.findall(folded(str(value) if name == "color_family" else f"{name} {value}"))
    return words
