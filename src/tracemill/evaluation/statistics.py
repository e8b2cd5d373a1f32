"""Intervals and tests for rates over a few dozen problems.

Everything is pure and takes its seed. Rates are in [0, 1]. With n problems one problem is worth 1/n: that step is
printed beside every rate, since a difference below it is no difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

Z_95 = 1.959963984540054
"""Quantile 0.975 of the normal distribution: two-sided 95% intervals."""


class Rate(msgspec.Struct, frozen=True):
    """A share of `n` with its 95% Wilson interval; `step` is what one problem is worth. All None where n is 0."""

    n: int
    hits: int
    value: float | None
    low: float | None
    high: float | None
    step: float | None


def wilson_interval(hits: int, n: int, z: float = Z_95) -> tuple[float, float]:
    """Return the Wilson score interval of `hits` out of `n` (Wilson 1927); never outside [0, 1]. Raises ValueError
    for n < 1.
    """
    if n < 1 or not 0 <= hits <= n:
        raise ValueError(f"an interval needs 0 <= hits <= n and n >= 1, found hits={hits}, n={n}")
    p = hits / n
    centre = p + z * z / (2 * n)
    spread = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    low = 0.0 if hits == 0 else (centre - spread) / scale
    high = 1.0 if hits == n else (centre + spread) / scale
    return low, high


def rate(hits: int, n: int) -> Rate:
    """Return the share of `hits` in `n` with interval and step."""
    if n == 0:
        return Rate(0, 0, None, None, None, None)
    low, high = wilson_interval(hits, n)
    return Rate(n, hits, hits / n, low, high, 1 / n)


def pass_at_k(n: int, c: int, k: int) -> float:
    """Return the unbiased estimate of pass@k from `n` samples of which `c` succeed: 1 - C(n-c, k) / C(n, k).

    Source: Chen et al. 2021, arXiv 2107.03374, equation 1. Raises ValueError unless 0 <= c <= n and 1 <= k <= n.
    """
    if not 0 <= c <= n or not 1 <= k <= n:
        raise ValueError(f"pass@k needs 0 <= c <= n and 1 <= k <= n, found n={n}, c={c}, k={k}")
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


class PairedTest(msgspec.Struct, frozen=True):
    """Two checkpoints on the same problems: `only_a` problems solved by A alone, `only_b` by B alone."""

    n: int
    both: int
    only_a: int
    only_b: int
    neither: int
    difference: float | None
    """Success rate of B minus that of A."""
    low: float | None
    high: float | None
    p_value: float | None
    step: float | None


def mcnemar_exact(only_a: int, only_b: int) -> float:
    """Return the two-sided exact McNemar p-value: a sign test on the discordant pairs (1.0 without any)."""
    discordant = only_a + only_b
    if discordant == 0:
        return 1.0
    tail = sum(math.comb(discordant, i) for i in range(min(only_a, only_b) + 1))
    return min(1.0, 2.0 * tail / float(2**discordant))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values adjusted for being several, in the order given (Holm 1979)."""
    adjusted = [1.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def paired_bootstrap(
    differences: Sequence[float], seed: int, resamples: int = 10_000, least: float = -1.0
) -> tuple[float, float]:
    """Return the 95% percentile interval of the mean of per-problem `differences`, resampling problems with
    replacement. Values lie in [`least`, 1].

    Where all values agree a resample says nothing; the interval then reaches as far as Wilson's for 0 of n. Raises
    ValueError for no differences.
    """
    import numpy as np

    if not differences:
        raise ValueError("a paired bootstrap needs at least one problem")
    if min(differences) == max(differences):
        reach = wilson_interval(0, len(differences))[1]
        return max(least, differences[0] - reach), min(1.0, differences[0] + reach)
    values = np.asarray(differences, dtype=np.float64)
    draws = np.random.default_rng(seed).integers(0, len(values), size=(resamples, len(values)), dtype=np.int64)
    low, high = np.quantile(values[draws].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def clustered_interval(values: Sequence[float], clusters: Sequence[str], seed: int) -> tuple[float, float]:
    """Return the 95% interval of the mean of `values` in [0, 1], resampling the clusters that they belong to: turns of
    one episode are no independent observations. Raises ValueError for no values.
    """
    import numpy as np

    names = {name: place for place, name in enumerate(dict.fromkeys(clusters))}
    if not values or min(values) == max(values):
        return paired_bootstrap(list(values[: len(names)]), seed, least=0.0)
    places = [names[name] for name in clusters]
    sums, sizes = np.bincount(places, weights=values), np.bincount(places)
    draws = np.random.default_rng(seed).integers(0, len(names), size=(10_000, len(names)), dtype=np.int64)
    low, high = np.quantile(sums[draws].sum(axis=1) / sizes[draws].sum(axis=1), [0.025, 0.975])
    return float(low), float(high)


def compare_paired(a: Sequence[bool], b: Sequence[bool], seed: int, resamples: int = 10_000) -> PairedTest:
    """Compare A and B on the same problems, in the same order. Raises ValueError for unequal lengths."""
    if len(a) != len(b):
        raise ValueError(f"paired outcomes differ in length: {len(a)} and {len(b)}")
    n = len(a)
    both = sum(x and y for x, y in zip(a, b, strict=True))
    only_a = sum(x and not y for x, y in zip(a, b, strict=True))
    only_b = sum(y and not x for x, y in zip(a, b, strict=True))
    if n == 0:
        return PairedTest(0, 0, 0, 0, 0, None, None, None, None, None)
    low, high = paired_bootstrap([float(y) - float(x) for x, y in zip(a, b, strict=True)], seed, resamples)
    difference = (only_b - only_a) / n
    p_value = mcnemar_exact(only_a, only_b)
    return PairedTest(n, both, only_a, only_b, n - both - only_a - only_b, difference, low, high, p_value, 1 / n)
