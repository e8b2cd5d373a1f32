"""The ledger of held-out problems: what has ever been promised to stay out of training, committed by the user.

Minimum hashes keep that promise while nothing is removed. Users do remove snapshots, and a cluster that falls apart
could set a held-out problem free; the ledger is a small text file outside the build that remembers it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from tracemill.errors import InputError

LEDGER = Path("data/ledger/held_out.jsonl")


class Held(msgspec.Struct, frozen=True, order=True, forbid_unknown_fields=True):
    """One held-out problem: its key, its reward specification's key, and the pool it was in."""

    problem: str
    spec: str
    pool: str


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
        merged.setdefault(entry.problem, entry)
    return sorted(merged.values())


def write_ledger(entries: Sequence[Held], path: Path) -> None:
    """Write the ledger whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".new")
    temporary.write_bytes(b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries))
    temporary.replace(path)


def held_out(nodes_path: Path, pools_path: Path) -> list[Held]:
    """Return an entry for every problem that the present split holds out."""
    import polars as pl

    specs = dict(pl.read_parquet(nodes_path, columns=["node", "spec"]).rows())
    pools = pl.read_parquet(pools_path, columns=["problem_key", "pool"]).unique().rows()
    return sorted(Held(key, specs[key], pool) for key, pool in pools if pool != "train")
