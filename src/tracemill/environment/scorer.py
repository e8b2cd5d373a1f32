"""SN15's production scorer: the same dictionary, to the last digit, and the same exceptions.

A dialogue (SN15 steps) is scored against a problem in a catalogue. `length` and `format` look at the steps, everything
else at the products of the last `recommend_product` call. Product tasks read the first id only; shop and voucher tasks
compare the n-th id with the n-th wanted product. What the values mean:

    product  share of wanted products for which a known product was named
    gt       share of them that are the very products the reward names
    rule     mean share of constraints met (gold products 1)
    title, price, service, sku & attrs   the same by field
    shop     1 if every slot is a hit (rule above 0) and all hits are from one shop
    budget   1 if every slot is a hit and the total, or what is left after the voucher, is within the budget
"""

from __future__ import annotations

from typing import Any, Protocol

from tracemill.environment.format_check import format_score, length_score
from tracemill.environment.problem import CATEGORIES, Problem
from tracemill.environment.recommendation import recommended_ids
from tracemill.environment.rules import FIELDS, is_gold, rule_score
from tracemill.environment.titles import Titles, Vector

SCORER_VERSION = "sn15-a6b1cf3"
COEFFICIENT_FLOOR = 0.3
FULL_CREDIT_QUALITY = 0.8

_SUMMED = ("product", "gt", "rule", *FIELDS)

Score = dict[str, float]


class ProductLookup(Protocol):
    """What scoring needs of a catalogue."""

    def get_product_raw(self, product_id: str) -> dict[str, Any] | None:
        """Return the full document of one product, None where there is none."""
        ...


def score_dialogue(
    problem: Problem, dialogue: list[dict[str, Any]], catalog: ProductLookup, titles: Titles | None = None
) -> Score | None:
    """Return production's score of a dialogue; None where the problem has no reward.

    Dialogues, rewards and products of the wrong shape raise what production raises (KeyError, TypeError,
    AttributeError, pydantic's ValidationError, ...): see `tracemill.environment.grading` for a score that never raises.
    """
    if problem.category not in CATEGORIES:
        raise ValueError(f"Invalid task: {problem.category}. Must be one of {list(CATEGORIES)}")
    if problem.reward is None:
        return None
    score: Score = {"length": length_score(dialogue), "format": format_score(dialogue)}
    ids = recommended_ids(dialogue)
    if problem.category == "product":
        product = catalog.get_product_raw(ids[0]) if ids else None
        if product:
            sums = [0.0] * len(_SUMMED)
            _add_product(sums, product, problem.reward, titles, None)
            score.update(zip(_SUMMED, sums, strict=True))
        return score
    hits = _add_slots(score, ids, problem.reward, catalog, titles)
    complete = len(hits) == len(problem.reward)
    if problem.category == "shop":
        shops = {hit["shop_id"] for hit in hits}
        score["shop"] = 1 if complete and len(shops) == 1 else 0
    else:
        total: Any = 0
        shops = set()
        for hit in hits:
            total += hit["price"]
            shops.add(hit["shop_id"])
        score["budget"] = 1 if complete and within_budget(total, shops, problem.voucher) else 0
    return score


def is_success(score: Score | None, category: str) -> bool:
    """Whether the problem counts as solved: rule 1, and the shop or the budget condition where the category has one."""
    if score is None or score.get("rule", 0) < 1:
        return False
    condition = {"shop": "shop", "voucher": "budget"}.get(category.lower())
    return condition is None or score.get(condition, 0) >= 1


def reasoning_coefficient(quality: float) -> float:
    """The arena's factor for reasoning quality in [0, 1]: 0.3 at 0, rising to 1 at 0.8 and above; four decimals."""
    quality = max(0.0, min(1.0, quality))
    if quality >= FULL_CREDIT_QUALITY:
        return 1.0
    return round(COEFFICIENT_FLOOR + quality * (1.0 - COEFFICIENT_FLOOR) / FULL_CREDIT_QUALITY, 4)


def final_score(success_rate: float, quality: float) -> float:
    """The arena's score of an agent: success rate times reasoning coefficient; four decimals."""
    return round(success_rate * reasoning_coefficient(quality), 4)


def within_budget(total: Any, shops: set[Any], voucher: Any) -> bool:
    """Whether a total is within the voucher's budget, before the discount or after it; `shops` are the shops bought
    from."""
    if total <= voucher["budget"]:
        return True
    if voucher["voucher_type"] != "platform" and not (voucher["voucher_type"] == "shop" and len(shops) == 1):
        return False
    return bool(total >= voucher["threshold"]) and bool(discounted(total, voucher) <= voucher["budget"])


def discounted(total: Any, voucher: Any) -> Any:
    """What is left to pay: a fixed amount off, or a share off that the cap limits."""
    kind = voucher["discount_type"]
    if kind == "fixed":
        return total - voucher["face_value"]
    if kind == "percentage":
        return max(total * (1 - voucher["discount"]), total - voucher["cap"])
    raise Exception(f"Invalid voucher discount type: {kind}")


def _add_slots(
    score: Score, ids: list[str], rewards: Any, catalog: ProductLookup, titles: Titles | None
) -> list[dict[str, Any]]:
    """Score each wanted product against the id in its slot; returns the products that are hits, in slot order."""
    products = [catalog.get_product_raw(ids[slot]) if slot < len(ids) else None for slot, _ in enumerate(rewards)]
    vectors = _title_vectors(products, rewards, titles)
    sums = [0.0] * len(_SUMMED)
    hits: list[dict[str, Any]] = []
    for slot, reward in enumerate(rewards):
        product = products[slot]
        if product and _add_product(sums, product, reward, titles, vectors.get(slot)) > 0:
            hits.append(product)
    if len(rewards) > 0:
        for key, total in zip(_SUMMED, sums, strict=True):
            score[key] = total / len(rewards)
    return hits


def _title_vectors(products: list[Any], rewards: Any, titles: Titles | None) -> dict[int, Vector]:
    """Embeddings of all titles of other products, made in one batch; each such product must have a title."""
    slots = [
        slot
        for slot, (product, reward) in enumerate(zip(products, rewards, strict=True))
        if product is not None and not is_gold(product, reward)
    ]
    texts = [products[slot]["title"] for slot in slots]
    return dict(zip(slots, titles.encode(texts), strict=True)) if titles is not None else {}


def _add_product(
    sums: list[float], product: dict[str, Any], reward: Any, titles: Titles | None, vector: Vector | None
) -> float:
    """Add one product's values to the sums (in the order of _SUMMED); returns its rule score."""
    rule, asked, met = rule_score(product, reward, titles, vector)
    sums[0] += 1
    sums[1] += product["product_id"] == reward["product_id"]
    sums[2] += rule
    for field in range(4):
        if asked[field]:
            sums[3 + field] += met[field] / asked[field]
    return rule
