"""SN15 sandbox envelopes: one object a line, `{problem_id, status, dialogue, ...}` with optional scores and
provenance.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tracemill.traces.draft import Draft
from tracemill.traces.readers.steps import SourceStep, read_query, read_turns
from tracemill.traces.rejects import BAD_SHAPE, EMPTY, FAILED, TIMED_OUT, UNKNOWN_STATUS, Rejected

STATUSES = {"SUCCESS": None, "FAILED": FAILED, "TIMED_OUT": TIMED_OUT}
"""What the sandbox writes, with the reason for which an episode of that status is put aside."""


class _Reasoning(msgspec.Struct, gc=False):
    score: float | None = None
    model: str | None = None


class _Problem(msgspec.Struct, gc=False):
    query: str | None = None
    category: str | None = None
    reward: dict[str, Any] | list[dict[str, Any]] | None = None
    voucher: dict[str, Any] | None = None


class _Envelope(_Problem, gc=False, kw_only=True):
    problem_id: str
    status: str
    dialogue: list[SourceStep] | None = None
    problem: _Problem | None = None
    miner_hotkey: str | None = None
    agent_version_id: str | int | None = None
    validator_hotkey: str | None = None
    score: dict[str, Any] | None = None
    reasoning: _Reasoning | None = None
    scoring_version: str | int | float | None = None


decode = msgspec.json.Decoder(_Envelope).decode
"""Typed decoding of one line, results left as raw text; the bare cost of parsing."""


def read(line: bytes) -> Draft:
    """Return the episode of one line; Rejected with the status or emptiness, msgspec.ValidationError for a wrong
    shape.
    """
    source = decode(line)
    if not source.problem_id:
        raise Rejected(BAD_SHAPE, "`problem_id` is empty")
    if source.status not in STATUSES:
        raise Rejected(UNKNOWN_STATUS, f"status {source.status!r}, expected one of {', '.join(STATUSES)}")
    reason = STATUSES[source.status]
    if reason is not None:
        raise Rejected(reason, f"the sandbox ended with {source.status}")
    if not source.dialogue:
        raise Rejected(EMPTY, "no dialogue" if source.dialogue is None else "a dialogue without steps")
    spec = source.problem or source
    return Draft(
        problem_id=source.problem_id,
        category=spec.category,
        query=spec.query if spec.query is not None else read_query(source.dialogue),
        reward=spec.reward,
        voucher=spec.voucher,
        turns=read_turns(source.dialogue),
        miner=source.miner_hotkey,
        agent_version=_text(source.agent_version_id),
        validator=source.validator_hotkey,
        scorer_version=_text(source.scoring_version),
        status=source.status,
        arena_score=source.score,
        reasoning_score=source.reasoning.score if source.reasoning else None,
        judge_model=source.reasoning.model if source.reasoning else None,
    )


def _text(value: str | int | float | None) -> str | None:
    return None if value is None else str(value)
