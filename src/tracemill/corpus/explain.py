"""One trajectory in words: turn by turn, the gates it passed or failed, its measures, its axis evidence, its role."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from tracemill.corpus.axis import decide_axis
from tracemill.corpus.gates import CHECKS, Facts, ask_all
from tracemill.corpus.measures import measure, supported_turns
from tracemill.corpus.params import AxisParams, GateParams
from tracemill.errors import InputError
from tracemill.terminal import printable

TEXT_LIMIT = 600


def find_trajectory(tables: Sequence[Path], trajectory_id: str) -> dict[str, Any]:
    """Return the row whose id starts with `trajectory_id` from the snapshots' trajectory tables.

    Raises InputError when there is none, or when the beginning names several.
    """
    if not tables:
        raise InputError("no trajectory tables under data/traces; build them first: snakemake corpus")
    lazy = pl.concat([pl.scan_parquet(path) for path in tables])
    found = lazy.filter(pl.col("trajectory_id").str.starts_with(trajectory_id)).unique("trajectory_id").collect()
    if found.is_empty():
        raise InputError(f"no trajectory whose id starts with {trajectory_id!r} in {len(tables)} snapshots")
    if found.height > 1:
        raise InputError(f"{trajectory_id!r} begins {found.height} trajectory ids; give more of it")
    return dict(found.row(0, named=True))


def explain_trajectory(
    row: Mapping[str, Any], role: Mapping[str, Any] | None, gates: GateParams, axis: AxisParams
) -> Iterator[str]:
    """Yield the lines of the explanation, fit for a terminal; `role` is the row's entry in the corpus table, None where
    it has none.
    """
    return map(printable, _explain(row, role, gates, axis))


def _explain(
    row: Mapping[str, Any], role: Mapping[str, Any] | None, gates: GateParams, axis: AxisParams
) -> Iterator[str]:
    measures = measure(row["messages"])
    yield f"trajectory {row['trajectory_id']}"
    yield f"  snapshot {row['snapshot_digest'][:16]}, line {row['line']}, status {row['status']}"
    yield f"  miner {row['miner'] or 'unknown'}, agent {row['agent_version'] or 'unknown'}"
    category = row["category"] or (role or {}).get("category") or "unknown category"
    yield f"  problem {row['problem_id']} ({category}): {_cut(row['query'])}"
    yield "turns"
    yield from _turns(msgspec.json.decode(row["messages"]), msgspec.json.decode(row["turns"]))
    yield "gates"
    answers = ask_all(Facts(row, measures, len(row["messages"].encode())), gates)
    for (gate, reason, _), answer in zip(CHECKS, answers, strict=True):
        yield f"  {'FAIL' if answer else 'pass'} {gate}: {reason}{': ' + answer.detail if answer else ''}"
    supported = None
    if row["has_proxy_log"]:
        supported = supported_turns(row["turns"], measures.acts, axis.min_completion_tokens)
    verdict = decide_axis(measures, supported, axis)
    yield f"axis {verdict.axis} by {verdict.basis}: {verdict.evidence}"
    yield "measures"
    for name in ("think_and_call_turns", "thinking_turns", "batched_turns", "acting_turns", "template_share"):
        yield f"  {name}: {getattr(measures, name)}"
    for name in ("distinct_queries", "verified_recommendation", "repeated_calls", "recommended_ids"):
        yield f"  {name}: {row[name]}"
    if role is None:
        yield "role none: a gate dropped it, or the corpus is not built yet"
    else:
        detail = f": {role['role_detail']}" if role["role_detail"] else ""
        yield f"role {role['role']}, rank {role['rank']} in its problem{detail}"


def _turns(messages: Sequence[Mapping[str, Any]], turns: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    position = 0
    for message in messages:
        if message["role"] != "assistant":
            name = f" {message['name']}" if message.get("name") else ""
            yield f"  {message['role']}{name}: {_cut(message['content'])}"
            continue
        turn = turns[position] if position < len(turns) else {}
        position += 1
        tokens = turn.get("inference_tokens")
        seen = "no proxy log" if tokens is None else f"largest inference call before it: {tokens} tokens"
        yield f"  assistant turn {position} ({seen})"
        for kind in ("reasoning_content", "content"):
            if message.get(kind):
                yield f"    {'think' if kind == 'reasoning_content' else 'says'}: {_cut(message[kind])}"
        for call in message.get("tool_calls") or []:
            arguments = msgspec.json.encode(call["function"]["arguments"]).decode()
            yield f"    calls {call['function']['name']}({_cut(arguments)})"


def _cut(value: Any) -> str:
    text = str(value or "")
    return text if len(text) <= TEXT_LIMIT else f"{text[:TEXT_LIMIT]} … ({len(text) - TEXT_LIMIT} more)"
