"""The scorer against a straightforward reimplementation on generated, mostly hostile, dialogues, products and
rewards."""

import importlib.util
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracemill.environment.format_check import format_score, length_score
from tracemill.environment.grading import grade_dialogue
from tracemill.environment.problem import Problem
from tracemill.environment.recommendation import recommended_ids
from tracemill.environment.scorer import score_dialogue

pytest.importorskip("ujson")
ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("straightforward", ROOT / "benchmarks" / "straightforward_scorer.py")
straightforward = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(straightforward)

TAGS = [
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<response>",
    "</response>",
    "<",
    "/",
    "think>",
    "a",
    "\\",
    '"',
    "é",
    "\ud800",
]
texts = st.lists(st.sampled_from(TAGS), max_size=3).map("".join)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.just(10**30), st.just(0.5), st.just(float("nan")), texts
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2), max_leaves=4
)
ids = st.lists(st.sampled_from(["101", "102", "201", "999", " ", "101 102", ";"]), max_size=3).map(",".join)
good_call = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["find_product", "recommend_product", "terminate"]),
        "parameters": st.fixed_dictionaries({"product_ids": ids}),
    }
)
odd_call = st.dictionaries(
    st.sampled_from(["name", "parameters", "result"]), values | st.just("recommend_product"), max_size=3
)
calls = st.lists(good_call | odd_call, max_size=3) | st.lists(good_call, min_size=1, max_size=2) | values
messages = (
    st.fixed_dictionaries(
        {}, optional={"think": texts | st.just("t"), "tool_call": calls, "response": texts, "obs": st.just([{}])}
    )
    | values
)
extras = (
    st.fixed_dictionaries({}, optional={"timestamp": st.sampled_from([1, 0, -1, 1.5, True, "1", None, float("nan")])})
    | values
)
steps = (
    st.fixed_dictionaries(
        {"completion": st.fixed_dictionaries({}, optional={"message": messages})}, optional={"extra_info": extras}
    )
    | st.fixed_dictionaries({"completion": st.fixed_dictionaries({"message": messages}), "extra_info": extras})
    | values
)
clean = st.sampled_from(["t", "I compare", "a < b", "é/è", " "])
result = st.sampled_from(
    ["none", [{"title": "see <think> here"}], [{"title": "x</think>"}], [{"<response>": 1}], {"n": 10**30}, "\ud800"]
)
plain_call = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["find_product", "recommend_product"]),
        "parameters": st.fixed_dictionaries({"product_ids": ids}),
    },
    optional={"result": st.sampled_from([[], "none", [{"title": "a/b"}]]) | result},
)
plain_step = st.fixed_dictionaries(
    {
        "completion": st.fixed_dictionaries(
            {
                "message": st.fixed_dictionaries(
                    {"think": clean}, optional={"tool_call": st.lists(plain_call, max_size=2), "response": clean}
                )
            }
        ),
        "extra_info": st.fixed_dictionaries({"timestamp": st.sampled_from([1, 1750000000000, 0, "1"])}),
    }
)


@st.composite
def almost_right(draw):
    """A dialogue of plain steps in which, at most, one place of one step is replaced."""
    dialogue = draw(st.lists(plain_step, min_size=1, max_size=3))
    place = draw(
        st.sampled_from(
            ["", "", "think", "response", "tool_call", "message", "completion", "extra_info", "name", "parameters"]
        )
    )
    step = draw(st.sampled_from(dialogue))
    holders = {"completion": step, "extra_info": step, "message": step["completion"]}
    message = step["completion"]["message"]
    if place in ("name", "parameters"):
        if message.get("tool_call"):
            message["tool_call"][-1][place] = draw(values)
    elif place:
        holders.get(place, message)[place] = draw(texts | values)
    return dialogue


dialogues = st.lists(steps, max_size=3) | almost_right() | almost_right()


def outcome(function, *arguments):
    """The value as JSON text, or the kind of error."""
    try:
        return json.dumps(function(*arguments))
    except Exception as error:
        return type(error).__name__


@settings(max_examples=200, deadline=None)
@given(dialogues)
def test_format_length_and_ids_equal_the_straightforward_ones(dialogue):
    assert outcome(format_score, dialogue) == outcome(straightforward.format_of, dialogue)
    assert outcome(length_score, dialogue) == outcome(straightforward.length_of, dialogue)
    assert recommended_ids(dialogue) == straightforward.ids_of(dialogue)


hostile = st.sampled_from([None, "x", 1, ["a"], {}])
name = st.sampled_from(["colour", "size"])
value = st.sampled_from(["red", "m", "blue", 1])
pairs = st.dictionaries(name, value, max_size=2)
many = st.dictionaries(name, st.lists(value, max_size=2), max_size=2)
numbers = st.sampled_from([50, 100, 99.99, 0.1, 150])
ranges = st.dictionaries(
    st.sampled_from(["between", "less than", "greater than", "around"]),
    st.tuples(numbers, numbers).map(list),
    max_size=2,
)


