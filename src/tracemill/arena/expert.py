"""The scripted expert: knows what a problem rewards, and acts through the tools alone.

It searches with words of the query and the conditions as filters, opens the candidates where only their options tell
them apart, recommends what it has seen, and terminates. It knows the gold products, as a strong model would tell the
right one when it sees it; it never recommends an id that no result has shown. It is the teacher, the upper bound of
the evaluation and, with other styles, the core of the arena's agentic miners.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence
from typing import Any

import msgspec

from tracemill.arena.plan import Want, plan
from tracemill.arena.thoughts import think
from tracemill.environment.episode import Call, Turn
from tracemill.environment.problem import Problem

Script = Generator[Turn, list[Any], None]
"""Yields turns, is sent the results of each turn's calls."""


class Style(msgspec.Struct, frozen=True):
    """How an expert works."""

    name: str = "expert"
    verify: float = 0.0
    """Chance of opening a product before recommending it although the search has decided."""
    broad: float = 0.0
    """Chance of a first search with two words only, and then a better one."""
    guess_titles: bool = True
    """Whether it knows the titles of what it looks for, to be tried when the user's words lead nowhere."""
    seen: int = 3
    """Results of a search that it reads: no more than the smallest number that a model is shown."""
    slip: float = 0.0
    """Chance, per wanted product, of taking the second best candidate."""


class Expert:
    """A policy: the next turn from the problem and the results so far. Its choices depend on seed and problem alone."""

    def __init__(self, style: Style | None = None, seed: int = 0) -> None:
        self.style = style or Style()
        self.seed = seed

    def act(self, problem: Problem, results: Sequence[list[Any]]) -> Turn:
        """The next turn after `results`: one list per turn played, the whole result of each of its calls.

        `Episode.results` has this form. After the last turn of the script the answer is an empty turn.
        """
        script = self.script(problem)
        turn = next(script)
        for answered in results:
            try:
                turn = script.send(answered)
            except StopIteration:
                return Turn()
        return turn

    def script(self, problem: Problem) -> Script:
        """The whole episode as a coroutine."""
        rng = random.Random(f"{self.seed}/{self.style.name}/{problem.problem_id}")
        chosen: list[dict[str, Any]] = []
        shop = None
        for want in plan(problem, self.style.guess_titles):
            product = yield from self._find(want, shop, _slots(chosen), rng)
            if product is not None:
                chosen.append(product)
                if needs_one_shop(problem):
                    shop = shop or str(product.get("shop_id"))
        ids = ",".join(dict.fromkeys(str(product["product_id"]) for product in chosen))
        if not ids:
            yield Turn(think("end", rng), "", [Call("terminate", {"status": "failure"})])
            return
        occasion = "recommend_all" if len(chosen) > 1 else "recommend"
        yield Turn(think(occasion, rng, **_slots(chosen)), "", [Call("recommend_product", {"product_ids": ids})])
        yield Turn(think("end", rng), "", [Call("terminate", {"status": "success"})])

    def _find(
        self, want: Want, shop: str | None, slots: dict[str, str], rng: random.Random
    ) -> Generator[Turn, list[Any], dict[str, Any] | None]:
        """Search until the wanted product is seen; the best of what was seen otherwise."""
        occasion = "search" if not slots else "same_shop" if shop else "next"
        rows: list[dict[str, Any]] = []
        fallback: list[dict[str, Any]] = []
        queries = list(want.queries)
        if rng.random() < self.style.broad and len(queries[0].split()) > 3:
            queries.insert(0, " ".join(queries[0].split()[-2:]))
        for query in queries:
            arguments = {"q": query, **({"shop_id": shop} if shop else {}), **want.filters}
            results = yield Turn(think(occasion, rng, query, **slots), "", [Call("find_product", arguments)])
            rows = [row for row in _rows(results) if "product_id" in row][: self.style.seen]
            fallback = fallback or rows
            if any(row["product_id"] == want.gold for row in rows):
                break
            occasion = "retry"
        rows = rows if any(row["product_id"] == want.gold for row in rows) else fallback
        return (yield from self._choose(want, rows, rng)) if rows else None

    def _choose(
        self, want: Want, rows: list[dict[str, Any]], rng: random.Random
    ) -> Generator[Turn, list[Any], dict[str, Any]]:
        """The gold product where it was seen, else the first row; equal titles with an option are opened before."""
        alike = [row for row in rows if row.get("title") == rows[0].get("title")][:2]
        slipped = len(rows) > 1 and rng.random() < self.style.slip
        best = next((row for row in rows if row["product_id"] == want.gold), rows[0])
        verify = rng.random() < self.style.verify
        if want.options and len(alike) > 1:
            yield _view(alike, think("compare", rng))
        elif verify:
            yield _view([best], think("view", rng))
        return next(row for row in rows if row is not best) if slipped else best


def _slots(chosen: Sequence[dict[str, Any]]) -> dict[str, str]:
    """What a thought can say about the products chosen so far; nothing where there are none."""
    if not chosen:
        return {}
    ids = ",".join(dict.fromkeys(str(product["product_id"]) for product in chosen))
    return {"found": str(chosen[-1]["product_id"]), "shop": str(chosen[-1].get("shop_id")), "ids": ids}


def needs_one_shop(problem: Problem) -> bool:
    """Whether all products have to come from one shop."""
    return problem.category == "shop" or (problem.voucher or {}).get("voucher_type") == "shop"


def _view(rows: Sequence[dict[str, Any]], thought: str) -> Turn:
    ids = ",".join(str(row["product_id"]) for row in rows)
    return Turn(thought, "", [Call("view_product_information", {"product_ids": ids})])


def _rows(results: Sequence[Any]) -> list[dict[str, Any]]:
    """The products of the turn's first result; an error has none."""
    first = results[0] if results else None
    return [row for row in first if isinstance(row, dict)] if isinstance(first, list) else []
