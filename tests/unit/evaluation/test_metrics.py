"""What episodes say about a checkpoint, with hand-counted values."""

import msgspec
import pytest

from tracemill.environment.problem import Problem
from tracemill.evaluation.compare import compare_all, compare_checkpoints
from tracemill.evaluation.metrics import axis_mean, flat_metrics, pass_at, powers_of_two, summarise
from tracemill.evaluation.policies import Sampling
from tracemill.evaluation.published import published_rows
from tracemill.evaluation.records import EpisodeRecord


def record(problem_id, success, *, category="product", sample=0, temperature=0.0, key="k", suites=("eval",), **more):
    defaults = {
        "outcome": "terminated",
        "score": {"rule": 1.0 if success else 0.5, "format": 1, "length": 1},
        "failures": [] if success else [{"axis": "price", "slot": 0, "wanted": 1, "found": 2}],
        "recommended": ["p1"],
        "hallucinated": [],
        "tool_errors": {},
        "steps": 3,
        "calls": 3,
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "messages": [],
    }
    return EpisodeRecord(
        key=f"{problem_id}#{sample}",
        suites=list(suites),
        problem=Problem(problem_id, category, "q", {"product_id": "p1"}),
        problem_key=key,
        sample=sample,
        sampling=Sampling(temperature),
        success=success,
        **{**defaults, **more},
    )


EPISODES = [
    record("product-price-0001", True),
    record("product-price-0002", False),
    record("product-single-0003", True, hallucinated=["p8", "p9"]),
    record("shop-two-0001", False, category="shop", outcome="truncated", score=None, failures=[], steps=9),
    record("x-1", True, category="voucher", score={"rule": 1.0, "budget": 1}, tool_errors={"unknown_tool": 2}),
]


def test_the_whole_and_its_parts_are_counted_with_n_and_interval():
    summary = summarise(EPISODES)
    success = summary["success"]
    assert (success["hits"], success["n"], success["value"], success["step"]) == (3, 5, 0.6, 0.2)
    assert success["low"] < 0.6 < success["high"]
    assert summary["rule"] == pytest.approx((1 + 0.5 + 1 + 0 + 1) / 5)
    assert summary["hallucinated_ids"] == pytest.approx(0.4)
    assert summary["hallucinating"]["hits"] == 1
    assert summary["steps"] == pytest.approx(21 / 5)
    assert summary["outcomes"] == {"terminated": 4, "truncated": 1}
    assert summary["failed_axes"] == {"price": 1}
    assert summary["tool_errors"] == {"unknown_tool": 2}
    assert summary["unscored"] == 1
    assert {c: (r["hits"], r["n"]) for c, r in summary["conditions"].items()} == {"shop": (0, 1), "budget": (1, 1)}
    assert {c: b["success"]["n"] for c, b in summary["by_category"].items()} == {"product": 3, "shop": 1, "voucher": 1}
    assert list(summary["by_bucket"]) == ["product/price", "product/single", "shop/two", "voucher"]


def test_an_axis_is_averaged_over_the_products_that_ask_for_it():
    asking = {"product_id": "p1", "price": [{"less than": [0, 9]}]}
    plain = {"product_id": "p2", "attributes": []}
    two = [record(name, False, score={"price": score}) for name, score in (("a", 0.5), ("b", 0.0), ("c", 0.0))]
    records = [
        msgspec.structs.replace(r, problem=Problem(r.problem.problem_id, "shop", "q", rewards))
        for r, rewards in zip(two, ([asking, plain], [asking, plain], [plain]), strict=True)
    ]
    found = axis_mean(records, "price")
    assert (found["n"], found["value"]) == (2, 0.5)
    assert (found["low"], found["high"]) == (0.0, 1.0)
    assert axis_mean(records, "sku & attrs") == {"n": 0, "value": None, "low": None, "high": None}
    assert axis_mean(records, "product")["n"] == 3


def test_nothing_played_is_unknown_and_leaves_no_number():
    summary = summarise([])
    assert summary["success"]["value"] is None
    assert flat_metrics({"eval": summary}) == {"problems": 0, "broken_episodes": 0}


def test_pass_at_k_is_the_mean_of_the_unbiased_estimates():
    drawn = [record("a", s, sample=i, temperature=0.9) for i, s in enumerate([True, False, False, False])]
    drawn += [record("b", s, sample=i, temperature=0.9) for i, s in enumerate([True, True, True, False])]
    drawn += [record("c", False, sample=i, temperature=0.9) for i in range(4)]
    found = pass_at(drawn)
    assert (found["problems"], found["samples"], found["mixed_problems"]) == (3, 4, 2)
    assert [e["k"] for e in found["estimates"]] == [1, 2, 4]
    assert [e["value"] for e in found["estimates"]] == pytest.approx([1 / 3, (1 / 2 + 1 + 0) / 3, 2 / 3])


def test_pass_at_k_refuses_unequal_samples():
    with pytest.raises(ValueError, match="1 to 2 samples"):
        pass_at([record("a", True), record("b", True), record("b", True, sample=1)])


def test_k_goes_in_powers_of_two_and_ends_at_n():
    assert (powers_of_two(0), powers_of_two(1), powers_of_two(8), powers_of_two(6)) == (
        [],
        [1],
        [1, 2, 4, 8],
        [1, 2, 4, 6],
    )


def test_metrics_are_few_flat_numbers():
    flat = flat_metrics({"eval": summarise(EPISODES), "protected_clean": summarise(EPISODES[:1])})
    assert flat["success"] == 0.6
    assert flat["one_problem"] == 0.2
    assert flat["success_shop"] == 0.0
    assert flat["broken_episodes"] == 1
    assert flat["protected_clean_problems"] == 1
    assert all(isinstance(v, int | float) for v in flat.values())


def test_checkpoints_are_compared_on_the_problems_they_share():
    a = [record("a", True), record("b", False), record("c", False), record("gone", True)]
    b = [record("a", True), record("b", True), record("c", True), record("new", True), record("d", True, suites=("x",))]
    test = compare_checkpoints(a, b)
    assert (test["n"], test["only_b"], test["only_a"], test["both"]) == (3, 2, 0, 1)
    assert (test["only_in_a"], test["only_in_b"]) == (1, 1)
    assert test["p_value"] == 0.5


def test_an_id_given_to_another_problem_compares_with_nothing():
    assert compare_checkpoints([record("a", True, key="old")], [record("a", True, key="new")])["n"] == 0


def test_drawn_episodes_do_not_enter_the_paired_test():
    assert compare_checkpoints([record("a", True, temperature=0.9)], [record("a", True)])["n"] == 0


def test_every_pair_of_checkpoints_is_tested_in_order():
    tests = compare_all([("base", EPISODES), ("sft", EPISODES), ("kto", EPISODES)])
    assert [(t["a"], t["b"]) for t in tests] == [("base", "sft"), ("base", "kto"), ("sft", "kto")]
    assert [t["p_holm"] for t in tests] == [1.0, 1.0, 1.0]


def test_published_rows_say_that_they_are_published():
    rows = published_rows()
    assert [r["success_percent"] for r in rows] == [18.0, 43.6, 48.7, 42.7, 42.7, 64.0, 77.3]
    assert all(r["published"] and r["problems"] == 75 and r["interval"]["step"] == 1 / 75 for r in rows)
