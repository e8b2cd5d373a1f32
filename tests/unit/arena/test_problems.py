from collections import Counter
from itertools import combinations

import pytest

from tracemill.arena.catalog import generate_catalog, lines_of
from tracemill.arena.params import CatalogParams, ProblemParams
from tracemill.arena.problems import bucket_of, generate_problems
from tracemill.arena.wording import folded
from tracemill.environment.dialogue import make_call, make_step
from tracemill.environment.scorer import is_success, score_dialogue
from tracemill.errors import InputError


def recommended(problem, catalog, ids):
    calls = [make_call("recommend_product", {"product_ids": ",".join(ids)}, "ok")]
    dialogue = [make_step("It fits.", calls, "", query=problem.query, step=1, timestamp=1)]
    return is_success(score_dialogue(problem, dialogue, catalog), problem.category)


def test_there_are_at_least_400_problems_sixty_twenty_twenty(problems):
    counts = Counter(problem.category for problem in problems)
    assert len(problems) >= 400
    assert counts["product"] == 0.6 * len(problems)
    assert counts["shop"] == counts["voucher"] == 0.2 * len(problems)


def test_recommending_the_gold_products_solves_every_problem(problems, catalog):
    assert [p.problem_id for p in problems if not recommended(p, catalog, p.gold_ids)] == []


def test_another_member_of_the_line_solves_no_product_problem_that_a_condition_decides(problems, products, catalog):
    lines = lines_of(products)
    for problem in problems:
        if problem.category != "product" or bucket_of(problem.problem_id) == "product/single":
            continue
        others = [p["product_id"] for p in lines[problem.reward["title"][0]] if p["product_id"] not in problem.gold_ids]
        assert others
        assert not any(recommended(problem, catalog, [other]) for other in others), problem.problem_id


def test_a_voucher_is_needed_to_stay_within_the_budget(problems, products):
    price = {product["product_id"]: product["price"] for product in products}
    for problem in problems:
        if problem.category == "voucher":
            total = sum(price[i] for i in problem.gold_ids)
            assert problem.voucher["threshold"] <= total
            assert problem.voucher["price_after_voucher"] <= problem.voucher["budget"] < total


def test_every_bucket_and_every_variant_occurs(problems):
    assert {bucket_of(p.problem_id) for p in problems} == {
        "product/single",
        "product/price",
        "product/service",
        "product/option",
        "product/combination",
        "shop/pair",
        "voucher/platform",
        "voucher/shop",
    }
    suffixes = Counter(p.problem_id.split("-")[3] for p in problems if p.problem_id.count("-") > 2)
    assert set(suffixes) == {"paraphrase", "reorder", "unicode", "numeric"}


def test_variants_keep_the_reward_and_change_the_words(problems):
    by_id = {p.problem_id: p for p in problems}
    for problem in problems:
        origin = by_id["-".join(problem.problem_id.split("-")[:3])]
        if origin is problem:
            continue
        assert problem.query != origin.query
        if problem.problem_id.endswith("-numeric"):
            assert problem.gold_ids != origin.gold_ids
            words = [[w for w in p.query.split() if not w.isdigit()] for p in (problem, origin)]
            assert words[0] == words[1]
        else:
            assert problem.gold_ids == origin.gold_ids
        if problem.problem_id.endswith("-unicode"):
            assert folded(problem.query) == folded(origin.query)


def test_some_gold_products_are_shared_between_categories(problems):
    by_gold = {}
    for problem in problems:
        for gold in problem.gold_ids:
            by_gold.setdefault(gold, set()).add(problem.category)
    shared = [kinds for kinds in by_gold.values() if len(kinds) > 1]
    assert len(shared) >= 3
    assert {pair for kinds in shared for pair in combinations(sorted(kinds), 2)} >= {("product", "voucher")}


def test_the_same_input_gives_the_same_problems_sorted_by_id(products):
    params = ProblemParams(problems=100)
    first = generate_problems(products, params)
    assert first == generate_problems(list(reversed(products)), params)
    assert [p.problem_id for p in first] == sorted({p.problem_id for p in first})
    assert first != generate_problems(products, ProblemParams(problems=100, seed=99))


def test_a_catalogue_that_is_too_small_is_refused_with_the_remedy():
    small = generate_catalog(CatalogParams(products=60, shops=10))
    with pytest.raises(InputError, match=r"raise arena\.catalog\.products"):
        generate_problems(small, ProblemParams(problems=400))


def test_a_catalogue_of_another_make_is_refused_too():
    foreign = [{"product_id": str(n), "shop_id": "1", "title": f"t{n}", "price": 1.0, "service": [], "sku_options": {},
                "attributes": {}} for n in range(50)]  # fmt: skip
    with pytest.raises(InputError, match="too few lines"):
        generate_problems(foreign, ProblemParams(problems=10))


def test_ids_of_other_problem_files_have_no_bucket():
    assert bucket_of("sb-product-001") == "other"
    assert bucket_of("product-price-0012-paraphrase") == "product/price"
