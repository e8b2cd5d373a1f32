"""How the users of the built-in arena ask: a few sentence patterns per category.

The words of a product stand together in the sentence, in the order of its title, so that a search can copy them.
Voucher rules are worded as in ShoppingBench. Paraphrases use other patterns and break the words up.
"""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from tracemill.arena.words import SERVICE_WORDS

OPENERS = ("Looking for a", "Show me a", "I need a", "Find a")
SHOP_OPENERS = ("Find a shop that sells a", "Looking for a shop that offers a", "Show me a shop that has a")
PARAPHRASED = ("Please help me get a", "I would like to buy a", "Can you get me a")
VOUCHER_LEAD = "My budget is only `{budget}`, but I have a voucher with the following rules:"
VOUCHER_SCOPE = {
    "platform": "1. The voucher applies to all products.",
    "shop": "1. The voucher only applies to the products from the same shop.",
}
VOUCHER_THRESHOLD = "2. It is valid only when the total price of the products exceeds `{threshold}`."
VOUCHER_FIXED = "3. It provides a fixed discount of `{face_value}`."
VOUCHER_PERCENTAGE = "3. It provides a percentage discount of `{percent}%` with a cap of `{cap}`."

Reward = Mapping[str, Any]


def item_words(reward: Reward) -> str:
    """The words that name one wanted product: its title's, then the wanted option beyond the colour."""
    words = str(reward["title"][0])
    for sku in reward.get("sku_options", ()):
        words += "".join(f" {name} {value}" for name, value in sku.items() if name != "color_family")
    return words


def item_conditions(reward: Reward, paraphrased: bool = False) -> str:
    """Price and services of one wanted product, as said after its words; empty where nothing is asked."""
    said = [price_words(condition, paraphrased) for condition in reward.get("price", ())]
    said += [SERVICE_WORDS[service] for service in reward.get("service", ())]
    return " " + " and ".join(said) if said else ""


def price_words(condition: Mapping[str, Sequence[float | None]], paraphrased: bool = False) -> str:
    """One price condition in words."""
    (relation, (low, high)) = next(iter(condition.items()))
    if relation == "between":
        return f"costing {low} to {high} PHP" if paraphrased else f"priced from {low} to {high} pesos"
    if relation == "greater than":
        return f"costing more than {low} PHP" if paraphrased else f"priced above {low} pesos"
    return f"costing less than {high} PHP" if paraphrased else f"priced under {high} pesos"


def ask(category: str, rewards: Sequence[Reward], voucher: Mapping[str, Any] | None, rng: random.Random) -> str:
    """The query of a problem in its plain form."""
    opener = rng.choice(SHOP_OPENERS if category == "shop" else OPENERS)
    items = " and a ".join(item_words(reward) + item_conditions(reward) for reward in rewards)
    return f"{opener} {items}." + voucher_words(voucher)


def paraphrase(category: str, rewards: Sequence[Reward], voucher: Mapping[str, Any] | None, rng: random.Random) -> str:
    """The same wish in other words: another opener, brand and material named apart, prices said otherwise."""
    opener = rng.choice(PARAPHRASED) if category != "shop" else "Please name one shop where I can buy a"
    return f"{opener} {', as well as a '.join(_apart(reward) for reward in rewards)}." + voucher_words(voucher)


def _apart(reward: Reward) -> str:
    style, brand, colour, material, noun = str(reward["title"][0]).split()
    option = item_words(reward)[len(reward["title"][0]) :]
    return f"{style} {colour} {noun}{option} by {brand} made of {material}" + item_conditions(reward, paraphrased=True)


def reorder(category: str, rewards: Sequence[Reward], voucher: Mapping[str, Any] | None, rng: random.Random) -> str:
    """The plain form with every product's words in another order."""
    shuffled = []
    for reward in rewards:
        words = str(reward["title"][0]).split()
        rng.shuffle(words)
        shuffled.append({**reward, "title": [" ".join(words)]})
    return ask(category, shuffled, voucher, rng)


def disguise(query: str, rng: random.Random) -> str:
    """A query that equals `query` after NFKC, case folding and squeezing blanks, but not before."""
    words = query.split(" ")
    at = rng.randrange(2, max(3, min(len(words), 8)))
    form = rng.choice(("upper", "wide", "blank", "mixed"))
    if form == "upper":
        return query.upper() if "`" not in query else " ".join(w.upper() if n < 8 else w for n, w in enumerate(words))
    if form == "wide":
        words[at] = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in words[at])
    elif form == "blank":
        words[at] = "\u00a0" + words[at] + " "
    else:
        words[at] = words[at].title()
        words[0] = words[0].lower()
    return " ".join(words)


def folded(text: str) -> str:
    """Text after NFKC, case folding and squeezing blanks: what a disguise leaves unchanged."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def voucher_words(voucher: Mapping[str, Any] | None) -> str:
    """The voucher's rules as ShoppingBench words them; empty without a voucher."""
    if voucher is None:
        return ""
    discount = VOUCHER_FIXED if voucher["discount_type"] == "fixed" else VOUCHER_PERCENTAGE
    lines = (VOUCHER_LEAD, VOUCHER_SCOPE[voucher["voucher_type"]], VOUCHER_THRESHOLD, discount)
    percent = round(100 * (voucher["discount"] or 0))
    return "\n\n" + "\n".join(lines).format(**voucher, percent=percent)
