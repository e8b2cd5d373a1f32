"""The ranking loop for large catalogues, compiled: the arithmetic of `ranking` in one pass over the postings.

numba is imported on first use only. Compiled code is cached where numba finds a folder to write: beside this file, or
the user's cache where the package is read-only.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np


@functools.cache
def rank_kernel() -> Callable[..., int]:
    """Return `_rank`, compiled for this machine."""
    import numba

    try:
        return numba.njit(_rank, cache=True, nogil=True)  # type: ignore[no-any-return]
    except RuntimeError:  # there is no folder to cache in
        return numba.njit(_rank, nogil=True)  # type: ignore[no-any-return]


def _rank(
    starts: Any,
    ends: Any,
    weights: Any,
    documents: Any,
    frequencies: Any,
    length_codes: Any,
    norms: Any,
    totals: Any,
    touched: Any,
    heap: Any,
) -> int:
    """Fill `heap` with the keys of the best documents, in no order, and return their number.

    A key is the score's 32 bits followed by the inverted document number: larger is better and no two are equal.
    `totals` (double, one a document) is all zero before and after; `touched` has room for every document.
    """
    one = np.float32(1)
    found = 0
    for term in range(len(starts)):
        weight = weights[term]
        for at in range(starts[term], ends[term]):
            document = documents[at]
            part = weight - weight / (one + np.float32(frequencies[at]) * norms[length_codes[document]])
            if totals[document] == 0.0:
                touched[found] = document
                found += 1
            totals[document] += part
    size = 0
    bits = np.zeros(1, dtype=np.float32)
    code = bits.view(np.uint32)
    for at in range(found):
        document = touched[at]
        bits[0] = np.float32(totals[document])
        totals[document] = 0.0
        key = (np.uint64(code[0]) << np.uint64(32)) | (np.uint64(0xFFFFFFFF) - np.uint64(document))
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
