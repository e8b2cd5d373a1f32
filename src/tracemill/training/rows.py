"""Which conversations a stage trains on, and the tables they are kept in.

Corpus rows pass the leak guard here a second time: a row of a held-out problem, or one that recommends a held-out
product, is counted and left out. What is left goes through the mask gate.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tracemill.environment.params import PlayParams
from tracemill.errors import InputError
from tracemill.leakage.pools import Pools
from tracemill.training.masks import Candidate, MaskReport, Row
from tracemill.training.renderer import RowDefect, training_messages

Chat = Candidate | tuple[str, RowDefect]
"""A conversation, or the name of one with the defect that keeps it out."""

CORPUS_COLUMNS = (
    "snapshot_digest",
    "line",
    "problem_id",
    "problem_key",
    "category",
    "messages",
    "recommended_ids",
    "role",
)
SFT_ROLE, UNDESIRABLE_ROLE = "sft", "undesirable"


def corpus_chats(corpus: Path, pools: Pools, play: PlayParams, role: str = SFT_ROLE) -> Iterator[Chat]:
    """Conversations of the corpus rows of one role, in the corpus's order; a row is named `DIGEST:LINE`."""
    for row in read_corpus(corpus):
        if row["role"] != role:
            continue
        name = f"{row['snapshot_digest'][:12]}:{row['line']}"
        refused = pools.refuse_key(row["problem_key"], row["recommended_ids"] or ())
        if refused is not None:
            yield name, RowDefect(refused, f"problem {row['problem_id']}")
            continue
        chat = chat_of(name, "corpus", row["problem_key"], row["category"], json.loads(row["messages"]), play)
        yield chat if isinstance(chat, tuple) else msgspec.structs.replace(chat, desirable=role == SFT_ROLE)


def chat_of(
    name: str,
    source: str,
    problem: str,
    category: str | None,
    messages: Sequence[Mapping[str, Any]],
    play: PlayParams,
    rendered: bool = False,
) -> Chat:
    """One conversation as rollouts show it, or its defect; `rendered`: its tool results are observations already."""
    try:
        shown = training_messages(messages, play, rendered)
    except RowDefect as defect:
        return name, defect
    return Candidate(name=name, source=source, problem_id=problem, category=category or "unknown", messages=shown)


def read_corpus(corpus: Path) -> Iterator[dict[str, Any]]:
    """Yield the columns CORPUS_COLUMNS of the corpus, row by row; InputError where one is missing."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(corpus) as table:
        missing = set(CORPUS_COLUMNS) - set(table.schema_arrow.names)
        if missing:
            raise InputError(f"{corpus}: no column {sorted(missing)[0]!r}; build assemble_corpus again")
        for batch in table.iter_batches(256, columns=list(CORPUS_COLUMNS)):
            yield from batch.to_pylist()


def upsample(rows: Sequence[Row], factors: Mapping[str, int]) -> list[Row]:
    """Repeat the rows of a category `factors[category]` times; order is kept, repeats stand together."""
    return [row for row in rows for _ in range(factors.get(row.category, 1))]


def write_rows(rows: Iterable[Row], path: Path) -> None:
    """Write rows as parquet; `input_ids` and `labels` are lists of int32."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = ("name", "source", "problem_id", "category")
    fields = [(name, pa.string()) for name in texts]
    fields += [(name, pa.list_(pa.int32())) for name in ("input_ids", "labels")]
    schema = pa.schema([*fields, ("desirable", pa.bool_())])
    table = pa.Table.from_pylist([msgspec.to_builtins(row) for row in rows], schema=schema)
    pq.write_table(table, path, compression="zstd")


def write_report(report: MaskReport, path: Path) -> None:
    """Write the gate's report as JSON."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n")


def write_passed(path: Path) -> None:
    """Write the constant file on which training depends: changed counts retrain nothing."""
    path.write_text("passed\n", encoding="ascii")
