import json

import pytest
from typer.testing import CliRunner

from tracemill.cli import app
from tracemill.environment.explain import explain_failure, explain_format
from tracemill.environment.grading import ProductTable, RememberingLookup, gold_dialogue, grade_dialogue
from tracemill.environment.problem import Problem, read_problems
from tracemill.environment.problem_book import ProblemBook
from tracemill.environment.recommendation import recommended_ids, split_ids
from tracemill.environment.scorer import final_score, is_success, reasoning_coefficient
from tracemill.errors import GateError, InputError


def product(product_id, **fields):
    base = {"product_id": product_id, "shop_id": "s1", "title": f"Item {product_id}", "price": 100.0, "service": []}
    return {**base, "sku_options": {}, "attributes": {}, **fields}


LAMP = product("11", service=["COD"], attributes={"material": ["brass"]}, sku_options={"1": {"colour": "red"}})
CHEAP = product("12", price=20.0, sku_options={"1": {"colour": "blue"}, "2": {"colour": "red", "size": "m"}})
ELSEWHERE = product("13", shop_id="s2")
TABLE = ProductTable([LAMP, CHEAP, ELSEWHERE])
WANTED = {
    "product_id": "11",
    "title": ["Lamp"],
    "price": [{"between": [50, 150]}],
    "service": ["COD"],
    "sku_options": [{"colour": "red", "size": "m"}],
    "attributes": [{"material": ["brass"]}],
}


def dialogue(ids):
    call = {"name": "recommend_product", "parameters": {"product_ids": ids}}
    return [{"completion": {"message": {"think": "t", "tool_call": [call]}}, "extra_info": {"timestamp": 1}}]


@pytest.mark.parametrize(
    ("given", "ids"),
    [
        ("1, 2,1,", ["1", "2"]),
        ("1 2", ["1 2"]),
        (["1", "2"], []),
        (12345, []),
        (" ", []),
        (None, []),
        ("\u00a01\t\n,\u20032", ["1", "2"]),
        ("1;2", ["1;2"]),
        ("١", ["١"]),
    ],
)
def test_ids_are_read_as_production_reads_them(given, ids):
    assert split_ids(given) == ids
    assert recommended_ids(dialogue(given)) == ids


def test_the_last_recommendation_wins_and_text_recommends_nothing():
    assert recommended_ids(dialogue("1") + dialogue("2,3")) == ["2", "3"]
    assert recommended_ids([{"completion": {"message": {"response": "take 11"}}}]) == []
    assert recommended_ids([{"completion": {"message": {"tool_call": [{"name": "recommend_product"}]}}}]) == []
    assert recommended_ids(None) == []


def test_each_failed_field_says_what_was_wanted_and_found():
    problem = Problem("p", "product", "q", WANTED)
    assert explain_failure(problem, dialogue("12"), TABLE) == [
        {"axis": "price", "slot": 0, "product_id": "12", "wanted": {"between": [50, 150]}, "found": 20.0},
        {"axis": "service", "slot": 0, "product_id": "12", "wanted": ["COD"], "found": []},
        {"axis": "sku & attrs", "slot": 0, "product_id": "12", "wanted": [["material", "brass"]], "found": []},
    ]


def test_a_gold_product_is_a_success_whatever_its_fields_say():
    grade = grade_dialogue(Problem("p", "product", "q", WANTED), dialogue("11"), TABLE)
    assert grade.success
    assert grade.failures == []
    assert grade.score["sku & attrs"] == 2 / 3


def test_nothing_named_an_unknown_id_and_an_empty_slot_are_told_apart():
    shop = Problem("p", "shop", "q", [{"product_id": "11"}, {"product_id": "12"}])
    assert explain_failure(shop, [], TABLE) == [{"axis": "recommendation", "wanted": ["11", "12"], "found": []}]
    assert explain_failure(shop, dialogue("99"), TABLE) == [
        {
            "axis": "product",
            "slot": 0,
            "product_id": "99",
            "wanted": "11",
            "found": "an id that the catalogue does not know",
        },
        {"axis": "product", "slot": 1, "wanted": "12", "found": "no id in this slot"},
        {
            "axis": "shop",
            "wanted": "2 products from one shop",
            "found": {"products that meet anything": 0, "shops": []},
        },
    ]


def test_two_shops_are_named():
    shop = Problem("p", "shop", "q", [{"product_id": "11"}, {"product_id": "13"}])
    assert explain_failure(shop, dialogue("11,13"), TABLE) == [
        {
            "axis": "shop",
            "wanted": "2 products from one shop",
            "found": {"products that meet anything": 2, "shops": ["s1", "s2"]},
        }
    ]


