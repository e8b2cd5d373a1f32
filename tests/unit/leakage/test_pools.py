"""What later stages are told about a problem and about a trajectory."""

from leak_graph import make, write_table
from tracemill.environment.problem import write_problems
from tracemill.leakage.nodes import problem_key
from tracemill.leakage.pools import read_pools


def test_rows_are_refused_with_a_reason(build, tmp_path):
    problems = [make("a", "red mug", ["7"]), make("b", "blue sofa", ["8"])]
    write_problems([make("bench", "tea pot", ["9"])], tmp_path / "bench.jsonl")
    build.cluster([write_table(problems, tmp_path / "p.parquet")], protected=[tmp_path / "bench.jsonl"])
    key = problem_key("red mug", ["7"])
    rows = [(key, ["7"]), (key, ["9"]), (problem_key("tea pot", ["9"]), ["9"])]
    shares = build.split(rows, never_touch=0.0, eval=0.0)
    split = read_pools(build.pools)
    assert split.pool_of("Find a red mug", ["7"]) == "train"
    assert split.refuse("red mug", ["7"], ["7"]) is None
    assert split.refuse("red mug", ["7"], ["9"]) == "recommends_held_out"
    assert split.refuse("tea pot", ["9"]) == "pool_benchmark"
    assert split.refuse("never seen", []) == "unknown_problem"
    assert shares["rows"]["training"] == {
        "in": 3,
        "kept": 1,
        "dropped": {"pool_benchmark": 1, "recommends_held_out": 1},
    }
    assert shares["rows"]["by_pool"] == {"train": 2, "eval": 0, "never_touch": 0, "benchmark": 1}
