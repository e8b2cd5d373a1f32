import pytest

from tracemill.arena.plan import plan, price_argument, spoken_words
from tracemill.environment.problem import Problem


@pytest.mark.parametrize(
    ("condition", "argument"),
    [
        ([{"between": [120, 180]}], "120-180"),
        ([{"greater than": [120, None]}], "120-"),
        ([{"less than": [None, 99.5]}], "0-99.5"),
        (None, None),
        ([], None),
        ([{}], None),
        ([{"between": ["low", "high"]}], None),
        (5, None),
    ],
)
def test_a_price_condition_becomes_the_searchs_range(condition, argument):
    assert price_argument(condition) == argument


def test_the_words_of_each_product_are_read_from_its_own_stretch_of_the_query():
    first, second, option = ["slim", "arlo", "blue", "rug"], ["soft", "arlo", "red", "shelf"], ["size", "mini"]
    words = ["find", "a", *first, "and", "a", *second, *option]
    assert spoken_words(words, first, []) == first
    assert spoken_words(words, second, option) == [*second, *option]


def test_a_title_without_a_common_word_has_no_spoken_words():
    assert spoken_words(["something", "else"], ["hammer"], []) == []


def test_searches_copy_the_users_words_and_turn_conditions_into_filters():
    reward = {"product_id": "1", "title": ["slim arlo blue wood rug"], "price": [{"between": [10, 20]}],
              "service": ["COD", "official"]}  # fmt: skip
    query = "Show me a slim ARLO blue wood rug priced from 10 to 20 pesos and with cash on delivery."
    (want,) = plan(Problem("p", "product", query, reward))
    assert want.queries == ("slim arlo blue wood rug",)
    assert want.filters == {"price": "10-20", "service": "COD,official"}


def test_a_title_is_guessed_only_where_that_is_allowed_or_nothing_was_said():
    problem = Problem("p", "product", "a hammer", {"product_id": "1", "title": ["Acme Hammer 2000 Gold"]})
    assert plan(problem)[0].queries == ("hammer", "acme hammer 2000 gold")
    assert plan(problem, guess_titles=False)[0].queries == ("hammer",)
    silent = Problem("p", "product", "a mallet", {"product_id": "1", "title": ["Acme Hammer"]})
    assert plan(silent, guess_titles=False)[0].queries == ("acme hammer",)
