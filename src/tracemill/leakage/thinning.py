"""Fewer pairs with the same components: a template that makes thousands of requests alike would link each to each.

A text keeps as many pairs as `most` for evidence; beyond that only a pair that joins two components is kept. Pairs
between a protected and another text are counted apart, so that none of these loses its direct evidence to its like.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def thin_pairs(blocks: Iterable[tuple[Ints, Ints]], guarded: Sequence[bool], most: int) -> Iterator[tuple[int, int]]:
    """Yield the pairs to keep, in the order of the blocks: at most `2 * most + 1` times the number of texts.

    `blocks` are arrays of pairs of positions in `guarded`, which says of each text whether a protected problem has it.
    """
    side = np.array(guarded, dtype=bool)
    degrees = ([0] * len(guarded), [0] * len(guarded))
    parent = list(range(len(guarded)))
    for left, right in blocks:
        kind = (side[left] != side[right]).astype(np.int64)
        degree = np.array(degrees, dtype=np.int64)
        spent = (degree[kind, left] >= most) & (degree[kind, right] >= most)
        if spent.any():
            roots = np.array([_root(parent, text) for text in range(len(parent))], dtype=np.int64)
            kept = ~spent | (roots[left] != roots[right])
            left, right, kind = left[kept], right[kept], kind[kept]
        for one, other, apart in zip(left.tolist(), right.tolist(), kind.tolist(), strict=True):
            counts = degrees[apart]
            first, second = _root(parent, one), _root(parent, other)
            if first == second and counts[one] >= most and counts[other] >= most:
                continue
            parent[max(first, second)] = min(first, second)
            counts[one] += 1
            counts[other] += 1
            yield one, other


def _root(parent: list[int], text: int) -> int:
    while parent[text] != text:
        parent[text] = parent[parent[text]]
        text = parent[text]
    return text
