"""The ranking loop for large catalogues, compiled: the arithmetic of `ranking` without work that changes nothing.

Documents are taken window by window, so that what is summed stays in the processor's cache. Once enough good
documents are known, terms that together cannot lift a document among them (MaxScore: Turtle and Flood 1995) are no
longer walked through, only looked up for documents that other terms have found. The bounds are computed in the same
float32 operations as the scores, each of which is monotone, so nothing is lost to rounding; and the double sums are
exact, so their order is free.

numba is imported on first use only.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tracemill.compiled import compiled

WINDOW = 1 << 15
"""Documents summed up at once."""


@functools.cache
def rank_kernel() -> Callable[..., int]:
    """Return `_rank`, compiled for this machine."""
    return compiled(_rank)  # type: ignore[no-any-return]


def _rank(
    starts: Any,
    ends: Any,
    weights: Any,
    bounds: Any,
    documents: Any,
    frequencies: Any,
    length_codes: Any,
    norms: Any,
    totals: Any,
    touched: Any,
    heap: Any,
) -> int:
    """Fill `heap` with the keys of the best documents, in no order, and return their number.

    A key is the score's 32 bits followed by the inverted document number: larger is better and no two are equal. Terms
    come by ascending bound. `totals` (double) has one place a document of a window and is all zero before and after;
    `touched` is as long.
    """
    one, shift, last_number = np.float32(1), np.uint64(32), np.uint64(0xFFFFFFFF)
    terms = len(starts)
    cursors = starts.copy()
    reach = np.cumsum(bounds.astype(np.float64))
    score = np.zeros(1, dtype=np.float32)
    bits = score.view(np.uint32)
    passive = 0
    size = 0
    for first in range(0, len(length_codes), len(totals)):
        while passive < terms and size == len(heap):
            score[0] = np.float32(reach[passive])
            if ((np.uint64(bits[0]) << shift) | (last_number - np.uint64(first))) > heap[0]:
                break
            passive += 1
        if passive == terms:
            break
        found = 0
        for term in range(passive, terms):
            weight = weights[term]
            at = cursors[term]
            while at < ends[term] and documents[at] < first + len(totals):
                document = documents[at]
                part = weight - weight / (one + np.float32(frequencies[at]) * norms[length_codes[document]])
                place = document - first
                if totals[place] == 0.0:
                    touched[found] = place
                    found += 1
                totals[place] += part
                at += 1
            cursors[term] = at
        for place in touched[:found]:
            total = totals[place]
            totals[place] = 0.0
            document = first + place
            low = last_number - np.uint64(document)
            for term in range(passive - 1, -1, -1):
                score[0] = np.float32(total + reach[term])
                if size == len(heap) and ((np.uint64(bits[0]) << shift) | low) <= heap[0]:
                    total = 0.0
                    break
                left, right = cursors[term], ends[term]
                while left < right:
                    middle = (left + right) >> 1
                    if documents[middle] < document:
                        left = middle + 1
                    else:
                        right = middle
                if left < ends[term] and documents[left] == document:
                    weight = weights[term]
                    total += weight - weight / (one + np.float32(frequencies[left]) * norms[length_codes[document]])
            score[0] = np.float32(total)
            key = (np.uint64(bits[0]) << shift) | low
            if size < len(heap):
                child = size
                size += 1
                while child > 0:
                    parent = (child - 1) >> 1
                    if heap[parent] <= key:
                        break
                    heap[child] = heap[parent]
                    child = parent
                heap[child] = key
            elif key > heap[0]:
                hole = 0
                child = 1
                while child < size:
                    if child + 1 < size and heap[child + 1] < heap[child]:
                        child += 1
                    if heap[child] >= key:
                        break
                    heap[hole] = heap[child]
                    hole = child
                    child = 2 * hole + 1
                heap[hole] = key
    return size
