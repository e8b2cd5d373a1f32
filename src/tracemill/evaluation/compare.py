"""Two checkpoints on the same problems: exact McNemar and a paired bootstrap over the intersection of their suites.

Checkpoints of different builds may have been evaluated on different problems; what they share is told by the problem's
id and its leak-guard key, so an id that was given to another problem compares with nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import msgspec

from tracemill.environment.problem import CATEGORIES
from tracemill.evaluation.records import EpisodeRecord
from tracemill.evaluation.statistics import compare_paired, holm

_RESAMPLES = 10_000


def greedy(records: Iterable[EpisodeRecord], suite: str) -> dict[tuple[str, str], EpisodeRecord]:
    """The greedy episodes of a suite, by problem id and key."""
    return {
        (r.problem.problem_id, r.problem_key): r for r in records if suite in r.suites and r.sampling.temperature == 0
    }


def compare_checkpoints(
    a: Sequence[EpisodeRecord], b: Sequence[EpisodeRecord], suite: str = "eval", seed: int = 0
) -> dict[str, Any]:
    """Return the paired test of B against A on the problems of `suite` that both played, in total and by category.

    `only_in_a` and `only_in_b` count the problems left out.
    """
    left, right = greedy(a, suite), greedy(b, suite)
    shared = sorted(left.keys() & right.keys())

    def test(keys: Sequence[tuple[str, str]]) -> dict[str, Any]:
        paired = compare_paired([left[k].success for k in keys], [right[k].success for k in keys], seed, _RESAMPLES)
        found: dict[str, Any] = msgspec.to_builtins(paired)
        return found

    return {
        **test(shared),
        "only_in_a": len(left) - len(shared),
        "only_in_b": len(right) - len(shared),
        "by_category": {c: test([k for k in shared if left[k].problem.category == c]) for c in CATEGORIES},
    }


def compare_all(
    checkpoints: Sequence[tuple[str, Sequence[EpisodeRecord]]], suite: str = "eval", seed: int = 0
) -> list[dict[str, Any]]:
    """Return the test of each checkpoint against each earlier one, named `a` and `b`, in the order given; `p_holm` is
    the p-value adjusted for their number.
    """
    tests = [
        {"a": name_a, "b": name_b, **compare_checkpoints(records_a, records_b, suite, seed)}
        for (name_a, records_a), (name_b, records_b) in combinations(checkpoints, 2)
    ]
    adjusted = holm([1.0 if test["p_value"] is None else test["p_value"] for test in tests])
    return [{**test, "p_holm": p} for test, p in zip(tests, adjusted, strict=True)]


def describe(a: str, b: str, test: dict[str, Any]) -> str:
    """Return the test in words, total first; one line a category that has problems."""
    lines = [_line(f"{b} against {a}", test)]
    lines += [_line(f"  {name}", part) for name, part in test["by_category"].items() if part["n"]]
    left_out = test["only_in_a"] + test["only_in_b"]
    return "\n".join([*lines, f"{left_out} problems are in one of the two only"] if left_out else lines)


def _line(title: str, test: dict[str, Any]) -> str:
    if not test["n"]:
        return f"{title}: no problem in common"
    points = [f"{100 * test[key]:+.1f}" for key in ("difference", "low", "high")]
    return (
        f"{title}: {points[0]} points [{points[1]}, {points[2]}] on {test['n']} problems (one is "
        f"{100 * test['step']:.2f}); {test['only_b']} won, {test['only_a']} lost, McNemar p = {test['p_value']:.4f}"
    )
