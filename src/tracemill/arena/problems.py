"""The built-in problems: product, shop and voucher tasks over a catalogue, and variants of one reward for the leak
guard.

A problem's id names its bucket (`product-price-0012`) and, for a variant, the kind (`product-price-0012-paraphrase`).
Every gold product scores rule 1, and the search words that stand in the query, with price, service and shop as
filters, lead to it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tracemill.arena.catalog import Product, kind_of, lines_of
from tracemill.arena.params import ProblemParams
from tracemill.arena.rewards import is_describable, isolating_reward, loose_reward, make_voucher, single_reward
from tracemill.arena.wording import ask, disguise, paraphrase, price_words, reorder
from tracemill.environment.problem import Problem
from tracemill.errors import InputError

SHARES = (("product", 0.6), ("shop", 0.2), ("voucher", 0.2))
BUCKETS = ("single", "price", "service", "option", "combination")
VARIANTS = ("paraphrase", "reorder", "unicode", "numeric")


def generate_problems(catalog: Sequence[Product], params: ProblemParams) -> list[Problem]:
    """Return `params.problems` problems over `catalog`, sorted by id; the same input gives the same problems.

    Raises InputError when the catalogue has too few lines of a kind.
    """
    maker = _Maker(catalog, params)
    problems: list[Problem] = []
    for category, share in SHARES:
        wanted = round(share * params.problems)
        variants = {kind: round(getattr(params, kind) * wanted) for kind in VARIANTS}
        base = [maker.make(category) for _ in range(wanted - sum(variants.values()))]
        problems += base
        for kind in VARIANTS:
            problems += maker.vary(base, kind, variants[kind])
    return sorted(problems, key=lambda problem: problem.problem_id)


def bucket_of(problem_id: str) -> str:
    """Category and difficulty of a built-in problem (`product/price`), the category alone for any other id."""
    parts = problem_id.split("-")
    return "/".join(parts[:2]) if len(parts) > 2 and parts[0] in dict(SHARES) else "other"


class _Maker:
    """Hands out lines of the catalogue, each once, and words problems about them."""

    def __init__(self, catalog: Sequence[Product], params: ProblemParams) -> None:
        self.params = params
        self.rng = random.Random(params.seed)
        self.lines = lines_of(catalog)
        self.free: dict[str, list[str]] = {}
        for title, line in self.lines.items():
            kind = kind_of(line)
            if kind is not None and all(map(is_describable, line)):
                self.free.setdefault(kind, []).append(title)
        for titles in self.free.values():
            self.rng.shuffle(titles)
        self.count: Counter[str] = Counter()
        self.used: set[str] = set()
        self.product_golds: list[Product] = []
        self.singles_by_shop = _by_shop(self.lines, self.free.get("single", []))

    def make(self, category: str) -> Problem:
        if category == "product":
            return self._product()
        return self._shop() if category == "shop" else self._voucher()

    def vary(self, base: Sequence[Problem], kind: str, count: int) -> list[Problem]:
        """`count` variants of problems in `base`, no problem twice."""
        able = [p for p in base if kind != "numeric" or "-price-" in p.problem_id]
        made = []
        for origin in self.rng.sample(able, min(count, len(able))):
            problem = self._numeric(origin) if kind == "numeric" else self._reworded(origin, kind)
            if problem is not None:
                made.append(problem)
        made += [self.make(base[0].category) for _ in range(count - len(made))]
        return made

    def _reworded(self, origin: Problem, kind: str) -> Problem:
        words = {"paraphrase": paraphrase, "reorder": reorder}
        if kind == "unicode":
            query = disguise(origin.query, self.rng)
        else:
            query = words[kind](origin.category, origin.rewards, origin.voucher, self.rng)
        return Problem(f"{origin.problem_id}-{kind}", origin.category, query, origin.reward, origin.voucher)

    def _numeric(self, origin: Problem) -> Problem | None:
        """Another member of the same line: the query differs in numbers only."""
        reward = origin.rewards[0]
        line = self.lines[reward["title"][0]]
        for other in line:
            if other["product_id"] == reward["product_id"]:
                continue
            changed = isolating_reward(other, line, "price", self.rng)
            if changed is None or set(changed["price"][0]) != set(reward["price"][0]):
                continue
            query = origin.query.replace(price_words(reward["price"][0]), price_words(changed["price"][0]))
            kept = {**reward, "product_id": other["product_id"], "price": changed["price"]}
            return Problem(f"{origin.problem_id}-numeric", origin.category, query, kept, None)
        return None

    def _take(self, kind: str) -> list[Product]:
        titles = self.free.get(kind, [])
        while titles:
            title = titles.pop()
            if title not in self.used:
                self.used.add(title)
                return self.lines[title]
        raise InputError(
            f"the catalogue has too few lines of kind {kind!r} for {self.params.problems} problems; raise "
            f"arena.catalog.products or arena.catalog.{kind}, or lower arena.problems.problems"
        )

    def _product(self) -> Problem:
        bucket = self.rng.choices(BUCKETS, [getattr(self.params, name) for name in BUCKETS])[0]
        line = self._take(bucket)
        reward = single_reward(line[0], self.params.extra_price, self.rng) if bucket == "single" else None
        for member in self.rng.sample(line, len(line)):
            reward = reward or isolating_reward(member, line, bucket, self.rng)
        if reward is None:
            return self._product()
        if bucket == "single":
            self.product_golds.append(line[0])
        return self._problem("product", bucket, [reward], None)

    def _shop(self) -> Problem:
        """A product that one shop alone sells, then one that several sell alike."""
        anchor, member = self._pair_of_one_shop()
        rewards = [self._loose(anchor), self._loose(member)]
        return self._problem("shop", "pair", rewards, None)

    def _voucher(self) -> Problem:
        if self.rng.random() < self.params.shop_voucher:
            golds, kind = list(self._pair_of_one_shop()), "shop"
            rewards = [self._loose(gold) for gold in golds]
        else:
            lines = [self._shared_or_single(), self._take("price")]
            golds, kind = [lines[0][0], self.rng.choice(lines[1])], "platform"
            found = [self._loose(golds[0]), isolating_reward(golds[1], lines[1], "price", self.rng)]
            rewards = [reward for reward in found if reward is not None]
        voucher = make_voucher(kind, sum(gold["price"] for gold in golds), self.params.percentage, self.rng)
        return self._problem("voucher", kind, rewards, voucher)

    def _loose(self, product: Product) -> dict[str, Any]:
        return loose_reward(product, self.params.extra_price, self.rng)

    def _shared_or_single(self) -> list[Product]:
        if self.product_golds and self.rng.random() < self.params.shared_gold:
            return [self.rng.choice(self.product_golds)]
        return self._take("single")

    def _pair_of_one_shop(self) -> tuple[Product, Product]:
        while True:
            line = self._take("shop")
            share = self.rng.random() < self.params.shared_gold
            for member in self.rng.sample(line, len(line)):
                for anchor in self.singles_by_shop.get(member["shop_id"], []):
                    taken = anchor["title"] in self.used
                    if not taken or (share and anchor in self.product_golds):
                        self.used.add(anchor["title"])
                        return anchor, member

    def _problem(
        self, category: str, bucket: str, rewards: list[dict[str, Any]], voucher: dict[str, Any] | None
    ) -> Problem:
        self.count[category] += 1
        name = f"{category}-{bucket}-{self.count[category]:04d}"
        query = ask(category, rewards, voucher, self.rng)
        return Problem(name, category, query, rewards[0] if category == "product" else rewards, voucher)


def _by_shop(lines: dict[str, list[Product]], titles: Sequence[str]) -> dict[str, list[Product]]:
    shops: dict[str, list[Product]] = {}
    for title in titles:
        shops.setdefault(lines[title][0]["shop_id"], []).append(lines[title][0])
    return shops
