"""The split as every later stage asks it: which pool a problem is in, and whether a trajectory may be trained on.

Kept apart from what makes the split, so that a change there runs nothing here again while the split stays the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from tracemill.leakage.nodes import problem_key

NEVER_TOUCH, EVAL, TRAIN, BENCHMARK = "never_touch", "eval", "train", "benchmark"
POOLS = (TRAIN, EVAL, NEVER_TOUCH, BENCHMARK)


class Pools:
    """The split, as every later stage asks it: by query and gold ids, never by a source's own problem id."""

    def __init__(self, pool_by_key: Mapping[str, str], held_out_golds: Iterable[str]) -> None:
        self._pool_by_key = dict(pool_by_key)
        self._held_out_golds = frozenset(held_out_golds)

    def pool_of(self, query: str, gold_ids: Iterable[str]) -> str | None:
        """Return the pool of a problem, None for one that the leak graph has not seen."""
        return self._pool_by_key.get(problem_key(query, gold_ids))

    def refuse(self, query: str, gold_ids: Iterable[str], recommended_ids: Iterable[str] = ()) -> str | None:
        """Return why a trajectory must not be trained on, None when it may be.

        A trajectory of a train problem is refused too when it recommends a gold product of a held-out problem: it would
        teach the answer.
        """
        return self.refuse_key(problem_key(query, gold_ids), recommended_ids)

    def refuse_key(self, key: str, recommended_ids: Iterable[str] = ()) -> str | None:
        """Like `refuse`, for a problem whose key is known (the corpus carries it)."""
        pool = self._pool_by_key.get(key)
        if pool != TRAIN:
            return "unknown_problem" if pool is None else f"pool_{pool}"
        return "recommends_held_out" if self._held_out_golds.intersection(recommended_ids) else None


def read_pools(path: Path) -> Pools:
    """Return the split of a `pools.parquet`."""
    import polars as pl

    rows = pl.read_parquet(path, columns=["problem_key", "pool", "gold_ids"]).rows()
    return Pools({key: pool for key, pool, _ in rows}, {g for _, pool, golds in rows if pool != TRAIN for g in golds})
