"""The 84 recorded answers of the production scorer, each one equal to the last digit and in type."""

import json
from pathlib import Path

import pytest

from tracemill.environment.problem import Problem
from tracemill.environment.scorer import is_success, score_dialogue

CASES = [
    json.loads(line) for line in (Path(__file__).parents[2] / "data" / "scorer_cases.jsonl").open(encoding="utf-8")
]


class Products:
    def __init__(self, products):
        self.products = {product["product_id"]: product for product in products}

    def get_product_raw(self, product_id):
        return self.products.get(product_id)


def problem_of(case):
    # The recorded rewards are keyed by the query "q": another query has no reward.
    reward = case["reward"] if case["query"] == "q" else None
    return Problem(case["name"], case["task"], case["query"], reward, case["voucher"])


def test_there_are_84_cases():
    assert len(CASES) == 84


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_score_equals_production(case):
    def score():
        return score_dialogue(problem_of(case), case["trajectory"], Products(case["catalogue"]))

    if case["raises"] is None:
        found = score()
        assert found == case["expected"]
        assert json.dumps(found, sort_keys=True) == json.dumps(case["expected"], sort_keys=True)  # 0 and 0.0 differ
        assert found is None or list(found) == list(case["expected"])
        assert is_success(found, case["task"]) is case["expected_success"]
        return
    kind, _, message = case["raises"].partition(": ")
    with pytest.raises(Exception) as caught:  # noqa: PT011 - production's own kinds, compared by name below
        score()
    assert type(caught.value).__name__ == kind
    assert str(caught.value) == message
    if kind == "ValidationError":
        assert isinstance(caught.value, ValueError)
