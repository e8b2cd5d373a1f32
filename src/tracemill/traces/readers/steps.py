"""The steps of SN15 and ShoppingBench, which envelopes and bare dialogues share.

`completion.message` is what the arena scores, so it is what is read; `completion.content` repeats it as tagged
text and is passed over. Where the message holds no `think`, the provider's own `reasoning_content` is the
thought, its tags removed, as the arena's agents do it. Results stand in `tool_call[].result`, or in `obs` in the
order of the calls.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from tracemill.traces.draft import DraftCall, DraftTurn, ProxyCall
from tracemill.traces.pairing import pair_results
from tracemill.traces.rejects import BAD_SHAPE, Rejected

_NULL = b"null"


class SourceCall(msgspec.Struct, gc=False):
    """One entry of `tool_call`."""

    name: str
    parameters: dict[str, Any] | str | None
    tool_call_id: str | int | None = None
    result: Raw | UnsetType = UNSET


class SourceObservation(msgspec.Struct, gc=False):
    """One entry of `obs`."""

    tool_call_id: str | int | None = None
    results: Raw | UnsetType = UNSET


class SourceMessage(msgspec.Struct, gc=False):
    """`completion.message`."""

    think: str | None = None
    tool_call: list[SourceCall] | None = None
    obs: list[SourceObservation] | None = None
    response: str | None = None


class SourceCompletion(msgspec.Struct, gc=False):
    """`completion`."""

    message: SourceMessage
    reasoning_content: str | None = None


class SourceExtra(msgspec.Struct, gc=False):
    """`extra_info`."""

    query: str | None = None
    timestamp: Any = None
    problem_id: str | None = None
    proxy_calls: list[ProxyCall] | None = None


class SourceStep(msgspec.Struct, gc=False):
    """One step of a dialogue."""

    completion: SourceCompletion
    extra_info: SourceExtra | None = None


def read_turns(steps: list[SourceStep]) -> list[DraftTurn]:
    """The turns of a dialogue, in order; Rejected where results cannot belong to the calls."""
    return [_turn(position, step) for position, step in enumerate(steps, 1)]


def read_query(steps: list[SourceStep]) -> str | None:
    """The query that the steps carry; Rejected when two steps carry different ones."""
    found = {step.extra_info.query for step in steps if step.extra_info and step.extra_info.query is not None}
    if len(found) > 1:
        raise Rejected(BAD_SHAPE, f"the steps carry {len(found)} different queries, expected one")
    return found.pop() if found else None


def _turn(position: int, step: SourceStep) -> DraftTurn:
    message, extra = step.completion.message, step.extra_info
    think = message.think
    if think is None and step.completion.reasoning_content:
        think = step.completion.reasoning_content.replace("<think>", "").replace("</think>", "").strip()
    calls = [
        DraftCall(
            call.name,
            call.parameters,
            None if call.result is UNSET else _present(call.result),
            not isinstance(call.parameters, dict),
        )
        for call in message.tool_call or ()
    ]
    if message.obs:
        results = [
            (_id(seen.tool_call_id), None if seen.results is UNSET else _present(seen.results)) for seen in message.obs
        ]
        pair_results(position, calls, [_id(call.tool_call_id) for call in message.tool_call or ()], results)
    if extra is None:
        return DraftTurn(think, message.response or "", calls)
    return DraftTurn(think, message.response or "", calls, extra.timestamp, extra.proxy_calls)


def _id(identity: str | int | None) -> str | None:
    return None if identity is None else str(identity)


def _present(result: Any) -> bytes | None:
    raw = bytes(result)
    return None if raw == _NULL else raw
