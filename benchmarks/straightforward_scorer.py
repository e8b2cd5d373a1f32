"""The scoring rules written down field by field, the way one would without thinking of speed.

It builds every step's text with pydantic and ujson and searches it with regular expressions, as the arena's validators
do. It is the peer that `benchmarks/scorer.py` measures against, and the oracle of the scorer's property tests.
"""

from __future__ import annotations

import re
from typing import Any

import ujson
from pydantic import BaseModel

ROLES = ["think", "tool_call", "response"]
FIELDS = ["title", "price", "service", "sku & attrs"]


class Message(BaseModel):
    """One step's message."""

    user: str = ""
    think: str = ""
    tool_call: list[dict] = []  # type: ignore[type-arg]
    obs: list[dict] = []  # type: ignore[type-arg]
    response: str = ""

    def text(self) -> str:
        """The step as tagged text."""
        parts = []
        for role in ROLES:
            value = getattr(self, role)
            if value:
                shown = value if isinstance(value, str) else ujson.dumps(value)
                parts.append(f"<{role}>{shown}</{role}>")
        return "\n".join(parts)


def text_is_right(text: str) -> bool:
    """Whether a step's text has a thought and an act, each tag once, none inside another, and a list of calls."""
    found = {}
    for role in ROLES:
        starts = [match.start() for match in re.finditer(f"<{role}>", text)]
        ends = [match.start() for match in re.finditer(f"</{role}>", text)]
        if starts or ends:
            found[role] = (starts, ends)
    if "think" not in found or ("tool_call" not in found and "response" not in found):
        return False
    if any(len(starts) != 1 or len(ends) != 1 or starts[0] >= ends[0] for starts, ends in found.values()):
        return False
    if "tool_call" in found and not calls_are_right(text[found["tool_call"][0][0] : found["tool_call"][1][0]]):
        return False
    spans = {role: (starts[0], ends[0]) for role, (starts, ends) in found.items()}
    for one, (start, end) in spans.items():
        for other, edges in spans.items():
            if one != other and any(start < edge < end for edge in edges):
                return False
    return True


def calls_are_right(part: str) -> bool:
    """Whether the text of the calls reads as a JSON list of objects with a name and parameters."""
    try:
        calls = ujson.loads(part.replace("<tool_call>", "").replace("</tool_call>", ""))
        if not isinstance(calls, list):
            return False
        for call in calls:
            if "name" not in call or "parameters" not in call:
                return False
            if not isinstance(call["name"], str) or not isinstance(call["parameters"], dict):
                return False
    except (KeyError, TypeError, ValueError):
        return False
    return True


def format_of(dialogue: Any) -> float:
    """Mean format score of the steps."""
    total = 0.0
    for step in dialogue:
        try:
            right: float = text_is_right(Message(**step["completion"]["message"]).text())
            stamp = step.get("extra_info", {}).get("timestamp")
            if not isinstance(stamp, (int, float)) or stamp <= 0:
                right *= 0.5
            total += right
        except (KeyError, TypeError, AttributeError):
            continue
    return total / len(dialogue) if dialogue else 0


def length_of(dialogue: Any) -> float:
    """1/steps for an episode that ends with terminate."""
    if not dialogue:
        return 0
    message = dialogue[-1]["completion"]["message"]
    if not message or "tool_call" not in message or not message["tool_call"]:
        return 0
    names = [call["name"] for call in message["tool_call"]]
    return 1.0 / len(dialogue) if "terminate" in names else 0


def ids_of(dialogue: Any) -> list[str]:
    """Recommended ids."""
    given: Any = ""
    for step in dialogue:
        try:
            message = step["completion"]["message"]
            if message and "tool_call" in message and message["tool_call"]:
                for call in message["tool_call"]:
                    if call["name"] == "recommend_product":
                        given = call["parameters"].get("product_ids", "")
        except (KeyError, TypeError, AttributeError):
            continue
    if not isinstance(given, str):
        return []
    ids: list[str] = []
    for part in given.split(","):
        if part.strip() and part.strip() not in ids:
            ids.append(part.strip())
    return ids


