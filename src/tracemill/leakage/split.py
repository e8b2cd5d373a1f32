"""Pools: which clusters are trained on, which evaluate, which nobody touches, and which belong to a protected
benchmark.

Each reward specification has a fixed number u in [0, 1), a hash under the seed. A cluster takes the minimum over its
members: `never_touch` below the first threshold, `eval` below the second, else `train`. When problems are added,
clusters grow and merge and minima only fall, so a held-out problem never returns to train.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tracemill.errors import InputError
from tracemill.leakage.clusters import members_of
from tracemill.leakage.ledger import promised_pools, read_ledger
from tracemill.leakage.nodes import Node, read_nodes
from tracemill.leakage.normalise import NORMALISER_VERSION
from tracemill.leakage.params import PoolParams, SimilarityParams
from tracemill.leakage.pools import BENCHMARK, EVAL, NEVER_TOUCH, POOLS, TRAIN, read_pools


def uniform(spec: str, seed: int) -> float:
    """Return the fixed number in [0, 1) of a reward specification."""
    digest = hashlib.sha256(f"{seed}:{spec}".encode()).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / 2**53


def assign_pools(
    nodes: Sequence[Node], clusters: Mapping[str, str], params: PoolParams, promised: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the pool of each cluster. `promised` (pool by node key) moves clusters only where `params.ledger` is
    `hold`."""
    by_key = {node.key: node for node in nodes}
    held = promised if promised and params.ledger == "hold" else {}
    pools = {}
    for name, members in members_of(clusters).items():
        inside = [by_key[key] for key in members]
        low = min(uniform(node.spec, params.seed) for node in inside)
        pool = NEVER_TOUCH if low < params.never_touch else EVAL if low < params.eval else TRAIN
        kept = {held[node.key] for node in inside if node.key in held}
        pool = NEVER_TOUCH if NEVER_TOUCH in kept else EVAL if kept and pool == TRAIN else pool
        pools[name] = BENCHMARK if any(node.protected for node in inside) else pool
    return pools


def calibrate(clusters: Iterable[tuple[int, int]], share: float) -> float:
    """Return the threshold x that is expected to hold out `share` of the rows of `clusters` (rows, specifications).

    A cluster of k specifications falls below x with probability 1 - (1 - x)^k; x is found by bisection.
    """
    sized = [(rows, keys) for rows, keys in clusters if rows]
    total = sum(rows for rows, _ in sized)
    low, high = 0.0, 1.0
    for _ in range(60):
        x = (low + high) / 2
        expected = sum(rows * (1 - (1 - x) ** keys) for rows, keys in sized)
        low, high = (x, high) if expected < share * total else (low, x)
    return round(high, 6)


def split_pools(
    nodes_path: Path,
    corpus: Path,
    ledger: Path,
    *,
    pools_path: Path,
    shares_path: Path,
    params: PoolParams,
    similarity: SimilarityParams,
) -> None:
    """Write the pool of every problem, and how the corpus rows fall into the pools."""
    nodes, clusters = read_nodes(nodes_path)
    entries = read_ledger(ledger)
    pools = assign_pools(nodes, clusters, params, promised_pools(nodes, entries, similarity))
    _write_pools(nodes, clusters, pools, pools_path)
    rows = corpus_rows(corpus)
    _require_known(rows, clusters, corpus)
    shares = describe_shares(nodes, clusters, pools, rows, params)
    split = read_pools(pools_path)
    refused = Counter(split.refuse_key(key, recommended) or "admitted" for key, recommended in rows)
    shares["rows"]["training"] = {
        "in": len(rows),
        "kept": refused.pop("admitted", 0),
        "dropped": dict(sorted(refused.items())),
    }
    shares["ledger"] = {"problems": len(entries), "mode": params.ledger}
    shares_path.write_bytes(msgspec.json.format(msgspec.json.encode(shares, order="sorted")) + b"\n")


def corpus_rows(corpus: Path) -> list[tuple[str, tuple[str, ...]]]:
    """Return (problem key, recommended ids) of every corpus row."""
    import polars as pl

    frame = pl.read_parquet(corpus, columns=["problem_key", "recommended_ids"])
    return [(key, tuple(ids or ())) for key, ids in frame.rows()]


def _require_known(rows: Sequence[tuple[str, Any]], clusters: Mapping[str, str], corpus: Path) -> None:
    unknown = sorted({key for key, _ in rows if key not in clusters})
    if unknown:
        raise InputError(
            f"{corpus}: {len(unknown)} problems are not in the leak graph (first key {unknown[0]}); "
            "cluster_leaks must read every snapshot that the corpus was assembled from"
        )


def _write_pools(nodes: Sequence[Node], clusters: Mapping[str, str], pools: Mapping[str, str], path: Path) -> None:
    import polars as pl

    rows = [
        (n.key, problem_id, n.categories[0], clusters[n.key], pools[clusters[n.key]], list(n.gold_ids))
        for n in nodes
        for problem_id in n.problem_ids
    ]
    texts = ("problem_key", "problem_id", "category", "cluster", "pool")
    schema: dict[str, Any] = {**dict.fromkeys(texts, pl.String), "gold_ids": pl.List(pl.String)}
    pl.DataFrame(rows, schema=schema, orient="row").write_parquet(path, compression="zstd", statistics=False)


def describe_shares(
    nodes: Sequence[Node],
    clusters: Mapping[str, str],
    pools: Mapping[str, str],
    rows: Sequence[tuple[str, Any]],
    params: PoolParams,
) -> dict[str, Any]:
    """Return thresholds as they are and as calibration would put them now, and clusters, problems and rows by pool."""
    by_pool = Counter(pools[clusters[key]] for key, _ in rows)
    in_cluster = Counter(clusters[key] for key, _ in rows)
    specs: dict[str, set[str]] = defaultdict(set)
    for node in nodes:
        specs[clusters[node.key]].add(node.spec)
    free = [(in_cluster[name], len(specs[name])) for name in sorted(specs) if pools[name] != BENCHMARK]
    wanted_eval = params.wanted_never_touch + params.wanted_eval
    return {
        "version": {"normaliser": NORMALISER_VERSION, "seed": params.seed},
        "thresholds": {"never_touch": params.never_touch, "eval": params.eval},
        "calibrated_now": {
            "never_touch": calibrate(free, params.wanted_never_touch),
            "eval": calibrate(free, min(1.0, wanted_eval)),
        },
        "wanted": {"never_touch": params.wanted_never_touch, "eval": params.wanted_eval},
        "clusters": _counts(Counter(pools.values())),
        "problems": _counts(Counter(pools[clusters[n.key]] for n in nodes)),
        "rows": {
            "by_pool": _counts(by_pool),
            "share": {pool: round(by_pool[pool] / max(1, len(rows)), 6) for pool in POOLS},
        },
    }


def _counts(found: Mapping[str, int]) -> dict[str, int]:
    return {pool: found.get(pool, 0) for pool in POOLS}
