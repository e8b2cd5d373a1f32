"""Title similarity with a real sentence-transformers folder: one-hot words, so that every cosine is known."""

import pytest

from tracemill.environment.explain import explain_failure
from tracemill.environment.grading import ProductTable
from tracemill.environment.params import ScorerParams
from tracemill.environment.problem import Problem
from tracemill.environment.scorer import score_dialogue
from tracemill.environment.titles import load_titles
from tracemill.errors import InputError

WORDS = ["red", "lamp", "big", "small", "mug"]


@pytest.fixture(scope="module")
def titles(tmp_path_factory):
    import numpy as np
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate([*WORDS, "?"])}, unk_token="?"))
    tokenizer.pre_tokenizer = Whitespace()
    weights = np.eye(len(WORDS) + 1, dtype=np.float32)
    folder = tmp_path_factory.mktemp("titles")
    SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=weights)], device="cpu").save(str(folder))
    return load_titles(ScorerParams(title_model=str(folder)))


def product(product_id, title, shop="s1"):
    return {"product_id": product_id, "shop_id": shop, "title": title, "price": 10.0, "service": []}


TABLE = ProductTable(
    [product("1", "red lamp"), product("2", "red lamp big"), product("3", "red lamp small"), product("4", "mug")]
)
WANTED = {"product_id": "1", "title": ["red lamp"]}


def dialogue(ids):
    call = {"name": "recommend_product", "parameters": {"product_ids": ids}}
    return [{"completion": {"message": {"think": "t", "tool_call": [call]}}, "extra_info": {"timestamp": 1}}]


@pytest.mark.torch
@pytest.mark.parametrize(
    ("wanted", "named", "title"),
    [
        (["red lamp"], "2", 1.0),  # cosine 2 / sqrt 6 = 0.82
        (["red lamp big"], "3", 0.0),  # cosine 2 / 3
        (["red lamp", "mug"], "2", 0.5),
        (["red lamp"], "1", 1.0),
    ],
)
def test_a_title_counts_from_a_cosine_of_seven_tenths(titles, wanted, named, title):
    problem = Problem("p", "product", "q", {"product_id": "1", "title": wanted})
    score = score_dialogue(problem, dialogue(named), TABLE, titles)
    assert score["title"] == title
    assert score["rule"] == title


@pytest.mark.torch
def test_shop_slots_are_embedded_together_and_scored_alike(titles):
    problem = Problem("p", "shop", "q", [WANTED, {"product_id": "4", "title": ["mug"]}])
    assert score_dialogue(problem, dialogue("2,4"), TABLE, titles) == {
        "length": 0,
        "format": 1.0,
        "product": 1.0,
        "gt": 0.5,
        "rule": 1.0,
        "title": 1.0,
        "price": 0.0,
        "service": 0.0,
        "sku & attrs": 0.0,
        "shop": 1,
    }


@pytest.mark.torch
def test_a_suite_may_bring_its_own_embeddings(titles):
    given = {"red lamp": titles.encode(["mug"])[0].tolist()}
    problem = Problem("p", "product", "q", {**WANTED, "_title_embeddings": given})
    assert score_dialogue(problem, dialogue("4"), TABLE, titles)["title"] == 1.0
    assert score_dialogue(problem, dialogue("2"), TABLE, titles)["title"] == 0.0


@pytest.mark.torch
def test_a_missed_title_is_explained_with_its_similarity(titles):
    assert explain_failure(Problem("p", "product", "q", WANTED), dialogue("4"), TABLE, titles) == [
        {
            "axis": "title",
            "slot": 0,
            "product_id": "4",
            "wanted": "red lamp",
            "found": {"title": "mug", "similarity": 0.0},
        }
    ]


def test_without_a_model_titles_of_other_products_are_left_out():
    problem = Problem("p", "product", "q", {**WANTED, "service": []})
    assert score_dialogue(problem, dialogue("2"), TABLE)["rule"] == 0.0
    assert score_dialogue(problem, dialogue("1"), TABLE)["title"] == 1.0
    assert load_titles(ScorerParams()) is None


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no folder"):
        load_titles(ScorerParams(title_model=str(tmp_path / "none")))
