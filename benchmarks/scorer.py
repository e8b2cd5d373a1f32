"""Scored trajectories and environment steps a second, on one core.

    python benchmarks/scorer.py

The scorer is measured against `straightforward_scorer` (pydantic, ujson, regular expressions, as the arena's validators
do) on the same dialogues with results of the size that the search server sends; both must give the same scores.
Environment steps are played by a script with 1, 8 and 64 live episodes, against the embedded index.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import straightforward_scorer as straightforward
from tracemill.environment.episode import Call, Episode, Turn
from tracemill.environment.grading import ProductTable
from tracemill.environment.index import build_index, open_index
from tracemill.environment.problem import Problem
from tracemill.environment.scorer import score_dialogue

# fmt: off
WORDS = [
    "red", "blue", "leather", "steel", "cotton", "lamp", "mug", "shoe", "bag", "cable", "phone", "case",
    "wireless", "portable", "kids", "women", "large", "mini", "set", "new",
]
# fmt: on
SERVICES = ("official", "freeShipping", "COD", "flashsale")


def make_products(count: int, rng: random.Random) -> list[dict[str, Any]]:
    """Products whose documents have about the size of real ones (1 KB)."""
    products = []
    for number in range(count):
        words = rng.choices(WORDS, k=12)
        products.append(
            {
                "product_id": str(1_000_000 + number),
                "shop_id": str(rng.randrange(200)),
                "title": " ".join(words),
                "price": round(rng.uniform(1, 2000), 2),
                "service": rng.sample(SERVICES, rng.randrange(3)),
                "sold_count": rng.randrange(5000),
                "sku_options": {str(i): {"colour": rng.choice(WORDS), "size": rng.choice("smlx")} for i in range(4)},
                "attributes": {rng.choice(WORDS): [rng.choice(WORDS)] for _ in range(4)},
                "short_description": " ".join(words),
                "description": " ".join(rng.choices(WORDS, k=100)),
            }
        )
    return products


def make_cases(
    catalog: Any, products: list[dict[str, Any]], count: int, rng: random.Random
) -> list[tuple[Problem, Any]]:
    """Problems of the three categories, each with an episode: eight searches, two looks, a recommendation."""
    cases = []
    for number in range(count):
        category = ("product", "shop", "voucher")[number % 3]
        gold = rng.sample(products, 1 if category == "product" else 3)
        rewards = [
            {
                "product_id": g["product_id"],
                "title": [g["title"]],
                "price": [{"between": [g["price"] - 9, g["price"] + 9]}],
            }
            | {"service": g["service"], "sku_options": [g["sku_options"]["1"]]}
            for g in gold
        ]
        terms = {"voucher_type": "platform", "threshold": 10, "discount_type": "fixed", "face_value": 5, "budget": 3000}
        reward = rewards[0] if category == "product" else rewards
        problem = Problem(f"p{number}", category, gold[0]["title"], reward, terms if category == "voucher" else None)
        episode = Episode(catalog, problem)
        ids = ",".join(g["product_id"] for g in (gold if number % 2 else rng.sample(products, len(gold))))
        for turn in script(problem, ids):
            episode.step(turn)
        cases.append((problem, json.loads(json.dumps(episode.dialogue()))))
    return cases


def script(problem: Problem, ids: str) -> list[Turn]:
    """Turns of one episode."""
    words = problem.query.split()
    searches = [
        Turn("I search for it.", "", [Call("find_product", {"q": " ".join(words[i : i + 4])})]) for i in range(8)
    ]
    look = Turn("I look closer.", "", [Call("view_product_information", {"product_ids": ids})])
    end = Turn(
        "It fits.", "", [Call("recommend_product", {"product_ids": ids}), Call("terminate", {"status": "success"})]
    )
    return [*searches, look, look, end]


def rate(work: Callable[[], int], seconds: float) -> float:
    """Units of work a second of processor time (other processes do not count)."""
    done, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        done += work()
    return done / (time.process_time() - start)


def measure_scorer(cases: list[tuple[Problem, Any]], products: list[dict[str, Any]], seconds: float) -> None:
    """Print trajectories a second of both, and their ratio."""
    table = ProductTable(products)

    def ours() -> int:
        for problem, dialogue in cases:
            score_dialogue(problem, dialogue, table)
        return len(cases)

    def theirs() -> int:
        for p, dialogue in cases:
            straightforward.score(p.category, p.reward, p.voucher, dialogue, table.products)
        return len(cases)

    for p, dialogue in cases:
        expected = straightforward.score(p.category, p.reward, p.voucher, dialogue, table.products)
        if score_dialogue(p, dialogue, table) != expected:
            sys.exit(f"{p.problem_id}: the two scorers differ")
    kilobytes = sum(len(json.dumps(dialogue)) for _, dialogue in cases) / len(cases) / 1000
    rounds = [(rate(ours, seconds), rate(theirs, seconds)) for _ in range(5)]
    fast, plain = (statistics.median(side) for side in zip(*rounds, strict=True))
    ratio = statistics.median(one / other for one, other in rounds)
    print(f"scorer: {len(cases)} dialogues of {kilobytes:.0f} KB, scores equal")
    print(f"  tracemill        {fast:10,.0f} trajectories/s")
    print(f"  straightforward  {plain:10,.0f} trajectories/s")
    print(f"  ratio            {ratio:10.1f}")


def measure_steps(catalog: Any, cases: list[tuple[Problem, Any]], seconds: float) -> None:
    """Print environment steps a second with 1, 8 and 64 live episodes."""
    scripts = {problem.problem_id: script(problem, "1000001") for problem, _ in cases}
    for together in (1, 8, 64):

        def play(together: int = together) -> int:
            live = [Episode(catalog, problem) for problem, _ in cases[:together]]
            for position in range(11):
                for episode in live:
                    episode.step(scripts[episode.problem.problem_id][position])
            return 11 * together

        print(
            f"  {together:2} episodes at once {statistics.median(rate(play, seconds) for _ in range(5)):10,.0f} steps/s"
        )


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--products", type=int, default=5000)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=1.0, help="length of each of the five rounds")
    given = parser.parse_args()
    rng = random.Random(1)
    products = make_products(given.products, rng)
    with tempfile.TemporaryDirectory() as folder:
        build_index(products, Path(folder) / "index")
        catalog = open_index(Path(folder) / "index")
        cases = make_cases(catalog, products, given.cases, rng)
        measure_scorer(cases, products, given.seconds)
        print(f"environment: {given.products} products, search included")
        measure_steps(catalog, cases, given.seconds)


if __name__ == "__main__":
    main()
