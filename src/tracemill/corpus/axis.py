"""Axis A or B: did the model emit the calls, or did code around it?

Axis A is decided by the validator's proxy log: before each turn that acts, and after the tools ran last, the log shows
an inference call of at least `min_completion_tokens` (the paper, section on the structural filter; 30 tokens). A log
that shows fewer is Axis B: a deterministic loop calls the tools and a model narrates. Without a log the structure
decides, and says so.
"""

from __future__ import annotations

import msgspec

from tracemill.corpus.measures import Measures
from tracemill.corpus.params import AxisParams


class AxisVerdict(msgspec.Struct, frozen=True):
    """The axis, on which evidence, and that evidence in words."""

    axis: str
    """A, B or unknown."""
    basis: str
    """proxy (the validator's log) or structure."""
    evidence: str


def decide_axis(measures: Measures, supported: int | None, params: AxisParams) -> AxisVerdict:
    """Return the axis of a trajectory; `supported` counts acting turns with an inference call, None without a proxy
    log."""
    acting = measures.acting_turns
    if supported is not None:
        enough = f"an inference call of {params.min_completion_tokens} tokens or more"
        axis = "A" if acting and supported >= params.min_supported_share * acting else "B"
        return AxisVerdict(axis, "proxy", f"{supported} of {acting} acting turns follow {enough}")
    if acting and measures.thinking_turns == 0:
        return AxisVerdict("B", "structure", f"{acting} acting turns without a thought")
    if measures.batched_turns:
        return AxisVerdict("B", "structure", f"{measures.batched_turns} turns batch several calls of one tool")
    if measures.thinking_turns < 3:
        return AxisVerdict("unknown", "structure", f"{measures.thinking_turns} thoughts are too few to tell")
    words = f"{measures.template_share:.0%} of {measures.thinking_turns} thoughts follow one template"
    return AxisVerdict("B" if measures.template_share > params.max_think_template_share else "A", "structure", words)
