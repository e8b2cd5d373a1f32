"""Which problems a checkpoint is evaluated on.

`eval` is the eval pool. `protected_full` are the protected benchmarks whole, marked contaminated; `protected_clean`
those of their problems that no training cluster touches: the leak graph knows them and their cluster is not trained
on. The pool `never_touch` is no suite: `sealed_problems` is called by `tracemill open-sealed` alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from tracemill.environment.problem import Problem, digest, read_problems
from tracemill.evaluation.records import EVAL_SUITE
from tracemill.leakage.nodes import problem_key
from tracemill.leakage.pools import EVAL, NEVER_TOUCH, TRAIN, Pools, read_pools

PROTECTED_CLEAN, PROTECTED_FULL, SEALED = "protected_clean", "protected_full", "never_touch"


class SuiteProblem(msgspec.Struct, frozen=True):
    """A problem and the suites it belongs to."""

    problem: Problem
    key: str
    suites: tuple[str, ...]


class Suites(msgspec.Struct, frozen=True):
    """The problems of a run, each once, and how many each suite holds and would hold without a limit."""

    problems: tuple[SuiteProblem, ...]
    whole: dict[str, int]

    def digest(self, suite: str) -> str:
        """SHA-256 over the problems of one suite: equal digests mean equal problems."""
        return digest([msgspec.to_builtins(p.problem) for p in self.problems if suite in p.suites])


def select_suites(
    problems: Iterable[Problem], protected: Iterable[Problem], pools: Pools, names: Sequence[str], limit: int = 0
) -> Suites:
    """Return the problems of the suites `names` (`eval`, `protected`), sorted by id; `limit` bounds each suite (0:
    none).
    """
    chosen: dict[str, SuiteProblem] = {}
    candidates = [(p, (EVAL_SUITE,)) for p in _unique(problems) if pools.pool_of(p.query, p.gold_ids) == EVAL]
    guarded = [(p, _protected_suites(p, pools)) for p in _unique(protected)]
    wanted = (candidates if "eval" in names else []) + (guarded if "protected" in names else [])
    whole = {s: sum(s in suites for _, suites in wanted) for s in (EVAL_SUITE, PROTECTED_CLEAN, PROTECTED_FULL)}
    kept = {s: _first_by_hash([p for p, suites in wanted if s in suites], limit) for s in whole}
    for problem, suites in wanted:
        inside = tuple(s for s in suites if problem.problem_id in kept[s])
        before = chosen.get(problem.problem_id)
        if inside:
            both = tuple(dict.fromkeys((*(before.suites if before else ()), *inside)))
            chosen[problem.problem_id] = SuiteProblem(problem, problem_key(problem.query, problem.gold_ids), both)
    ordered = tuple(chosen[name] for name in sorted(chosen))
    return Suites(ordered, {s: n for s, n in whole.items() if n})


def _unique(problems: Iterable[Problem]) -> list[Problem]:
    return list({p.problem_id: p for p in problems}.values())


def _protected_suites(problem: Problem, pools: Pools) -> tuple[str, ...]:
    pool = pools.pool_of(problem.query, problem.gold_ids)
    return (PROTECTED_FULL,) if pool in (None, TRAIN) else (PROTECTED_FULL, PROTECTED_CLEAN)


def _first_by_hash(problems: Sequence[Problem], limit: int) -> set[str]:
    """Ids of the `limit` problems with the smallest hash: a larger suite keeps the problems of a smaller one."""
    names = sorted((p.problem_id for p in problems), key=hash_order)
    return set(names[:limit] if limit else names)


def hash_order(name: str) -> bytes:
    """A fixed shuffle of names."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()


def load_suites(problems: Path, protected: Sequence[Path], pools: Path, names: Sequence[str], limit: int = 0) -> Suites:
    """Read problems, protected files and pools, and select."""
    guarded = [problem for path in protected for problem in read_problems(path)]
    return select_suites(read_problems(problems), guarded, read_pools(pools), names, limit)


def sealed_problems(problems: Path, pools: Path) -> list[SuiteProblem]:
    """The problems of the pool `never_touch`, sorted by id."""
    split = read_pools(pools)
    inside = [p for p in _unique(read_problems(problems)) if split.pool_of(p.query, p.gold_ids) == NEVER_TOUCH]
    ordered = sorted(inside, key=lambda p: p.problem_id)
    return [SuiteProblem(p, problem_key(p.query, p.gold_ids), (SEALED,)) for p in ordered]
