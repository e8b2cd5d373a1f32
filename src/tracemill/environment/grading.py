"""Scoring that never stops at one trajectory: what raises in the arena becomes a grade without a score.

The arena counts a problem whose scoring raised as a failure; so does this. A grade says which error it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from tracemill.environment.explain import Failure, explain_failure
from tracemill.environment.problem import Problem
from tracemill.environment.scorer import ProductLookup, Score, is_success, score_dialogue
from tracemill.environment.titles import Titles
from tracemill.errors import TracemillError

_SHOWN = 200


class Grade(msgspec.Struct, frozen=True):
    """One scored dialogue."""

    problem_id: str
    success: bool
    score: Score | None
    failures: list[Failure]
    """Failed axes with what was wanted and found; empty for a success and where scoring raised."""
    error: str | None = None
    """What scoring raised, None where it did not."""


def grade_dialogue(
    problem: Problem, dialogue: Any, catalog: ProductLookup, titles: Titles | None = None, *, explain: bool = True
) -> Grade:
    """Score a dialogue; any error of its shape is in the grade. Errors of the catalogue itself (TracemillError)
    escape."""
    try:
        score = score_dialogue(problem, dialogue, catalog, titles)
        success = is_success(score, problem.category)
        wanted = explain and not success and score is not None
        failures = explain_failure(problem, dialogue, catalog, titles) if wanted else []
    except TracemillError:
        raise
    except Exception as error:  # the arena's validators raise for hostile shapes, of any kind
        return Grade(problem.problem_id, False, None, [], f"{type(error).__name__}: {str(error)[:_SHOWN]}")
    return Grade(problem.problem_id, success, score, failures)


def gold_dialogue(problem: Problem) -> list[dict[str, Any]]:
    """The dialogue of an agent that recommends exactly the products that the reward names, in order."""
    ids = ",".join(str(reward.get("product_id", "")) for reward in problem.rewards)
    calls = [
        {"name": "recommend_product", "parameters": {"product_ids": ids}},
        {"name": "terminate", "parameters": {"status": "success"}},
    ]
    message = {"think": "These are the products.", "tool_call": calls}
    return [{"completion": {"message": message}, "extra_info": {"step": 1, "query": problem.query, "timestamp": 1}}]


class ProductTable:
    """Products of a catalogue file in memory, by id; the first of two with one id counts."""

    def __init__(self, products: Iterable[Mapping[str, Any]]) -> None:
        self.products: dict[str, dict[str, Any]] = {}
        for product in products:
            self.products.setdefault(product["product_id"], dict(product))

    def get_product_raw(self, product_id: str) -> dict[str, Any] | None:
        """Return the full document of one product, None where there is none."""
        return self.products.get(product_id)


class RememberingLookup:
    """A catalogue that is asked once for each product; forgets the oldest beyond `size` products."""

    def __init__(self, catalog: ProductLookup, size: int = 65_536) -> None:
        self.get_product_raw = lru_cache(size)(catalog.get_product_raw)
