"""Bare dialogues: a line is a list of steps, as ShoppingBench's rollouts and SN15 before its envelopes wrote them."""

from __future__ import annotations

import msgspec

from tracemill.traces.draft import Draft
from tracemill.traces.readers.steps import SourceStep, read_query, read_turns
from tracemill.traces.rejects import BAD_SHAPE, EMPTY, Rejected

_decode = msgspec.json.Decoder(list[SourceStep]).decode


def read(line: bytes) -> Draft:
    """Return the episode of one line; Rejected when it is empty, msgspec.ValidationError for a wrong shape."""
    steps = _decode(line)
    if not steps:
        raise Rejected(EMPTY, "a dialogue without steps")
    ids = {step.extra_info.problem_id for step in steps if step.extra_info and step.extra_info.problem_id}
    if len(ids) > 1:
        raise Rejected(BAD_SHAPE, f"the steps name {len(ids)} different problems, expected one")
    return Draft(problem_id=ids.pop() if ids else None, query=read_query(steps), turns=read_turns(steps))