def rule_of(product: dict[str, Any], reward: dict[str, Any]) -> tuple[float, dict[str, int], dict[str, int]]:
    """Rule score, constraints and hits by field (no sentence model)."""
    gold = product["product_id"] == reward["product_id"]
    asked, met = dict.fromkeys(FIELDS, 0), dict.fromkeys(FIELDS, 0)
    if gold and "title" in reward:
        asked["title"] = met["title"] = len(reward["title"])
    if "price" in reward:
        price = product["price"]
        for bounds in reward["price"]:
            for mode, (low, high) in bounds.items():
                asked["price"] += 1
                if (
                    (mode == "less than" and price <= high)
                    or (mode == "greater than" and price >= low)
                    or (mode == "between" and low <= price <= high)
                ):
                    met["price"] += 1
    for service in reward.get("service", []):
        asked["service"] += 1
        if service in product["service"]:
            met["service"] += 1
    options: list[set[Any]] = [set()]
    if product.get("sku_options"):
        for option in product["sku_options"].values():
            options.append({(name, value) for name, value in option.items()})
    attributes = set()
    if product.get("attributes"):
        for name, values in product["attributes"].items():
            for value in values:
                attributes.add((name, value))
    for option in options:
        total = hits = 0
        for wanted in reward.get("sku_options", []):
            for pair in wanted.items():
                total += 1
                hits += pair in option or pair in attributes
        for wanted in reward.get("attributes", []):
            for name, values in wanted.items():
                for value in values:
                    total += 1
                    hits += (name, value) in option or (name, value) in attributes
        asked["sku & attrs"] = max(asked["sku & attrs"], total)
        met["sku & attrs"] = max(met["sku & attrs"], hits)
    constraints = sum(asked.values())
    return (1 if gold else sum(met.values()) / constraints if constraints else 0), asked, met


def score(category: str, reward: Any, voucher: Any, dialogue: Any, products: dict[str, Any]) -> dict[str, float]:
    """The production fields of one dialogue."""
    result: dict[str, float] = {"length": length_of(dialogue), "format": format_of(dialogue)}
    ids = ids_of(dialogue)
    slots = [reward] if category == "product" else reward
    if category == "product" and not (ids and products.get(ids[0])):
        return result
    named = [products.get(ids[slot]) if slot < len(ids) else None for slot in range(len(slots))]
    if category != "product":
        for product, wanted in zip(named, slots, strict=True):
            if product is not None and product["product_id"] != wanted["product_id"]:
                product["title"]
    sums = dict.fromkeys(["product", "gt", "rule", *FIELDS], 0.0)
    hits, total, shops = 0, 0, set()
    for product, wanted in zip(named, slots, strict=True):
        if not product:
            continue
        rule, asked, met = rule_of(product, wanted)
        sums["product"] += 1
        sums["gt"] += product["product_id"] == wanted["product_id"]
        sums["rule"] += rule
        for field in FIELDS:
            sums[field] += met[field] / asked[field] if asked[field] else 0
        if rule > 0 and category != "product":
            hits += 1
            if category == "voucher":
                total += product["price"]
            shops.add(product["shop_id"])
    if slots:
        result.update({key: value / len(slots) for key, value in sums.items()})
    if category == "shop":
        result["shop"] = 1 if hits == len(slots) and len(shops) == 1 else 0
    if category == "voucher":
        result["budget"] = 1 if hits == len(slots) and affordable(total, shops, voucher) else 0
    return result


def affordable(total: Any, shops: set[Any], voucher: Any) -> bool:
    """Whether the total, or what the voucher leaves of it, is within the budget."""
    if total <= voucher["budget"]:
        return True
    kind = voucher["voucher_type"]
    if (kind == "platform" or (kind == "shop" and len(shops) == 1)) and total >= voucher["threshold"]:
        if voucher["discount_type"] == "fixed":
            return bool(total - voucher["face_value"] <= voucher["budget"])
        if voucher["discount_type"] == "percentage":
            left = max(total * (1 - voucher["discount"]), total - voucher["cap"])
            return bool(left <= voucher["budget"])
        raise Exception(f"Invalid voucher discount type: {voucher['discount_type']}")
    return False