@st.composite
def rewards(draw, gold):
    """A reward for the product `gold`; one field in ten has a hostile value."""
    fields = {
        "title": st.lists(clean, max_size=2),
        "price": st.lists(ranges, max_size=2),
        "service": st.lists(st.sampled_from(["COD", "official"]), max_size=2),
        "sku_options": st.lists(pairs, max_size=2),
        "attributes": st.lists(many, max_size=2),
    }
    reward = {"product_id": gold}
    for field, strategy in fields.items():
        if draw(st.booleans()):
            reward[field] = draw(hostile) if draw(st.integers(0, 19)) == 0 else draw(strategy)
    return reward


@st.composite
def catalogues(draw):
    """Products 101, 102, 201 and 202, some left out, some with a hostile or missing field."""
    table = {}
    for product_id in ("101", "102", "201", "202"):
        if draw(st.integers(0, 9)) == 0:
            continue
        product = {
            "product_id": product_id,
            "title": "t",
            "price": draw(numbers),
            "shop_id": draw(st.sampled_from(["s1", "s1", "s2"])),
        }
        product["service"] = draw(st.sampled_from([["COD"], ["COD", "official"], [], "COD"]))
        product["sku_options"] = draw(st.dictionaries(st.sampled_from("12"), pairs, max_size=2))
        product["attributes"] = draw(many)
        if draw(st.integers(0, 9)) == 0:
            field = draw(st.sampled_from(sorted(product)))
            if draw(st.booleans()):
                product[field] = draw(hostile)
            else:
                del product[field]
        table[product_id] = product
    return table


vouchers = st.none() | st.fixed_dictionaries(
    {
        "voucher_type": st.sampled_from(["platform", "shop", "brand"]),
        "threshold": st.sampled_from([100, 200, 200.01]),
        "discount_type": st.sampled_from(["fixed", "percentage", "bogo"]),
        "face_value": st.sampled_from([50, None]),
        "discount": st.sampled_from([0.5, 0.33, None]),
        "cap": st.sampled_from([30, None]),
        "budget": st.sampled_from([100, 160, 169.99, 1000]),
    }
)


class Products:
    def __init__(self, rows):
        self.rows = rows

    def get_product_raw(self, product_id):
        return self.rows.get(product_id)


@st.composite
def scored(draw):
    """Category, reward, voucher, recommended ids and catalogue of one problem."""
    category = draw(st.sampled_from(["product", "shop", "voucher"]))
    gold = draw(st.lists(st.sampled_from(["101", "201", "202", 101]), min_size=1, max_size=3, unique=True))
    wanted = [draw(rewards(product_id)) for product_id in gold]
    reward = wanted[0] if category == "product" else wanted[: draw(st.integers(0, 3))]
    near = st.lists(st.sampled_from(["101", "102", "201", "202", "999"]), min_size=1, max_size=3)
    named = draw(st.just(",".join(map(str, gold))) | near.map(",".join) | ids)
    return category, reward, draw(vouchers), named, draw(catalogues())


@settings(max_examples=300, deadline=None)
@given(scored())
def test_scores_equal_the_straightforward_ones(case):
    category, reward, voucher, named, table = case
    call = {"name": "recommend_product", "parameters": {"product_ids": named}}
    dialogue = [{"completion": {"message": {"think": "t", "tool_call": [call]}}, "extra_info": {"timestamp": 1}}]
    problem = Problem("p", category, "q", reward, voucher)
    assert outcome(score_dialogue, problem, dialogue, Products(table)) == outcome(
        straightforward.score, category, reward, voucher, dialogue, table
    )


@settings(max_examples=100, deadline=None)
@given(values | dialogues, scored())
def test_grading_never_raises(dialogue, case):
    category, reward, voucher, _, table = case
    grade = grade_dialogue(Problem("p", category, "q", reward, voucher), dialogue, Products(table))
    assert not (grade.error and grade.success)
    assert not (grade.failures and grade.success)


@settings(max_examples=150, deadline=None)
@given(scored())
def test_a_failure_without_an_error_names_a_failed_axis(case):
    category, reward, voucher, named, table = case
    call = {"name": "recommend_product", "parameters": {"product_ids": named}}
    dialogue = [{"completion": {"message": {"think": "t", "tool_call": [call]}}, "extra_info": {"timestamp": 1}}]
    grade = grade_dialogue(Problem("p", category, "q", reward, voucher), dialogue, Products(table))
    assert bool(grade.failures) is (not grade.success and grade.error is None)
