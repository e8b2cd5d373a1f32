"""The tables of a snapshot: trajectories, rejects and problems as parquet, written in row groups of bounded size.

Values whose type varies stand as JSON text (`trajectory.JSON_COLUMNS`). Texts go to Arrow as bytes of whole
columns, never through nested Python objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tracemill.traces.batches import read_batches
from tracemill.traces.normalise import Normalised
from tracemill.traces.problems import SeenProblem
from tracemill.traces.rejects import Reject
from tracemill.traces.trajectory import JSON_COLUMNS, Trajectory

_encode = msgspec.json.encode
_GROUP_BYTES = 64 << 20
_GROUP_ROWS = 8192
_TYPES: dict[str, Any] = {
    "line": pa.int64(),
    "byte": pa.int64(),
    "raw": pa.binary(),
    "first_line": pa.int64(),
    "lines": pa.int64(),
    "kept": pa.int64(),
    "reasoning_score": pa.float64(),
    "reasoning_coefficient": pa.float64(),
    "has_proxy_log": pa.bool_(),
    "inference_calls": pa.int64(),
    "completion_tokens": pa.int64(),
    "searches": pa.int64(),
    "acting_turns": pa.int64(),
    "call_count": pa.int64(),
    "think_characters": pa.int64(),
    "distinct_queries": pa.int64(),
    "verified_recommendation": pa.bool_(),
    "repeated_calls": pa.int64(),
    "recommended_ids": pa.list_(pa.string()),
    "recommend_count": pa.int64(),
    "terminated": pa.bool_(),
}


def schema_of(row: type[msgspec.Struct]) -> pa.Schema:
    """Arrow schema of a row type; everything not listed above is text."""
    return pa.schema([(name, _TYPES.get(name, pa.string())) for name in row.__struct_fields__])


TRAJECTORIES = schema_of(Trajectory)
_REJECTS = schema_of(Reject)
_STORAGE: dict[str, Any] = {
    "compression": "snappy",
    "write_statistics": False,
    "use_dictionary": [
        "tools",
        "problem_id",
        "category",
        "miner",
        "agent_version",
        "validator",
        "snapshot_digest",
        "status",
    ],
}
_PLAIN = tuple(name for name in Trajectory.__struct_fields__ if name not in JSON_COLUMNS)


class TrajectoryWriter:
    """Writes trajectories.parquet; use it as a context manager."""

    def __init__(self, path: Path) -> None:
        self._writer = pq.ParquetWriter(path, TRAJECTORIES, **_STORAGE)
        self._columns: dict[str, list[Any]] = {name: [] for name in TRAJECTORIES.names}
        self._bytes = 0

    def add(self, row: Normalised) -> None:
        """Take one trajectory; writes a row group when enough has come together."""
        trajectory, columns = row.trajectory, self._columns
        for name in _PLAIN:
            value = getattr(trajectory, name)
            columns[name].append(value)
            self._bytes += len(value) if isinstance(value, str) else 0
        texts = {"messages": row.messages, "tools": row.tools, "turns": _encode(trajectory.turns)}
        for name in ("reward", "voucher", "arena_score"):
            given = getattr(trajectory, name)
            texts[name] = b"" if given is None else _encode(given)
        for name, text in texts.items():
            columns[name].append(text or None)
            self._bytes += len(text)
        if self._bytes >= _GROUP_BYTES or len(columns["line"]) >= _GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        arrays = [_array(self._columns[field.name], field) for field in TRAJECTORIES]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=TRAJECTORIES))
        for column in self._columns.values():
            column.clear()
        self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._columns["line"]:
            self._flush()
        self._writer.close()


def _array(values: list[Any], field: pa.Field) -> pa.Array:
    """A column as Arrow's; long texts are joined at once, which costs one copy."""
    if field.name not in ("messages", "tools", "turns"):
        return pa.array(values, type=field.type)
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum([len(value) for value in values], out=offsets[1:])
    return pa.StringArray.from_buffers(len(values), pa.py_buffer(offsets), pa.py_buffer(b"".join(values)))


class RejectWriter:
    """Writes rejects.parquet, in the order of the lines; use it as a context manager."""

    def __init__(self, path: Path) -> None:
        self._writer = pq.ParquetWriter(path, _REJECTS, compression="zstd")
        self._rows: list[Reject] = []

    def add(self, row: Reject) -> None:
        """Take one reject."""
        self._rows.append(row)
        if len(self._rows) >= _GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        self._writer.write_table(_table(self._rows, _REJECTS))
        self._rows.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._rows:
            self._flush()
        self._writer.close()


def write_problems(problems: Sequence[SeenProblem], path: Path) -> None:
    """Write problems.parquet; reward and voucher as JSON text."""
    pq.write_table(_table(problems, schema_of(SeenProblem)), path, compression="zstd")


def _table(rows: Sequence[msgspec.Struct], schema: pa.Schema) -> pa.Table:
    arrays = [pa.array([_cell(getattr(row, field.name)) for row in rows], type=field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _cell(value: Any) -> Any:
    return _encode(value) if isinstance(value, (dict, list)) else value


def read_trajectories(path: Path) -> Iterator[Trajectory]:
    """Yield the trajectories of a table, JSON text decoded, a few rows in memory at a time."""
    for batch in read_batches(path, 64):
        for row in batch.to_pylist():
            for name in JSON_COLUMNS:
                if row[name] is not None:
                    row[name] = msgspec.json.decode(row[name])
            yield msgspec.convert(row, Trajectory)
