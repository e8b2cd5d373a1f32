"""Nodes of the leak graph: problems that ask for the same thing in the same words, wherever they came from.

A node is a distinct normalised query with its gold product ids. Snapshots, files and lines leave no trace in it, so a
renamed, reordered or repeated snapshot gives the same nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from tracemill.environment.problem import Problem, digest
from tracemill.errors import InputError
from tracemill.leakage.normalise import clean, content_tokens


class Node(msgspec.Struct, frozen=True):
    """One node of the leak graph; all sequences are sorted and distinct."""

    key: str
    """Digest of the content tokens and the gold ids: `problem_key`."""
    spec: str
    """Digest of what is wanted: the gold ids, or the query's tokens where none are known. Rephrasings share it."""
    tokens: tuple[str, ...]
    gold_ids: tuple[str, ...]
    problem_ids: tuple[str, ...]
    categories: tuple[str, ...]
    queries: tuple[str, ...]
    protected: bool
    """Whether a protected benchmark holds this problem."""


def problem_key(query: str, gold_ids: Iterable[str]) -> str:
    """Return the key of the node that a problem belongs to: SHA-256 (hex) of its content tokens and its gold ids.

    A query without content tokens is told from others by its cleaned text.
    """
    return _key(query, tuple(sorted(set(gold_ids))))


@lru_cache(maxsize=8192)
def _key(query: str, gold_ids: tuple[str, ...]) -> str:
    return _key_of(_words(query), gold_ids)


def _key_of(words: list[str], gold_ids: tuple[str, ...]) -> str:
    return digest([words, gold_ids])


def spec_key(query: str, gold_ids: Iterable[str]) -> str:
    """Return the key of the reward specification behind a problem, from which its pool is drawn."""
    golds = sorted(set(gold_ids))
    return digest({"gold": golds}) if golds else digest({"text": _words(query)})


def _words(query: str) -> list[str]:
    return list(content_tokens(query)) or [clean(query)]


def build_nodes(problems: Iterable[Problem], protected: Iterable[Problem] = ()) -> list[Node]:
    """Return the nodes of all problems, sorted by key; a node is protected when one of its problems is."""
    spoken: dict[tuple[str, tuple[str, ...]], list[Problem]] = {}
    guarded: set[tuple[str, tuple[str, ...]]] = set()
    for group, guard in ((problems, False), (protected, True)):
        for problem in group:
            asked = problem.query, tuple(sorted(set(problem.gold_ids)))
            spoken.setdefault(asked, []).append(problem)
            if guard:
                guarded.add(asked)
    # every snapshot brings the same queries again, and taking one apart is most of the work
    members: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    tokens: dict[str, tuple[str, ...]] = {}
    for asked in spoken:
        found = content_tokens(asked[0])
        key = _key_of(list(found) or [clean(asked[0])], asked[1])
        members.setdefault(key, []).append(asked)
        tokens[key] = found
    return [
        _node(
            key, tokens[key], [p for asked in members[key] for p in spoken[asked]], not guarded.isdisjoint(members[key])
        )
        for key in sorted(members)
    ]


def _node(key: str, tokens: tuple[str, ...], problems: Sequence[Problem], protected: bool) -> Node:
    first = problems[0]
    return Node(
        key=key,
        spec=spec_key(first.query, first.gold_ids),
        tokens=tokens,
        gold_ids=tuple(sorted(set(first.gold_ids))),
        problem_ids=tuple(sorted({p.problem_id for p in problems})),
        categories=tuple(sorted({p.category for p in problems})),
        queries=tuple(sorted({p.query for p in problems})),
        protected=protected,
    )


def read_problem_table(path: Path) -> list[Problem]:
    """Return the problems of a `problems.parquet` (problem_id, category, query, reward and voucher as JSON text).

    A problem of which only the id was seen (its episodes failed before the first step) has nothing to compare and is
    left out. Raises InputError with file and row for a value that is no problem.
    """
    import polars as pl

    columns = ["problem_id", "category", "query", "reward", "voucher"]
    rows = pl.read_parquet(path, columns=columns).iter_rows(named=True)
    told = ((number, row) for number, row in enumerate(rows) if row["query"] is not None or row["reward"])
    return [_problem(row, f"{path}: row {number}") for number, row in told]


def _problem(row: dict[str, Any], where: str) -> Problem:
    try:
        reward, voucher = (msgspec.json.decode(row[name]) if row[name] else None for name in ("reward", "voucher"))
    except msgspec.DecodeError as error:
        raise InputError(f"{where}: reward or voucher is no JSON ({error}); normalise the snapshot again") from error
    category = row["category"] or ("voucher" if voucher else "shop" if isinstance(reward, list) else "product")
    return Problem(row["problem_id"], category, row["query"] or "", reward, voucher)


def write_nodes(nodes: Sequence[Node], clusters: dict[str, str], path: Path) -> None:
    """Write the nodes with the cluster of each as parquet, in the order given."""
    import polars as pl

    texts, lists = pl.String, pl.List(pl.String)
    columns: list[tuple[str, Any, list[Any]]] = [
        ("node", texts, [n.key for n in nodes]),
        ("cluster", texts, [clusters[n.key] for n in nodes]),
        ("spec", texts, [n.spec for n in nodes]),
        ("protected", pl.Boolean, [n.protected for n in nodes]),
        ("problem_ids", lists, [list(n.problem_ids) for n in nodes]),
        ("categories", lists, [list(n.categories) for n in nodes]),
        ("gold_ids", lists, [list(n.gold_ids) for n in nodes]),
        ("queries", lists, [list(n.queries) for n in nodes]),
        ("tokens", lists, [list(n.tokens) for n in nodes]),
    ]
    frame = pl.DataFrame([pl.Series(name, values, dtype=dtype) for name, dtype, values in columns])
    frame.write_parquet(path, compression="zstd", statistics=False)


def read_nodes(path: Path) -> tuple[list[Node], dict[str, str]]:
    """Return the nodes of a `nodes.parquet` and the cluster of each key."""
    import polars as pl

    nodes, clusters = [], {}
    for row in pl.read_parquet(path).iter_rows(named=True):
        lists = {name: tuple(row[name]) for name in ("tokens", "gold_ids", "problem_ids", "categories", "queries")}
        nodes.append(Node(key=row["node"], spec=row["spec"], protected=row["protected"], **lists))
        clusters[row["node"]] = row["cluster"]
    return nodes, clusters
