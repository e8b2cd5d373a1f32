"""Which problems are evaluated, and which are never shown."""

import polars as pl

from tracemill.environment.problem import Problem, write_problems
from tracemill.evaluation.suites import load_suites, sealed_problems, select_suites
from tracemill.leakage.nodes import problem_key
from tracemill.leakage.pools import Pools


def make(name, query):
    return Problem(name, "product", query, {"product_id": f"gold-{name}"})


TRAINED, HELD, SEALED, BENCH, UNKNOWN = (
    make("a", "red shoe"),
    make("b", "blue hat"),
    make("c", "green sock"),
    make("d", "old clock"),
    make("e", "new lamp"),
)
POOL = {"a": "train", "b": "eval", "c": "never_touch", "d": "benchmark"}
PROBLEMS = [TRAINED, HELD, SEALED, BENCH]
KEYS = {p.problem_id: problem_key(p.query, p.gold_ids) for p in PROBLEMS}
POOLS = Pools({KEYS[name]: pool for name, pool in POOL.items()}, [])


def names(suites, suite):
    return [p.problem.problem_id for p in suites.problems if suite in p.suites]


def test_the_eval_suite_is_the_eval_pool_and_nothing_of_the_sealed_one():
    suites = select_suites(PROBLEMS, [], POOLS, ["eval", "protected"])
    assert names(suites, "eval") == ["b"]
    assert [p.problem.problem_id for p in suites.problems] == ["b"]
    assert suites.whole == {"eval": 1}


def test_the_clean_subset_leaves_out_what_a_training_cluster_touches_or_nobody_knows():
    suites = select_suites(PROBLEMS, [TRAINED, BENCH, UNKNOWN], POOLS, ["eval", "protected"])
    assert names(suites, "protected_full") == ["a", "d", "e"]
    assert names(suites, "protected_clean") == ["d"]


def test_a_problem_in_two_suites_is_played_once():
    suites = select_suites(PROBLEMS, [HELD], POOLS, ["eval", "protected"])
    assert [p.suites for p in suites.problems] == [("eval", "protected_full", "protected_clean")]


def test_a_limit_keeps_its_problems_when_the_suite_grows():
    many = [make(f"n{i}", f"thing {i}") for i in range(30)]
    pools = Pools({problem_key(p.query, p.gold_ids): "eval" for p in many}, [])
    small = set(names(select_suites(many[:20], [], pools, ["eval"], 5), "eval"))
    large = select_suites(many, [], pools, ["eval"], 10)
    assert len(small) == 5
    assert len(small & set(names(large, "eval"))) >= 3
    assert large.whole == {"eval": 30}


def test_suites_and_sealed_problems_come_from_files(tmp_path):
    write_problems(PROBLEMS, tmp_path / "problems.jsonl")
    write_problems([BENCH], tmp_path / "protected.jsonl")
    pl.DataFrame(
        [(KEYS[n], n, "product", "c", pool, [f"gold-{n}"]) for n, pool in POOL.items()],
        schema=["problem_key", "problem_id", "category", "cluster", "pool", "gold_ids"],
        orient="row",
    ).write_parquet(tmp_path / "pools.parquet")
    suites = load_suites(
        tmp_path / "problems.jsonl", [tmp_path / "protected.jsonl"], tmp_path / "pools.parquet", ["eval", "protected"]
    )
    assert [(p.problem.problem_id, p.key) for p in suites.problems] == [("b", KEYS["b"]), ("d", KEYS["d"])]
    sealed = sealed_problems(tmp_path / "problems.jsonl", tmp_path / "pools.parquet")
    assert [(p.problem.problem_id, p.suites) for p in sealed] == [("c", ("never_touch",))]
    assert len(suites.digest("eval")) == 64
