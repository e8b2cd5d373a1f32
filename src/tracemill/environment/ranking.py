"""BM25 as Lucene 9.9 computes it for SN15's search server: k1 = 0.9, b = 0.4, float32, document lengths in one byte.

The score of a document is the sum over query terms of `w - w / (1 + f * n)`: w is the term's inverse document
frequency times its count in the query, f its frequency in the document, n the inverse length norm of the document's
length byte. Each addend is float32, the sum is double and is cast at the end. Ties go to the smaller id as text, and
documents are numbered in that order.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

K1 = 0.9
B = 0.4

Ranked = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]
"""Documents, best first, and their scores."""

_LAST = np.uint64(0xFFFFFFFF)

_EXACT_LENGTHS = 24
"""Lengths below this are their own code; above, a four-bit float of the rest (itself exact below 16)."""


def encode_length(length: int) -> int:
    """Return Lucene's one-byte code of a document length (SmallFloat.intToByte4): exact up to 40, then 4 bits."""
    if length < _EXACT_LENGTHS:
        return length
    rest = length - _EXACT_LENGTHS
    bits = rest.bit_length()
    if bits < 4:
        return _EXACT_LENGTHS + rest
    shift = bits - 4
    return min(255, _EXACT_LENGTHS + (((rest >> shift) & 7) | ((shift + 1) << 3)))


@functools.cache
def length_table() -> npt.NDArray[np.int64]:
    """Return the document length that each of the 256 codes stands for."""
    lengths = []
    for code in range(256):
        rest = code - _EXACT_LENGTHS
        if rest < 0:
            lengths.append(code)
            continue
        bits, shift = rest & 7, (rest >> 3) - 1
        lengths.append(_EXACT_LENGTHS + (bits if shift < 0 else (bits | 8) << shift))
    return np.array(lengths, dtype=np.int64)


def inverse_norms(total_length: int, documents: int, k1: float = K1, b: float = B) -> npt.NDArray[np.float32]:
    """Return n for each length code, from the total length and number of the documents that have a term."""
    saturation, share, one = np.float32(k1), np.float32(b), np.float32(1)
    mean = np.float32(total_length / documents) if documents else one
    lengths = length_table().astype(np.float32)
    with np.errstate(divide="ignore"):  # b = 1 and no words: that document is in no posting
        return (one / (saturation * ((one - share) + share * lengths / mean))).astype(np.float32)


def term_weight(documents: int, holding: int, count: int) -> np.float32:
    """Return w of a term that occurs in `holding` of `documents` documents and `count` times in the query."""
    inverse_frequency = np.float32(math.log(1 + (documents - holding + 0.5) / (holding + 0.5)))
    return np.float32(np.float32(count) * inverse_frequency)


def tie_adjusted(scores: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return scores in rank order as Pyserini reports them: four decimals, and ties made distinct in the sixth.

    The search server ranks by the scores before this; it changes no order.
    """
    adjusted = np.empty(len(scores), dtype=np.float32)
    ties = 0
    for rank, score in enumerate(scores):
        rounded = np.float32(math.floor(float(score) * 1e4 + 0.5) / 1e4)
        if rank == 0 or adjusted[rank - 1] - rounded > np.float32(1e-4):
            ties = 0
        else:
            ties += 1
            rounded = np.float32(rounded - np.float32(np.float32(1e-6) * np.float32(ties)))
        adjusted[rank] = rounded
    return adjusted


@dataclass(frozen=True)
class Postings:
    """Which documents hold which term how often: one span of `documents` and `frequencies` a term, documents ascending.

    `norms` is n of each of the 256 length codes, `length_codes` the code of each document.
    """

    documents: npt.NDArray[np.int32]
    frequencies: npt.NDArray[Any]
    length_codes: npt.NDArray[np.uint8]
    norms: npt.NDArray[np.float32]


Span = tuple[int, int, np.float32, np.float32]
"""First and last posting (exclusive) of a query term, its weight, and the most that it adds to any document."""


def rank_arrays(postings: Postings, spans: Sequence[Span], limit: int) -> Ranked:
    """Return the best `limit` documents and their scores in rank order, computed with array operations."""
    totals = np.zeros(len(postings.length_codes), dtype=np.float64)
    for start, end, weight, _ in spans:
        documents = postings.documents[start:end]
        norms = postings.norms[postings.length_codes[documents]]
        frequencies = postings.frequencies[start:end].astype(np.float32)
        totals[documents] += weight - weight / (np.float32(1) + frequencies * norms)
    candidates = np.flatnonzero(totals != 0.0).astype(np.uint64)
    scores = totals[candidates.astype(np.int64)].astype(np.float32)
    keys = (scores.view(np.uint32).astype(np.uint64) << np.uint64(32)) | (_LAST - candidates)
    if len(keys) > limit:
        keys = np.partition(keys, len(keys) - limit)[len(keys) - limit :]
    return ranked(keys)


def ranked(keys: npt.NDArray[np.uint64]) -> Ranked:
    """Return documents and scores, best first, of keys (the score's 32 bits, then the inverted document number)."""
    keys = np.sort(keys)[::-1]
    found = (_LAST - (keys & _LAST)).astype(np.int64)
    return found, (keys >> np.uint64(32)).astype(np.uint32).view(np.float32)
