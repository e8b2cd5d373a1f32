"""The row gates: a judged reasoning quality, and the five hard rejects of the format.

A gate answers None to keep a row, or the reason why it is dropped. Order and rejects are the paper's: reasoning
coefficient; then a call without a result, not exactly one recommendation, recommendation arguments that cannot be
read, a row over the token budget, and a thought that ends without an act.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tracemill.corpus.measures import Measures
from tracemill.corpus.params import GateParams

REASONING_GATE = "reasoning"
FORMAT_GATE = "format"
REJECTS = {
    "low_reasoning": REASONING_GATE,
    "unjudged": REASONING_GATE,
    "status": FORMAT_GATE,
    "unpaired_call": FORMAT_GATE,
    "recommend_count": FORMAT_GATE,
    "unparsable_recommendation": FORMAT_GATE,
    "over_budget": FORMAT_GATE,
    "think_then_stop": FORMAT_GATE,
}
"""Every reason of this module, in the order of asking, and the gate that gives it."""


class Reject(msgspec.Struct, frozen=True):
    """Why a row is dropped."""

    reason: str
    detail: str

    @property
    def gate(self) -> str:
        """The gate that dropped the row."""
        return REJECTS[self.reason]


def ask_gates(row: Mapping[str, Any], measures: Measures, message_bytes: int, params: GateParams) -> Reject | None:
    """Ask the gates in order about one row of the trajectory table; `message_bytes` is the length of its messages as
    text."""
    return _ask_reasoning(row, params) or _ask_format(row, measures, message_bytes, params)


def _ask_reasoning(row: Mapping[str, Any], params: GateParams) -> Reject | None:
    coefficient = row["reasoning_coefficient"]
    if coefficient is None:
        return Reject("unjudged", "no judge has rated this row") if params.unjudged == "drop" else None
    if coefficient < params.min_reasoning_coefficient:
        return Reject("low_reasoning", f"coefficient {coefficient:.4f} is below {params.min_reasoning_coefficient}")
    return None


def _ask_format(row: Mapping[str, Any], measures: Measures, message_bytes: int, params: GateParams) -> Reject | None:
    if row["status"] != "SUCCESS":
        return Reject("status", f"the sandbox ended with {row['status']}")
    if row["unpaired"] is not None:
        return Reject("unpaired_call", row["unpaired"])
    if row["recommend_count"] == 0 and measures.ends_in_thought:
        return Reject("think_then_stop", "the last turn thinks, and neither calls a tool nor answers")
    if row["recommend_count"] != 1:
        return Reject("recommend_count", f"{row['recommend_count']} recommendations, expected exactly one")
    if row["unparsable"] is not None:
        return Reject("unparsable_recommendation", row["unparsable"])
    if not row["terminated"]:
        return Reject("think_then_stop", "recommends but never terminates")
    tokens = message_bytes / params.bytes_per_token
    if tokens > params.token_budget:
        return Reject("over_budget", f"about {tokens:.0f} tokens, budget {params.token_budget}")
    return None
