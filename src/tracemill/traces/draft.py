"""What every reader hands over: the parts of an episode under their source's conventions, not yet messages.

The four raw formats differ in where they put things; a draft has one place for each. Nothing is made safe or measured
here.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tracemill.traces.trajectory import Turn


class Usage(msgspec.Struct, gc=False):
    """`usage` of an inference response."""

    completion_tokens: int | None = None


class ProxyResponse(msgspec.Struct, gc=False):
    """What the proxy keeps of a response."""

    usage: Usage | None = None


class ProxyCall(msgspec.Struct, gc=False):
    """One request that the validator's proxy saw, under SN15's names."""

    path: str | None = None
    status_code: int | None = None
    response: ProxyResponse | list[msgspec.Raw] | str | float | bool | None = None


class DraftCall(msgspec.Struct, gc=False):
    """A tool call with its result; `result` is JSON text as written (bytes), None where the source holds none."""

    name: str
    arguments: Any
    result: bytes | None
    unread: bool = False
    """Whether SN15's own form holds the arguments as text: production passes such a call over, whatever it says."""


class DraftTurn(msgspec.Struct, gc=False):
    """One assistant turn."""

    think: str | None
    content: str
    calls: list[DraftCall]
    timestamp: Any = None
    proxy: list[ProxyCall] | None = None


class Evidence(msgspec.Struct):
    """What the validator's log of an episode shows."""

    turns: list[Turn]
    has_proxy_log: bool
    inference_calls: int = 0
    """Answered inference requests."""
    completion_tokens: int = 0
    searches: int = 0


class Draft(msgspec.Struct, kw_only=True, gc=False):
    """One episode as read."""

    problem_id: str | None = None
    category: str | None = None
    query: str | None = None
    reward: dict[str, Any] | list[dict[str, Any]] | None = None
    voucher: dict[str, Any] | None = None
    turns: list[DraftTurn]
    tools: list[dict[str, Any]] | None = None
    miner: str | None = None
    agent_version: str | None = None
    validator: str | None = None
    scorer_version: str | None = None
    status: str = "SUCCESS"
    arena_score: dict[str, Any] | None = None
    reasoning_score: float | None = None
    judge_model: str | None = None
    evidence: Evidence | None = None
    """Where the source holds it worked out; else it is read from the proxy calls of the turns."""
