"""The corpus: all snapshots' kept rows, duplicates removed, ranked, capped, with their messages.

Snapshots are told apart by the digest of their bytes, never by name: one listed twice counts once, and renaming or
reordering the list gives the same corpus, byte for byte. Rows stand in the order (snapshot digest, line).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tracemill.corpus.params import AxisParams, DedupParams, RankingParams
from tracemill.corpus.ranking import LEFT_BEHIND, RANKED, SFT, UNDESIRABLE, assign_roles
from tracemill.errors import InputError
from tracemill.traces.batches import read_batches

BATCH_ROWS = 512
PLACE = ("snapshot_digest", "line")
ADDED = ("category", "gold_ids", "problem_key", "axis", "axis_basis", "success", "role", "rank")
"""Columns of the corpus beyond those of the trajectory table; `category` is the scored problem's, not the trace's
claim."""


def assemble_corpus(
    kept: Sequence[Path],
    trajectories: Sequence[Path],
    *,
    corpus: Path,
    table: Path,
    summary: Path,
    axis: AxisParams,
    dedup: DedupParams,
    ranking: RankingParams,
) -> None:
    """Write the corpus (rows of role `sft` and `undesirable`, with messages), the table of all rows with their roles,
    counts.

    `kept` and `trajectories` are paired by position: what one snapshot's filter kept, and its trajectory table.
    """
    sources = _distinct_snapshots(kept, trajectories)
    files = [path for path, _ in sources.values()]
    light = [name for name in pq.read_schema(files[0]).names if name != "thoughts"]
    rows = pl.concat([pl.read_parquet(path, columns=light) for path in files]).sort(PLACE)
    compared = rows.join(_comparable_thoughts(rows, files), on=PLACE, how="left", maintain_order="left")
    roles = assign_roles(compared.select(RANKED).rows(named=True), axis, dedup, ranking)
    rows = rows.with_columns(
        pl.Series("role", [r.role for r in roles], pl.String),
        pl.Series("role_detail", [r.detail for r in roles], pl.String),
        pl.Series("rank", [r.rank for r in roles], pl.Int64),
    )
    rows.write_parquet(table)
    chosen = rows.filter(pl.col("role").is_in([SFT, UNDESIRABLE]))
    _write_corpus(chosen, {digest: path for digest, (_, path) in sources.items()}, corpus)
    summary.write_bytes(msgspec.json.format(msgspec.json.encode(summarise(rows), order="sorted")) + b"\n")


def _comparable_thoughts(rows: pl.DataFrame, files: Sequence[Path]) -> pl.DataFrame:
    """The thoughts of rows that made the calls of another row of their problem; all others are never compared, and
    together the thoughts are most of the kept tables."""
    twins = rows.filter(pl.col("trajectory_id").n_unique().over("problem_key", "action_signature") > 1)
    tables = (pl.read_parquet(path, columns=[*PLACE, "thoughts"]) for path in files)
    return pl.concat([table.join(twins, on=PLACE, how="semi") for table in tables])


def _distinct_snapshots(kept: Sequence[Path], trajectories: Sequence[Path]) -> dict[str, tuple[Path, Path]]:
    sources: dict[str, tuple[Path, Path]] = {}
    for kept_path, trajectory_path in zip(kept, trajectories, strict=True):
        digests = pl.read_parquet(kept_path, columns=["snapshot_digest"])["snapshot_digest"].unique().to_list()
        if len(digests) > 1:
            raise InputError(f"{kept_path}: rows of {len(digests)} snapshots, expected one; build filter_traces again")
        # a snapshot of which nothing was kept has no digest here, and nothing to add
        sources.setdefault(digests[0] if digests else "", (kept_path, trajectory_path))
    return dict(sorted(sources.items()))


def _write_corpus(chosen: pl.DataFrame, tables: dict[str, Path], corpus: Path) -> None:
    writer: pq.ParquetWriter | None = None
    try:
        for digest, path in tables.items():
            wanted = chosen.filter(pl.col("snapshot_digest") == digest)
            for batch in _chosen_rows(path, wanted):
                writer = writer or pq.ParquetWriter(corpus, batch.schema, compression="zstd")
                writer.write_table(batch)
            if writer is None:  # no row at all so far: the schema must still be there
                writer = pq.ParquetWriter(
                    corpus, _joined(_empty(path), wanted.clear().select(ADDED).to_arrow()).schema, compression="zstd"
                )
    finally:
        if writer is not None:
            writer.close()


def _empty(path: Path) -> pa.Table:
    return pq.read_schema(path).empty_table()


def _chosen_rows(path: Path, wanted: pl.DataFrame) -> Iterator[pa.Table]:
    if wanted.is_empty():
        return
    wanted = wanted.sort("line")
    lines, added = wanted["line"].to_arrow(), wanted.select(ADDED).to_arrow()
    for batch in read_batches(path, BATCH_ROWS):
        place = pc.index_in(batch.column("line").cast(pa.int64()), value_set=lines)
        rows = pa.Table.from_batches([batch]).filter(pc.is_valid(place))
        if rows.num_rows:
            yield _joined(rows, added.take(place.drop_null()))


def _joined(rows: pa.Table, added: pa.Table) -> pa.Table:
    rows = rows.drop_columns(["category"])
    for name in ADDED:
        rows = rows.append_column(name, added.column(name))
    return rows


def summarise(rows: pl.DataFrame) -> dict[str, Any]:
    """Counts of the assembled table: rows, roles (zeros included), SFT rows by category and axis basis, problems."""
    roles = Counter(rows["role"].to_list())
    sft = rows.filter(pl.col("role") == SFT)
    return {
        "in": rows.height,
        "roles": {role: roles[role] for role in (SFT, UNDESIRABLE, *LEFT_BEHIND)},
        "sft_by_category": dict(sorted(Counter(str(c) for c in sft["category"]).items())),
        "sft_by_axis_basis": dict(sorted(Counter(sft["axis_basis"].to_list()).items())),
        "sft_problems": sft["problem_key"].n_unique(),
        "snapshots": rows["snapshot_digest"].n_unique(),
    }
