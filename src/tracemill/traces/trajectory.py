"""The canonical trajectory: one form for every way in which an arena writes an episode down.

Messages are OpenAI chat messages. An assistant message is `{"role": "assistant", "content": str, "reasoning_content":
str, "tool_calls": [{"id": "call_0", "type": "function", "function": {"name": str, "arguments": object}}]}`; keys
without a value are left out. A tool message is `{"role": "tool", "tool_call_id": "call_0", "name": str, "content":
str}` where `content` is the JSON text of the tool's result. Call ids count up from `call_0` over the whole trajectory
(SN15's own id is a hash of name and parameters, so a retried call collides). Tool definitions are nested. Values whose
type varies between tools are kept as JSON text in the table: column-typed storage silently merges or drops them.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Turn(msgspec.Struct, frozen=True):
    """What is known about one assistant turn beside its message."""

    step: int
    """Position of the turn in the source, from 0."""
    timestamp: Any = None
    """`extra_info.timestamp` exactly as written (the format score depends on its type); milliseconds where a number."""
    inference_tokens: int | None = None
    """Completion tokens of the largest inference call that the validator's proxy log shows between the previous tool
    execution and this turn's; 0 where it shows none, None where the trajectory has no proxy log. The axis gate sets
    the threshold."""
    batched: bool = False
    """Whether the turn holds several calls of the same tool."""


class Trajectory(msgspec.Struct, frozen=True, kw_only=True):
    """One episode with its provenance, outcome and evidence; the unit of everything after normalisation."""

    trajectory_id: str
    """SHA-256 (hex) of problem, messages and tools in canonical JSON: equal content has an equal id."""
    problem_id: str
    category: str | None = None
    query: str
    reward: dict[str, Any] | list[dict[str, Any]] | None = None
    voucher: dict[str, Any] | None = None
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    turns: list[Turn]
    # provenance
    snapshot_digest: str
    line: int
    miner: str | None = None
    agent_version: str | None = None
    validator: str | None = None
    scorer_version: str | None = None
    status: str = "SUCCESS"
    # outcome as the arena saw it (never trusted for training: tracemill scores again)
    arena_score: dict[str, Any] | None = None
    reasoning_score: float | None = None
    reasoning_coefficient: float | None = None
    judge_model: str | None = None
    # proxy evidence
    has_proxy_log: bool = False
    inference_calls: int = 0
    completion_tokens: int = 0
    searches: int = 0
    # structural measures
    acting_turns: int = 0
    call_count: int = 0
    think_characters: int = 0
    distinct_queries: int = 0
    verified_recommendation: bool = False
    repeated_calls: int = 0
    recommended_ids: list[str] = []
    recommend_count: int = 0
    unpaired: str | None = None
    """Names the first tool call without a result ("step 2, call 1: find_product"), None where all are paired."""
    unparsable: str | None = None
    """Names the first recommendation whose arguments give no product ids, None where all can be read."""
    terminated: bool = False


JSON_COLUMNS = ("reward", "voucher", "messages", "tools", "turns", "arena_score")
"""Fields of Trajectory that the parquet table keeps as JSON text."""
