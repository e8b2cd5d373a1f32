"""The train and eval pools as a Hugging Face dataset folder, with a card that says what is in it and how it was
guarded.

Rows are the chats that training renders: the environment's own prompt, tools and observations, control strings of
strangers broken. `messages` and `tools` are columns of type `datasets.Json`: a plain text column is accepted by
SFTTrainer, which then keeps no row and says nothing; nested columns fill the keys of other rows with nulls.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from tracemill import __version__
from tracemill.environment.chat import safe_messages
from tracemill.environment.params import PlayParams
from tracemill.environment.tools import TOOLS
from tracemill.errors import InputError, StageError
from tracemill.leakage.pools import EVAL, TRAIN, Pools, read_pools
from tracemill.training.rows import SFT_ROLE, chat_of, read_corpus

SHARD_ROWS = 20_000
_CARD = """---
license: other
license_name: see-the-source-of-the-traces
task_categories: [text-generation]
configs:
- config_name: default
  data_files:
  - split: train
    path: data/train-*.parquet
  - split: eval
    path: data/eval-*.parquet
---
# Shopping-agent traces, filtered and guarded

Built by tracemill {version}. `messages` and `tools` are OpenAI chat messages and nested tool definitions, ready for
`trl.SFTTrainer` with assistant-only loss. The licence is that of the traces; fill it in before you publish.

| split | rows | problems | {categories} |
|---|---|---|{rules}
{splits}

## How it was filtered
{funnel}

## How it was guarded
Problems that share a gold product, or whose text is alike (token Dice), form one leak cluster; a cluster lies in one
pool. Rows of problems that touch a protected benchmark, and rows that recommend a held-out product, are left out.

{pools}

## From what
{digests}
"""


def export_dataset(data: Path, output: Path, play: PlayParams) -> dict[str, int]:
    """Write `output` from the built artifacts under `data`; returns the rows of each split.

    Raises StageError when the corpus or the split is not built, InputError when `output` exists.
    """
    corpus, pools = data / "corpus" / "corpus.parquet", data / "leakage" / "pools.parquet"
    for path in (corpus, pools):
        if not path.is_file():
            raise StageError(f"{path} is not built yet; run `snakemake --cores all` first")
    if output.exists():
        raise InputError(f"{output} exists already; remove it or choose another folder with --output")
    split = read_pools(pools)
    rows = {pool: list(_rows(corpus, split, play, pool)) for pool in (TRAIN, EVAL)}
    temporary = output.with_name(output.name + ".partial")
    (temporary / "data").mkdir(parents=True)
    for pool, chosen in rows.items():
        _write_shards(chosen, temporary / "data", pool)
    (temporary / "README.md").write_text(_card(data, rows), encoding="utf-8")
    temporary.rename(output)
    return {pool: len(chosen) for pool, chosen in rows.items()}


def _rows(corpus: Path, split: Pools, play: PlayParams, pool: str) -> Iterator[dict[str, Any]]:
    wanted = None if pool == TRAIN else f"pool_{pool}"
    for row in read_corpus(corpus):
        if row["role"] != SFT_ROLE or split.refuse_key(row["problem_key"], row["recommended_ids"] or ()) != wanted:
            continue
        name = f"{row['snapshot_digest'][:12]}:{row['line']}"
        messages = msgspec.json.decode(row["messages"])
        chat = chat_of(name, "corpus", row["problem_key"], row["category"], messages, play)
        if isinstance(chat, tuple):  # the mask gate counts it by its reason; no trainer could use it
            continue
        yield {
            "id": name,
            "problem_id": row["problem_id"],
            "problem_key": row["problem_key"],
            "category": chat.category,
            "messages": safe_messages(chat.messages),
            "tools": TOOLS,
        }


def _write_shards(rows: list[dict[str, Any]], folder: Path, split: str) -> None:
    import datasets

    texts = {name: datasets.Value("string") for name in ("id", "problem_id", "problem_key", "category")}
    features = datasets.Features({**texts, "messages": datasets.Json(), "tools": datasets.Json()})
    shards = max(1, -(-len(rows) // SHARD_ROWS))
    for number in range(shards):
        part = rows[number * SHARD_ROWS : (number + 1) * SHARD_ROWS]
        columns = {name: [_cell(row[name]) for row in part] for name in features}
        table = datasets.Dataset.from_dict(columns, features=features)
        table.to_parquet(folder / f"{split}-{number:05d}-of-{shards:05d}.parquet")


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _card(data: Path, rows: Mapping[str, list[dict[str, Any]]]) -> str:
    categories = sorted({row["category"] for chosen in rows.values() for row in chosen})
    lines = []
    for pool, chosen in rows.items():
        found = Counter(row["category"] for row in chosen)
        problems = len({row["problem_key"] for row in chosen})
        lines.append(f"| {pool} | {len(chosen)} | {problems} | {' | '.join(str(found[c]) for c in categories)} |")
    funnel = msgspec.json.decode((data / "corpus" / "summary.json").read_bytes())
    shares = msgspec.json.decode((data / "leakage" / "shares.json").read_bytes())
    digests = {path.name: _digest(path) for path in sorted(data.glob("*/*.parquet"))}
    return _CARD.format(
        version=__version__,
        categories=" | ".join(categories),
        rules="---|" * len(categories),
        splits="\n".join(lines),
        funnel=_list({"rows that passed the row gates": funnel["in"], **funnel["roles"]}),
        pools=_list({f"problems in pool {pool}": n for pool, n in shares["problems"].items()}),
        digests=_list({f"`{name}` (SHA-256)": digest for name, digest in digests.items()}),
    )


def _digest(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _list(entries: Mapping[str, Any]) -> str:
    return "\n".join(f"- {name}: {value}" for name, value in entries.items())
