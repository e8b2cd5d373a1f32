"""The ledger of held-out problems: what has ever been promised to stay out of training, committed by the user.

Minimum hashes keep that promise while nothing is removed. Users do remove snapshots, and a cluster that falls apart
could set a held-out problem free, or let its like into train; the ledger is a small text file outside the build that
remembers it. It holds digests alone, so that a published ledger tells nobody the problems.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from tracemill.errors import InputError
from tracemill.leakage.nodes import Node, read_nodes
from tracemill.leakage.params import SimilarityParams
from tracemill.leakage.pools import NEVER_TOUCH, TRAIN

LEDGER = Path("data/ledger/held_out.jsonl")


class Held(msgspec.Struct, frozen=True, order=True, forbid_unknown_fields=True, omit_defaults=True):
    """One held-out problem: its key, its reward specification's key, the pool it was in, and what links to it."""

    problem: str
    spec: str
    pool: str
    words: tuple[str, ...] = ()
    """Digests of its content tokens."""
    golds: tuple[str, ...] = ()
    """Digests of its gold product ids."""


def read_ledger(path: Path) -> list[Held]:
    """Return the ledger's entries, sorted; an empty file holds none. InputError names file and line of a broken
    entry."""
    entries = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            entries.append(msgspec.json.decode(line, type=Held))
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            raise InputError(
                f"{path}:{number}: no ledger entry ({error}); expected problem, spec and pool, as `make ledger` "
                "writes them"
            ) from error
    return sorted(entries)


def merge_ledger(old: Iterable[Held], new: Iterable[Held]) -> list[Held]:
    """Return both together, sorted; a problem keeps the pool it was first entered with."""
    merged: dict[str, Held] = {}
    for entry in [*sorted(old), *sorted(new)]:
        first = merged.setdefault(entry.problem, entry)
        if not first.words and not first.golds:  # entered before these were kept
            merged[entry.problem] = msgspec.structs.replace(entry, pool=first.pool)
    return sorted(merged.values())


def write_ledger(entries: Sequence[Held], path: Path) -> None:
    """Write the ledger whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".new")
    temporary.write_bytes(b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries))
    temporary.replace(path)


def held_out(nodes_path: Path, pools_path: Path) -> list[Held]:
    """Return an entry for every problem that the present split holds out; InputError when graph and split are of two
    builds.
    """
    import polars as pl

    nodes = {node.key: node for node in read_nodes(nodes_path)[0]}
    pools = dict(pl.read_parquet(pools_path, columns=["problem_key", "pool"]).rows())
    if nodes.keys() != pools.keys():
        raise InputError(f"{pools_path}: not the split of {nodes_path}; build first, then write the ledger")
    return sorted(entry_of(nodes[key], pool) for key, pool in pools.items() if pool != TRAIN)


def entry_of(node: Node, pool: str) -> Held:
    """Return the entry that promises this pool to a node."""
    return Held(node.key, node.spec, pool, _digests(node.tokens), _digests(node.gold_ids))


def promised_pools(nodes: Sequence[Node], ledger: Sequence[Held], params: SimilarityParams) -> dict[str, str]:
    """Return the pool that the ledger promises to the nodes it speaks of, the strictest where it names several.

    It speaks of a node by its key and its reward specification, and, once the promised problem has left the graph, by
    what would link the two there: a shared gold product, or like words.
    """
    promised: dict[str, str] = {}
    present = {node.key for node in nodes}
    named: dict[str, list[Held]] = defaultdict(list)
    for entry in ledger:
        named[entry.problem].append(entry)
        named[entry.spec].append(entry)
    links = [(node, entry) for node in nodes for name in (node.key, node.spec) for entry in named.get(name, ())]
    links += _links(nodes, [entry for entry in ledger if entry.problem not in present], params)
    for node, entry in links:
        if promised.get(node.key) != NEVER_TOUCH:
            promised[node.key] = entry.pool
    return promised


def _links(nodes: Sequence[Node], gone: Sequence[Held], params: SimilarityParams) -> Iterator[tuple[Node, Held]]:
    if not gone:
        return
    by_gold, by_word = _holders(node.gold_ids for node in nodes), _holders(node.tokens for node in nodes)
    for entry in gone:
        for at in sorted({at for gold in entry.golds for at in by_gold.get(gold, ())}):
            yield nodes[at], entry
        for at, shared in Counter(at for word in entry.words for at in by_word.get(word, ())).items():
            length = len(entry.words) + len(nodes[at].tokens)
            if 2 * params.denominator * shared >= params.numerator * length:
                yield nodes[at], entry


def _holders(texts: Iterable[Sequence[str]]) -> Mapping[str, list[int]]:
    """Positions of the lists that hold a text, by its digest."""
    holders: dict[str, list[int]] = defaultdict(list)
    for position, members in enumerate(texts):
        for digest in _digests(members):
            holders[digest].append(position)
    return holders


def _digests(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(map(_digest, texts)))


@lru_cache(maxsize=1 << 18)
def _digest(text: str) -> str:
    """SHA-256 cut at 48 bits: short lines, and no two of a million words are likely to meet."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
