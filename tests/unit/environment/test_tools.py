import json

import pytest

from tracemill.environment.tools import TOOL_NAMES, TOOLS, MalformedArguments, call_tool, parse_arguments


class Recorder:
    def __init__(self):
        self.calls = []

    def find_product(self, **arguments):
        self.calls.append(arguments)
        return [{"product_id": "11"}]

    def view_product_information(self, product_ids):
        self.calls.append(product_ids)
        return []


def test_definitions_are_nested_and_their_keys_keep_their_order():
    assert TOOL_NAMES == ("find_product", "view_product_information", "recommend_product", "terminate")
    for tool in TOOLS:
        assert list(tool) == ["type", "function"]
        assert list(tool["function"]) == ["name", "description", "parameters"]
        assert list(tool["function"]["parameters"]) == ["type", "properties", "required"]
    assert json.dumps(TOOLS[2]) == (
        '{"type": "function", "function": {"name": "recommend_product", "description": "Recommend the products, in '
        'the order asked for; only once.", "parameters": {"type": "object", "properties": '
        '{"product_ids": {"type": "string", "description": "Comma separated ids."}}, "required": ["product_ids"]}}}'
    )


def test_a_search_travels_as_text():
    catalog = Recorder()
    assert call_tool(catalog, "find_product", {"q": "mug", "page": 2, "shop_id": 7, "sort": None}) == [
        {"product_id": "11"}
    ]
    call_tool(catalog, "find_product", {"q": "mug"})
    assert catalog.calls == [{"q": "mug", "page": "2", "shop_id": "7"}, {"q": "mug", "page": "1"}]


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        (
            "find_products",
            {"q": "x"},
            "no tool find_products; there are find_product, view_product_information, recommend_product, terminate",
        ),
        ("find_product", {}, "find_product: q is missing"),
        ("find_product", {"q": None}, "find_product: q is missing"),
        (
            "find_product",
            {"query": "x"},
            "find_product has no argument query; it takes q, page, shop_id, price, sort, service",
        ),
        ("find_product", {"q": ["x"]}, "find_product: q must be text"),
        ("view_product_information", {"product_ids": ["1"]}, "view_product_information: product_ids must be text"),
        ("recommend_product", {"product_ids": ["1", "2"]}, "recommend_product: product_ids must be text"),
        ("recommend_product", {"product_ids": 1}, "recommend_product: product_ids must be text"),
        (
            "recommend_product",
            {"product_id": "1"},
            "recommend_product has no argument product_id; it takes product_ids",
        ),
    ],
)
def test_a_call_that_cannot_be_made_is_an_observation(name, arguments, error):
    assert call_tool(Recorder(), name, arguments) == {"error": error}


def test_recommend_and_terminate_answer_as_the_arena_does():
    assert (
        call_tool(Recorder(), "recommend_product", {"product_ids": "1,2"})
        == "Having recommended the products to the user: 1,2."
    )
    assert call_tool(Recorder(), "terminate", {}) == "The interaction has been completed with status: success"
    assert (
        call_tool(Recorder(), "terminate", {"status": "failure"})
        == "The interaction has been completed with status: failure"
    )


@pytest.mark.parametrize("given", [{"q": "a"}, '{"q": "a"}', '"{\\"q\\": \\"a\\"}"', b'{"q":"a"}'])
def test_arguments_in_every_form_are_one_object(given):
    assert parse_arguments(given) == {"q": "a"}


@pytest.mark.parametrize("given", ["", "  ", None, "null"])
def test_nothing_stands_for_no_arguments(given):
    assert parse_arguments(given) == {}


@pytest.mark.parametrize("given", ['{"q": "a"', "[1]", "1", '"text"', 5, ["a"], "[" * 100_000])
def test_other_arguments_are_malformed(given):
    with pytest.raises(MalformedArguments):
        parse_arguments(given)