@pytest.mark.parametrize(
    ("terms", "state"),
    [
        ({"voucher_type": "platform", "threshold": 300}, "not valid: the total is below the threshold 300"),
        ({"voucher_type": "shop", "threshold": 100}, "not valid: products of 2 shops"),
        ({"voucher_type": "platform", "threshold": 100}, "valid: 150.0 to pay"),
        ({"voucher_type": "brand", "threshold": 100}, "of unknown type 'brand': no discount"),
    ],
)
def test_a_missed_budget_says_what_became_of_the_voucher(terms, state):
    voucher = {"discount_type": "fixed", "face_value": 50, "budget": 120, **terms}
    problem = Problem("p", "voucher", "q", [{"product_id": "11"}, {"product_id": "13"}], voucher)
    grade = grade_dialogue(problem, dialogue("11,13"), TABLE)
    assert not grade.success
    assert grade.failures == [
        {
            "axis": "budget",
            "wanted": {
                key: voucher[key] for key in ("budget", "voucher_type", "threshold", "discount_type", "face_value")
            },
            "found": {"products that meet anything": 2, "total": 200.0, "shops": 2, "voucher": state},
        }
    ]


def test_what_raises_in_the_arena_is_a_grade_with_the_error():
    voucher = Problem("p", "voucher", "q", [{"product_id": "11"}], None)
    grade = grade_dialogue(voucher, dialogue("11"), TABLE)
    assert (grade.success, grade.score, grade.error) == (
        False,
        None,
        "TypeError: 'NoneType' object is not subscriptable",
    )
    assert grade_dialogue(voucher, None, TABLE).error == "TypeError: 'NoneType' object is not iterable"


def test_an_unreachable_catalogue_is_no_grade():
    class Down:
        def get_product_raw(self, product_id):
            raise InputError("no answer")

    with pytest.raises(InputError):
        grade_dialogue(Problem("p", "product", "q", WANTED), dialogue("11"), Down())


def test_a_problem_is_found_by_id_and_query():
    asked = ["a  lamp", "a mug", "a mug"]
    one, two, three = (Problem(f"p{n}", "product", q, {"product_id": str(n)}) for n, q in enumerate(asked))
    book = ProblemBook([one, two, three])
    assert book.find("p0", "a lamp") is one
    assert book.find("p0", None) is one
    assert book.find("p0", "another text") is None
    assert book.find("elsewhere", "a lamp") is one
    assert book.find("elsewhere", "a mug") is None
    assert book.find("p2", "a mug") is three
    assert book.find(None, None) is None


def test_a_problem_that_is_listed_twice_is_found_by_its_query():
    twice = [Problem(name, "voucher", "a mug", [WANTED], {"budget": 5}) for name in ("suite-1", "bench-7")]
    assert ProblemBook(twice).find("query-0", "a mug") is twice[0]
    other = Problem("x", "voucher", "a mug", [WANTED], {"budget": 6})
    assert ProblemBook([*twice, other]).find("query-0", "a mug") is None


def test_reasoning_coefficients_of_the_arena():
    qualities = [0.0, 0.1, 0.3, 0.5, 0.7, 0.79, 0.8, 0.9, 1.0, -1.0, 2.0]
    expected = [0.3, 0.3875, 0.5625, 0.7375, 0.9125, 0.9912, 1.0, 1.0, 1.0, 0.3, 1.0]
    assert [reasoning_coefficient(quality) for quality in qualities] == expected
    assert final_score(0.5, 0.5) == 0.3688


def test_success_by_category():
    assert is_success({"rule": 1.0}, "Product")
    assert not is_success({"rule": 0.99}, "product")
    assert not is_success({"rule": 1.0, "shop": 0}, "Shop")
    assert is_success({"rule": 1.0, "shop": 1}, "shop")
    assert not is_success({"rule": 1.0, "shop": 1}, "voucher")
    assert is_success({"rule": 1.0, "budget": 1}, "Voucher")
    assert not is_success(None, "product")


@pytest.fixture
def suite(tmp_path):
    problems = [
        {"problem_id": "p0", "category": "Product", "query": "lamp", "reward": WANTED},
        {"problem_id": "p1", "query": "both", "reward": [{"product_id": "11"}, {"product_id": "13"}]},
    ]
    (tmp_path / "problems.jsonl").write_text("\n".join(map(json.dumps, problems)))
    (tmp_path / "catalog.jsonl").write_text("\n".join(map(json.dumps, [LAMP, CHEAP, ELSEWHERE])))
    lines = [
        {"problem_id": "p0", "status": "SUCCESS", "dialogue": dialogue("11")},
        {"problem_id": "p0", "status": "SUCCESS", "dialogue": dialogue("12")},
        {"problem_id": "p9", "status": "SUCCESS", "dialogue": dialogue("12")},
        {"problem_id": "p0", "status": "TIMED_OUT", "dialogue": None},
        {"problem_id": "p0", "status": "SUCCESS", "dialogue": [{"completion": {"message": {"think": 5}}}]},
    ]
    bare = dialogue("11")
    bare[0]["extra_info"]["query"] = "lamp"
    rows = [*map(json.dumps, lines), json.dumps(bare), "{"]
    (tmp_path / "traces.jsonl").write_text("\n".join(rows))
    return tmp_path


