"""Why a scored dialogue is no success: for each failed axis what was wanted and what was found.

An entry is `{"axis", "wanted", "found"}`, with `slot` (position of the wanted product, from 0) and `product_id` where
one product is meant. Axes: `recommendation` (nothing named), `product` (a slot without a known product), `title`,
`price`, `service`, `sku & attrs`, `gold` (the reward asks for one very product), `shop`,
`budget`, and `reward` (the problem asks for nothing, so nothing can be right).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tracemill.environment.format_check import format_fault, step_score
from tracemill.environment.problem import Problem
from tracemill.environment.recommendation import recommended_ids
from tracemill.environment.rules import is_in_range, match_options, rule_score
from tracemill.environment.scorer import ProductLookup, discounted, within_budget
from tracemill.environment.titles import Titles

Failure = dict[str, Any]
_STEPS = 20


def explain_failure(
    problem: Problem, dialogue: Any, catalog: ProductLookup, titles: Titles | None = None
) -> list[Failure]:
    """Return the failed axes of a dialogue, in slot order and then the condition of the category; empty for a success.

    Raises what `score_dialogue` raises for rewards and products of the wrong shape.
    """
    ids = recommended_ids(dialogue)
    if not ids:
        return [_failure("recommendation", [reward.get("product_id") for reward in problem.rewards], [])]
    if not problem.rewards:
        return [_failure("reward", "at least one wanted product", "a reward without products")]
    failures: list[Failure] = []
    hits: list[Mapping[str, Any]] = []
    for slot, reward in enumerate(problem.rewards):
        product = catalog.get_product_raw(ids[slot]) if slot < len(ids) else None
        if not product:
            named = ids[slot] if slot < len(ids) else None
            found = "no id in this slot" if named is None else "an id that the catalogue does not know"
            failures.append(_failure("product", reward.get("product_id"), found, slot, named))
            continue
        outcome = rule_score(product, reward, titles)
        if outcome.rule > 0:
            hits.append(product)
        if outcome.rule < 1:
            failures.extend(_field_failures(slot, product, reward, titles, sum(outcome.asked)))
    if problem.category == "shop":
        failures.extend(_shop_failure(problem, hits))
    elif problem.category == "voucher":
        failures.extend(_budget_failure(problem, hits))
    return failures


def explain_format(dialogue: Any) -> list[Failure]:
    """Say for each step (from 1) that lacks the full format score what is wrong with it; the first 20 of them."""
    faults: list[Failure] = []
    for number, step in enumerate(dialogue if isinstance(dialogue, list) else (), 1):
        try:
            score = step_score(step)
            fault = format_fault(step["completion"]["message"]) or "no timestamp that is a positive number"
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            score, fault = 0.0, f"cannot be read ({type(error).__name__})"
        if score < 1:
            faults.append({"axis": "format", "step": number, "wanted": 1.0, "found": score, "why": fault})
    return faults[:_STEPS]


def _failure(axis: str, wanted: Any, found: Any, slot: int | None = None, product_id: Any = None) -> Failure:
    entry: Failure = {"axis": axis}
    if slot is not None:
        entry["slot"] = slot
    if product_id is not None:
        entry["product_id"] = product_id
    return {**entry, "wanted": wanted, "found": found}


def _field_failures(
    slot: int, product: Mapping[str, Any], reward: Mapping[str, Any], titles: Titles | None, asked: int
) -> Iterator[Failure]:
    product_id = product["product_id"]
    if not asked:
        yield _failure("gold", reward["product_id"], product_id, slot, product_id)
        return
    yield from _title_failures(slot, product, reward, titles)
    for bounds in reward.get("price", ()):
        for mode, (low, high) in bounds.items():
            if not is_in_range(mode, low, high, product["price"]):
                yield _failure("price", {mode: [low, high]}, product["price"], slot, product_id)
    missing = [service for service in reward.get("service", ()) if service not in product["service"]]
    if missing:
        yield _failure("service", missing, product["service"], slot, product_id)
    match = match_options(product, reward)
    if match.met < len(match.wanted):
        best = match.attributes | set(match.option.items())
        lacking = [pair for pair in match.wanted if pair not in best]
        names = {name for name, _ in lacking}
        found = sorted(([name, value] for name, value in best if name in names), key=repr)
        yield _failure("sku & attrs", [list(pair) for pair in lacking], found, slot, product_id)


def _title_failures(
    slot: int, product: Mapping[str, Any], reward: Mapping[str, Any], titles: Titles | None
) -> Iterator[Failure]:
    if titles is None or not reward.get("title"):
        return
    vector = titles.encode([product["title"]])[0]
    given = reward.get("_title_embeddings", {})
    for title in reward["title"]:
        if not titles.matches(vector, title, given):
            near = round(float(titles.similarity(vector, title, given)), 4)
            found = {"title": product["title"], "similarity": near}
            yield _failure("title", title, found, slot, product["product_id"])


def _shop_failure(problem: Problem, hits: list[Mapping[str, Any]]) -> Iterator[Failure]:
    shops = sorted({str(hit["shop_id"]) for hit in hits})
    wanted = len(problem.rewards)
    if len(hits) < wanted or len(shops) != 1:
        found = {"products that meet anything": len(hits), "shops": shops}
        yield _failure("shop", f"{wanted} products from one shop", found)


def _budget_failure(problem: Problem, hits: list[Mapping[str, Any]]) -> Iterator[Failure]:
    voucher = problem.voucher
    total: Any = 0
    for hit in hits:
        total += hit["price"]
    shops = {hit["shop_id"] for hit in hits}
    wanted = len(problem.rewards)
    if len(hits) == wanted and within_budget(total, shops, voucher):
        return
    found: dict[str, Any] = {"products that meet anything": len(hits), "total": total, "shops": len(shops)}
    if len(hits) == wanted and voucher is not None:
        found["voucher"] = _voucher_state(total, len(shops), voucher)
    keys = ("budget", "voucher_type", "threshold", "discount_type", "face_value", "discount", "cap")
    terms = {key: voucher[key] for key in keys if voucher.get(key) is not None} if voucher else None
    yield _failure("budget", terms, found)


def _voucher_state(total: Any, shops: int, voucher: Mapping[str, Any]) -> str:
    kind = voucher["voucher_type"]
    if kind not in ("platform", "shop"):
        return f"of unknown type {kind!r}: no discount"
    if kind == "shop" and shops != 1:
        return f"not valid: products of {shops} shops"
    if total < voucher["threshold"]:
        return f"not valid: the total is below the threshold {voucher['threshold']}"
    return f"valid: {discounted(total, voucher)} to pay"
