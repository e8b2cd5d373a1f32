"""The row gates: a judged reasoning quality, and the five hard rejects of the format.

A check answers None to keep a row, or in words why it is dropped. Order and rejects are the paper's: reasoning
coefficient; then a call without a result, a thought that ends without an act, not exactly one recommendation,
recommendation arguments that cannot be read, a row over the token budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from tracemill.corpus.measures import Measures
from tracemill.corpus.params import GateParams


class Facts(msgspec.Struct, frozen=True):
    """What the checks look at: a row of the trajectory table, its measures, and the length of its messages in bytes."""

    row: Mapping[str, Any]
    measures: Measures
    message_bytes: int


class Reject(msgspec.Struct, frozen=True):
    """Why a row is dropped."""

    gate: str
    reason: str
    detail: str


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


Check = Callable[[Facts, GateParams], str | None]


def _unjudged(facts: Facts, params: GateParams) -> str | None:
    if facts.row["reasoning_coefficient"] is None and params.unjudged == "drop":
        return "no judge has rated this row"
    return None


def _low_reasoning(facts: Facts, params: GateParams) -> str | None:
    coefficient = facts.row["reasoning_coefficient"]
    if coefficient is not None and coefficient < params.min_reasoning_coefficient:
        return f"coefficient {coefficient:.4f} is below {params.min_reasoning_coefficient}"
    return None


def _unpaired_call(facts: Facts, params: GateParams) -> str | None:
    return _text(facts.row["unpaired"])


def _think_then_stop(facts: Facts, params: GateParams) -> str | None:
    if facts.row["recommend_count"] == 0 and facts.measures.ends_in_thought:
        return "the last turn thinks, and neither calls a tool nor answers"
    if facts.row["recommend_count"] == 1 and not facts.row["terminated"]:
        return "recommends but never terminates"
    return None


def _recommend_count(facts: Facts, params: GateParams) -> str | None:
    count = facts.row["recommend_count"]
    return None if count == 1 else f"{count} recommendations, expected exactly one"


def _unparsable_recommendation(facts: Facts, params: GateParams) -> str | None:
    return _text(facts.row["unparsable"])


def _over_budget(facts: Facts, params: GateParams) -> str | None:
    tokens = facts.message_bytes / params.bytes_per_token
    return f"about {tokens:.0f} tokens, budget {params.token_budget}" if tokens > params.token_budget else None


CHECKS: tuple[tuple[str, str, Check], ...] = (
    ("reasoning", "unjudged", _unjudged),
    ("reasoning", "low_reasoning", _low_reasoning),
    ("format", "unpaired_call", _unpaired_call),
    ("format", "think_then_stop", _think_then_stop),
    ("format", "recommend_count", _recommend_count),
    ("format", "unparsable_recommendation", _unparsable_recommendation),
    ("format", "over_budget", _over_budget),
)
"""(gate, reason, check) in the order of asking."""
REASONS = tuple(reason for _, reason, _ in CHECKS)


def ask_gates(facts: Facts, params: GateParams) -> Reject | None:
    """Return the first gate's objection to a row, None to keep it."""
    return next((reject for reject in ask_all(facts, params) if reject is not None), None)


def ask_all(facts: Facts, params: GateParams) -> Iterator[Reject | None]:
    """Yield the answer of every check in turn, as `tracemill explain` shows them."""
    for gate, reason, check in CHECKS:
        detail = check(facts, params)
        yield None if detail is None else Reject(gate, reason, detail)