def options(folder, problems="problems.jsonl"):
    return ["--problems", str(folder / problems), "--catalog", str(folder / "catalog.jsonl")]


def test_score_writes_one_object_a_trajectory(suite):
    done = CliRunner().invoke(app, ["score", *options(suite), str(suite / "traces.jsonl"), "--json"])
    assert done.exit_code == 0, done.output
    entries = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(e["line"], e["problem_id"], e["success"]) for e in entries] == [
        (1, "p0", True),
        (2, "p0", False),
        (3, "p9", False),
        (4, "p0", False),
        (5, "p0", False),
        (6, "p0", True),
        (7, "", False),
    ]
    assert entries[0]["rule"] == 1.0
    assert [failure["axis"] for failure in entries[1]["failed"]] == ["price", "service", "sku & attrs"]
    assert entries[2]["error"] == "no problem with this id and query"
    assert entries[3]["error"] == "no dialogue (status TIMED_OUT)"
    assert entries[4]["error"].startswith("ValidationError: 1 validation error for Message")
    assert entries[6]["error"].startswith("no JSON")


def test_score_shows_text_that_no_terminal_obeys(suite):
    evil = {"problem_id": "p\u001b[2J", "status": "SUCCESS", "dialogue": dialogue("\u001b[2J")}
    name = suite / "evil\u001b[2J\n.jsonl"
    name.write_text(json.dumps(evil))
    done = CliRunner().invoke(app, ["score", *options(suite), str(name), str(suite / "traces.jsonl")])
    assert "\u001b" not in done.stdout
    assert done.stdout.startswith("evil\\u001b[2J\\n.jsonl:1  p")
    assert (
        'traces.jsonl:2  p0  failure  rule 0.4  gt 0  format 1  length 0\n    price[0]: wanted {"between": [50, 150]}'
        in done.stdout
    )
    assert done.stdout.endswith("2 of 8 successful\n")


def test_check_problems_names_what_cannot_be_solved(suite):
    done = CliRunner().invoke(app, ["check-problems", *options(suite)])
    assert "p1  failure" in done.stdout
    assert "shop: wanted" in done.stdout
    assert "1 of 2 problems are solvable" in done.stdout
    assert isinstance(done.exception, GateError)


def test_a_missing_file_is_one_line(suite):
    done = CliRunner().invoke(app, ["check-problems", *options(suite, "none.jsonl")])
    assert isinstance(done.exception, InputError)


@pytest.mark.parametrize(("name", "count"), [("problems.jsonl", 750), ("oro_suite_v3.jsonl", 30)])
def test_every_published_problem_is_solvable(shared, name, count):
    from tracemill.environment.products import read_products

    table = ProductTable(read_products(shared / "data" / "shoppingbench" / "catalog.jsonl.gz"))
    problems = list(read_problems(shared / "data" / "shoppingbench" / name))
    assert len(problems) == count
    assert [p.problem_id for p in problems if not grade_dialogue(p, gold_dialogue(p), table).success] == []


def test_each_step_without_the_full_format_says_why():
    act = {"tool_call": [{"name": "terminate", "parameters": {}}]}
    messages = [
        {"think": "t", **act},
        act,
        {"think": "t"},
        {"think": "a <response> b", **act},
        {"think": "t", "tool_call": [{"name": "x", "parameters": {}, "result": "see <think> here"}]},
        {"think": "t", "tool_call": [{"name": "x", "parameters": "{}"}]},
        {"think": 5},
        None,
    ]
    steps = [{"completion": {"message": message}, "extra_info": {"timestamp": 1}} for message in messages]
    steps.append({"completion": {"message": {"think": "t", **act}}})
    assert [(fault["step"], fault["found"], fault["why"]) for fault in explain_format(steps)] == [
        (2, 0.0, "no thought"),
        (3, 0.0, "neither a tool call nor a response"),
        (4, 0.0, "the role tag <response> stands inside the thought"),
        (5, 0.0, "the role tag <think> stands inside a tool call or its result"),
        (6, 0.0, "a tool call without parameters that are an object"),
        (7, 0.0, "cannot be read (ValidationError)"),
        (8, 0.0, "cannot be read (TypeError)"),
        (9, 0.5, "no timestamp that is a positive number"),
    ]
    assert explain_format(None) == []


def test_a_remembering_lookup_asks_once():
    asked = []

    class Slow:
        def get_product_raw(self, product_id):
            asked.append(product_id)

    lookup = RememberingLookup(Slow())
    assert [lookup.get_product_raw(key) for key in ("1", "1", "2")] == [None, None, None]
    assert asked == ["1", "2"]
