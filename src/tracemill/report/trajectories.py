"""Trajectories packed for the page's browser: a small index that is searched, and bodies in compressed chunks.

A page with thousands of trajectories stays small and opens at once, because a chunk is unpacked only when one of its
trajectories is opened. Compression carries no clock: the same trajectories give the same bytes.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

CHUNK = 50


class Entry(msgspec.Struct, frozen=True):
    """One trajectory on the page."""

    id: str
    set: str
    """Where it comes from: `evaluation of sft`, `corpus`, ..."""
    problem: str
    category: str
    query: str
    outcome: str
    success: bool | None
    facts: str
    why: list[str]
    """Why it failed: what was wanted and what was found, one line an axis."""
    messages: list[dict[str, Any]]
    """Role, and where present name, think, content, calls (name, arguments)."""


def page_messages(messages: Iterable[Mapping[str, Any]], limit: int) -> list[dict[str, Any]]:
    """Return OpenAI chat messages as the page shows them; texts over `limit` characters are cut and say so."""
    shown = []
    for message in messages:
        row: dict[str, Any] = {"role": str(message.get("role"))}
        if message.get("name"):
            row["name"] = _cut(str(message["name"]), 80)
        if message.get("reasoning_content"):
            row["think"] = _cut(str(message["reasoning_content"]), limit)
        if message.get("content"):
            row["content"] = _cut(_text(message["content"]), limit)
        calls = [call["function"] for call in message.get("tool_calls") or []]
        if calls:
            row["calls"] = [
                {"name": _cut(str(call["name"]), 80), "arguments": _cut(_text(call.get("arguments")), limit)}
                for call in calls
            ]
        shown.append(row)
    return shown


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]} … ({len(text) - limit} more characters)"


def pack(entries: Iterable[Entry]) -> tuple[str, list[str]]:
    """Return (index, chunks): base64 of gzip of JSON, the index pointing into the chunks by number and place."""
    index: list[dict[str, Any]] = []
    chunks: list[str] = []
    bodies: list[dict[str, Any]] = []
    for entry in entries:
        index.append(
            {
                "id": entry.id,
                "set": entry.set,
                "problem": entry.problem,
                "category": entry.category,
                "query": entry.query[:400],
                "outcome": entry.outcome,
                "success": entry.success,
                "chunk": len(chunks),
                "place": len(bodies),
            }
        )
        bodies.append({"facts": entry.facts, "why": entry.why, "messages": entry.messages})
        if len(bodies) == CHUNK:
            chunks.append(_squeeze(bodies))
            bodies = []
    if bodies:
        chunks.append(_squeeze(bodies))
    return _squeeze(index), chunks


def _squeeze(value: Any) -> str:
    return base64.b64encode(gzip.compress(msgspec.json.encode(value), 9, mtime=0)).decode()
