"""Which problems are one node."""

import pytest

from leak_graph import make, write_table
from tracemill.errors import InputError
from tracemill.leakage.nodes import build_nodes, problem_key, read_problem_table, spec_key


def test_rewordings_share_the_key_and_other_golds_do_not():
    assert problem_key("Find a red mug", ["7", "8"]) == problem_key("show me RED mugs", ["8", "7", "7"])
    assert problem_key("Find a red mug", ["7"]) != problem_key("Find a red mug", ["8"])
    assert problem_key("Find a red mug", ["7"]) != problem_key("Find a blue mug", ["7"])


def test_a_reward_specification_is_its_gold_ids_or_else_its_words():
    assert spec_key("red mug", ["7"]) == spec_key("blue cup", ["7"])
    assert spec_key("red mug", []) == spec_key("find red mugs", [])
    assert spec_key("red mug", []) != spec_key("red mug", ["7"])


def test_queries_without_content_are_told_apart_by_their_text():
    assert problem_key("show me some", []) != problem_key("what do you have", [])
    assert problem_key("Show  me some", []) == problem_key("show me some", [])


def test_a_node_collects_ids_queries_and_protection():
    corpus = [make("b", "show me RED mugs", ["7"]), make("a", "a red mug", ["7"])]
    (node,) = build_nodes(corpus, [make("bench", "red mug", ["7"])])
    assert node.problem_ids == ("a", "b", "bench")
    assert node.queries == ("a red mug", "red mug", "show me RED mugs")
    assert node.tokens == ("mug", "red")
    assert node.gold_ids == ("7",)
    assert node.protected


def test_problem_tables_keep_rewards_and_pass_over_rows_that_say_nothing(tmp_path):
    told = [make("a", "red mug", ["7"]), make("v", "two", ["7", "8"], "voucher")]
    table = write_table([*told, make("s", None, ["9"]), make("silent", None)], tmp_path / "p.parquet")
    found = read_problem_table(table)
    assert [(p.problem_id, p.category, p.gold_ids) for p in found] == [
        ("a", "product", ("7",)),
        ("v", "voucher", ("7", "8")),
        ("s", "product", ("9",)),
    ]


def test_a_reward_that_is_no_json_is_named(tmp_path):
    import polars as pl

    pl.DataFrame(
        {"problem_id": "a", "category": "product", "query": "q", "reward": "{", "voucher": None}
    ).write_parquet(tmp_path / "p.parquet")
    with pytest.raises(InputError, match="row 0"):
        read_problem_table(tmp_path / "p.parquet")
