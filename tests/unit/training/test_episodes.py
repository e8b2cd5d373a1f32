from types import SimpleNamespace

from tracemill.environment.problem import Problem
from tracemill.leakage.nodes import problem_key
from tracemill.leakage.pools import EVAL, TRAIN, Pools
from tracemill.training.episodes import train_problems, yield_of


def problem(name):
    return Problem(name, "product", f"a mug called {name}", {"product_id": name})


def record(name, category, success, outcome="terminated"):
    return SimpleNamespace(
        problem=SimpleNamespace(category=category, problem_id=name), success=success, outcome=outcome
    )


def test_only_the_train_pool_is_played_and_a_larger_choice_keeps_a_smaller_one():
    problems = [problem(f"p{i}") for i in range(10)]
    pools = Pools({problem_key(p.query, p.gold_ids): EVAL if p.problem_id == "p3" else TRAIN for p in problems}, [])
    everything = [p.problem_id for p in train_problems(problems, pools)]
    assert everything == ["p0", "p1", "p2", "p4", "p5", "p6", "p7", "p8", "p9"]
    few = [p.problem_id for p in train_problems(problems, pools, 3)]
    more = [p.problem_id for p in train_problems(problems, pools, 5)]
    assert len(few) == 3
    assert set(few) < set(more)


def test_the_yield_counts_solved_problems_and_mixed_groups_by_category():
    records = [
        record("a", "shop", True),
        record("a", "shop", False, "step_limit"),
        record("b", "shop", False, "no_call"),
        record("c", "voucher", True),
    ]
    assert yield_of(records) == {
        "in": 4,
        "kept": 2,
        "dropped": {"no_call": 1, "step_limit": 1},
        "by_category": {
            "all": {"episodes": 4, "successes": 2, "problems": 3, "solved": 2, "mixed": 1},
            "shop": {"episodes": 3, "successes": 1, "problems": 2, "solved": 1, "mixed": 1},
            "voucher": {"episodes": 1, "successes": 1, "problems": 1, "solved": 1, "mixed": 0},
        },
    }
