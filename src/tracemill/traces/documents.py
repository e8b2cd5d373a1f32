"""Snapshots that are not one JSON text a line: a whole document, an array of documents, a parquet table with text
columns.

Each episode in them becomes a `Line` of its own, numbered from 1, so that all that follows knows one kind of snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from tracemill.errors import InputError
from tracemill.traces.jsontext import MAX_DEPTH
from tracemill.traces.lines import Line, read_lines
from tracemill.traces.scan import Scanner
from tracemill.traces.streams import read_blocks

_PARQUET = b"PAR1"
TEXT_COLUMNS = ("atif_json", "messages")
"""Columns of a parquet table that hold an episode as text."""
_BRACKETS = (b"{", b"[")


def read_episodes(
    path: Path, max_inflation: float, max_line_bytes: int, columns: Sequence[str] = TEXT_COLUMNS
) -> Iterator[Line]:
    """Yield the JSON text of each episode of a snapshot, whatever kind of file it is; of a parquet table that has one
    of `columns` as text, each row as an object.

    Raises InputError, naming file and line or byte, for a damaged file and a text over the limit.
    """
    with path.open("rb") as source:
        parquet = source.read(4) == _PARQUET
    if parquet:
        yield from _read_parquet(path, max_line_bytes, columns)
        return
    lines = read_lines(path, max_inflation, max_line_bytes)
    first = next(lines, None)
    if first is None:
        return
    if first.raw.strip() in _BRACKETS or _is_array(first.raw):
        yield from _read_document(path, max_inflation, max_line_bytes)
    else:
        yield from chain((first,), lines)


class _Mark(msgspec.Struct):
    schema_version: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    atif_json: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    messages: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    dialogue: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    query: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    completion: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_decode_marks = msgspec.json.Decoder(list[_Mark]).decode
_decode_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


def _is_array(raw: bytes) -> bool:
    """Whether a line is an array of whole episodes or problems rather than of one episode's steps."""
    if not raw.lstrip().startswith(b"["):
        return False
    try:
        marks = _decode_marks(raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return any(
        value is not msgspec.UNSET
        for mark in marks
        if mark.completion is msgspec.UNSET
        for value in (mark.schema_version, mark.atif_json, mark.messages, mark.dialogue, mark.query)
    )


def _read_document(path: Path, max_inflation: float, limit: int) -> Iterator[Line]:
    text = bytearray()
    for block in read_blocks(path, max_inflation):
        text += block
        if len(text) > limit:
            raise InputError(
                f"{path}: a document of more than {limit} bytes; write one document a line, or raise "
                "traces.normalise.max_line_megabytes"
            )
    whole = bytes(text).removeprefix(b"\xef\xbb\xbf")
    scanner = Scanner(MAX_DEPTH, lines=1)
    try:
        parts = [bytes(part) for part in _decode_list(whole)] if whole.lstrip().startswith(b"[") else [whole]
        if len(parts) == 1:
            msgspec.json.decode(parts[0], type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(
            f"{path}: neither JSON lines nor one JSON document ({error}); fetch the file again, or repair it"
        ) from error
    if whole.lstrip().startswith(b"[") and not _is_array(whole):
        parts = [whole]
    byte = 0
    for number, part in enumerate(parts, 1):
        byte = whole.find(part, byte)
        spelled, flags = scanner.text(part)
        yield Line(number, byte, flags, part, 0, len(part), spelled, True)
        byte += len(part)


def _read_parquet(path: Path, limit: int, columns: Sequence[str]) -> Iterator[Line]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    scanner = Scanner(MAX_DEPTH, lines=1)
    try:
        number, table = 0, pq.ParquetFile(path)
        kind = next((field.type for name in columns for field in table.schema_arrow if field.name == name), None)
        if kind is None or not _is_text(kind):
            raise InputError(
                f"{path}: a parquet table without a text column {' or '.join(f'`{name}`' for name in columns)} (found "
                f"{kind or 'none'}); nested columns merge the arguments of different tools, so convert it to JSON lines"
            )
        for batch in table.iter_batches(batch_size=16):
            for row in batch.to_pylist():
                number += 1
                raw = msgspec.json.encode(
                    {name: value for name, value in row.items() if value is not None}, enc_hook=str
                )
                if len(raw) > limit:
                    raise InputError(f"{path}: row {number}: more than {limit} bytes")
                text, flags = scanner.text(raw)
                yield Line(number, 0, flags, raw, 0, len(raw), text, True)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: a damaged parquet table ({error}); fetch the file again") from error
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"{path}: a value behind row {number} cannot be read ({error}); convert the table to JSON lines, or leave "
            "out the column"
        ) from error


def _is_text(kind: Any) -> bool:
    """Whether a column of this type gives texts: plain, JSON (as `datasets` writes it), or from a dictionary."""
    import pyarrow as pa

    inner = kind.storage_type if isinstance(kind, pa.JsonType) else kind
    inner = inner.value_type if pa.types.is_dictionary(inner) else inner
    return bool(pa.types.is_string(inner) or pa.types.is_large_string(inner) or pa.types.is_string_view(inner))
