"""Problems of a suite, found by what a trace says of them."""

from __future__ import annotations

from collections.abc import Iterable

from tracemill.environment.problem import Problem


class ProblemBook:
    """Problems of a suite, found by id and query.

    An id is believed only where the trace does not carry another query; a query that several problems share is resolved
    by the id alone, unless they ask for the same: one problem listed twice, under whatever ids, is the first.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.by_id: dict[str, Problem] = {}
        self.by_query: dict[str, list[Problem]] = {}
        for problem in problems:
            self.by_id.setdefault(problem.problem_id, problem)
            self.by_query.setdefault(_folded(problem.query), []).append(problem)

    def find(self, problem_id: str | None, query: str | None) -> Problem | None:
        """The problem that a trace belongs to; None where it cannot be told."""
        named = self.by_id.get(problem_id) if problem_id is not None else None
        if named is not None and (query is None or _folded(query) == _folded(named.query)):
            return named
        matching = self.by_query.get(_folded(query), []) if query is not None else []
        return matching[0] if matching and all(_same(matching[0], other) for other in matching[1:]) else None


def _same(one: Problem, other: Problem) -> bool:
    return (one.category, one.reward, one.voucher) == (other.category, other.reward, other.voucher)


def _folded(query: str) -> str:
    return " ".join(query.split())
