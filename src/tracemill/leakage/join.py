"""All pairs of token sets with Dice at or above a ratio: exact, and without looking at all pairs.

Dice 2|A n B|/(|A|+|B|) of sorted distinct token lists is rapidfuzz's `Indel.normalized_similarity`; here it is
compared in integers, since a real pair sits exactly at 0.600 and floating cut-offs lose such pairs.

Tokens are put in order from rare to frequent, and sets from small to large. Let Dice(A, B) >= t with |A| <= |B|. Then
the overlap is at least ceil(t|A|), because |A| + |B| >= 2|A|, and at least ceil(t|B| / (2 - t)), because |A| >=
overlap. Two sets that share o tokens share one within their first |A| - o + 1 and |B| - o + 1 tokens, so the small
side needs the first 40% of its tokens and the large side the first 57% (t = 0.6). One sparse product of these two
prefix matrices, in row blocks of bounded work, gives the candidates. Most of them fall to a 128-bit parity signature,
whose Hamming distance is at most the symmetric difference of the sets; the rest are verified by their whole overlap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK_WORK = 4_000_000
"""Multiplications of one block of the sparse product; bounds its memory (about 12 bytes each, before duplicates
meet)."""

Ints = NDArray[np.int64]


def dice_pairs(
    token_sets: Sequence[Collection[str]], numerator: int = 3, denominator: int = 5
) -> list[tuple[int, int, int]]:
    """Return all (i, j, overlap) with i < j and 2*overlap/(|i|+|j|) >= numerator/denominator, sorted.

    Repeated tokens within a set count once; an empty set is in no pair. Raises ValueError for a ratio outside (0, 1].
    """
    found = list(dice_blocks(token_sets, numerator, denominator))
    if not found:
        return []
    left, right, overlap = (np.concatenate(part) for part in zip(*found, strict=True))
    ranked = np.lexsort((right, left))
    return list(zip(left[ranked].tolist(), right[ranked].tolist(), overlap[ranked].tolist(), strict=True))


def dice_blocks(
    token_sets: Sequence[Collection[str]], numerator: int = 3, denominator: int = 5
) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Yield the pairs of `dice_pairs` as arrays (i, j, overlap), block by block in bounded memory, in a fixed order."""
    if not 0 < numerator <= denominator:
        raise ValueError(f"ratio {numerator}/{denominator} is not in (0, 1]")
    filled = [i for i, tokens in enumerate(token_sets) if tokens]
    if len(filled) < 2:
        return
    rows = _encode([token_sets[i] for i in filled])
    order = sorted(range(len(rows)), key=lambda k: (len(rows[k]), k))
    names = np.array([filled[k] for k in order], dtype=np.int64)
    rows = [rows[k] for k in order]
    sizes = np.array([len(row) for row in rows], dtype=np.int64)
    whole = _matrix(rows, sizes)
    signatures = _signatures(whole)
    for a, b in _candidates(rows, sizes, numerator, denominator):
        distance = np.bitwise_count(signatures[a] ^ signatures[b]).sum(axis=1, dtype=np.int64)
        near = denominator * distance <= (denominator - numerator) * (sizes[a] + sizes[b])
        first, second, overlap = _verify(a[near], b[near], whole, sizes, numerator, denominator)
        yield np.minimum(names[first], names[second]), np.maximum(names[first], names[second]), overlap


def _encode(sets: Sequence[Collection[str]]) -> list[Ints]:
    """Tokens as ranks, 0 the rarest (ties by text), each row ascending."""
    distinct = [set(tokens) for tokens in sets]
    frequency = Counter(token for tokens in distinct for token in tokens)
    rank = {token: k for k, token in enumerate(sorted(frequency, key=lambda token: (frequency[token], token)))}
    return [np.sort(np.fromiter((rank[t] for t in tokens), np.int64, len(tokens))) for tokens in distinct]


def _ceil(a: Ints, b: int) -> Ints:
    return -(-a // b)


def _matrix(rows: Sequence[Ints], lengths: Ints) -> Any:
    """CSR matrix of the first `lengths[k]` tokens of each row, with ones."""
    from scipy.sparse import csr_matrix

    pointers = np.concatenate(([0], np.cumsum(lengths)))
    columns = np.concatenate([row[:n] for row, n in zip(rows, lengths.tolist(), strict=True)]).astype(np.int32)
    width = 1 + max(int(row[-1]) for row in rows)
    ones = np.ones(len(columns), dtype=np.int32)
    return csr_matrix((ones, columns, pointers), shape=(len(rows), width))


def _signatures(whole: Any) -> NDArray[np.uint64]:
    """Two words per row: each token flips the bit of its column modulo 128."""
    bits = np.zeros((whole.shape[0], 128), dtype=np.uint8)
    row = np.repeat(np.arange(whole.shape[0]), np.diff(whole.indptr))
    np.bitwise_xor.at(bits, (row, whole.indices % 128), np.uint8(1))
    return np.packbits(bits, axis=1).view(np.uint64)


def _candidates(rows: Sequence[Ints], sizes: Ints, numerator: int, denominator: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield blocks of candidate pairs (a, b), a < b, of rows sorted by size."""
    small = _matrix(rows, sizes - _ceil(sizes * numerator, denominator) + 1)
    large = _matrix(rows, sizes - _ceil(sizes * numerator, 2 * denominator - numerator) + 1)
    reach = np.searchsorted(sizes, sizes * (2 * denominator - numerator) // numerator, side="right")
    postings = np.bincount(large.indices, minlength=large.shape[1])
    work = np.add.reduceat(postings[small.indices], small.indptr[:-1])
    start = 0
    while start < len(rows):
        done = np.cumsum(work[start : start + 65_536])
        stop = start + max(1, int(np.searchsorted(done, BLOCK_WORK, side="right")))
        end = int(reach[stop - 1])
        product = (small[start:stop] @ large[start:end].T).tocoo()
        a, b = product.row.astype(np.int64) + start, product.col.astype(np.int64) + start
        keep = (a < b) & (b < reach[a])
        yield a[keep], b[keep]
        start = stop


def _verify(a: Ints, b: Ints, whole: Any, sizes: Ints, numerator: int, denominator: int) -> tuple[Ints, Ints, Ints]:
    """Keep the pairs whose whole overlap reaches the ratio, in integers."""
    overlap = np.asarray(whole[a].multiply(whole[b]).sum(axis=1)).ravel().astype(np.int64)
    keep = 2 * denominator * overlap >= numerator * (sizes[a] + sizes[b])
    return a[keep], b[keep], overlap[keep]
