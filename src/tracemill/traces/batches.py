"""Tables of trajectories, a few rows in memory at a time; light to import."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def read_batches(path: Path, rows: int, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield a table in batches of at most `rows`, none over the border of a row group: these are bounded in bytes."""
    with pq.ParquetFile(path) as table:
        for group in range(table.num_row_groups):
            yield from table.iter_batches(rows, row_groups=[group], columns=columns)
