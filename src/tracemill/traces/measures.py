"""What an episode's calls and its proxy log show, in a few numbers; no judgement is made here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from tracemill.environment.scorer import recommended_ids
from tracemill.traces.draft import DraftTurn
from tracemill.traces.messages import Call
from tracemill.traces.trajectory import Turn

_encode = msgspec.json.encode
RECOMMEND, SEARCH, VIEW, TERMINATE = "recommend_product", "find_product", "view_product_information", "terminate"


def read_turns(turns: Sequence[DraftTurn]) -> list[Turn]:
    """The turns with the evidence of the proxy log before each of them.

    An inference call counts for the first turn that acts after it; a tool execution in between voids it.
    """
    logged = has_proxy_log(turns)
    found: list[Turn] = []
    pending = 0
    for position, turn in enumerate(turns):
        before, after, executed = pending, 0, False
        for call in turn.proxy or ():
            if call.tool:
                executed, after = True, 0
            elif executed:
                after = max(after, call.tokens)
            else:
                before = max(before, call.tokens)
        pending = after if executed or turn.calls else before
        names = [call.name for call in turn.calls]
        found.append(Turn(position, turn.timestamp, before if logged else None, len(set(names)) < len(names)))
    return found


def has_proxy_log(turns: Sequence[DraftTurn]) -> bool:
    """Whether the source holds the validator's log for any turn."""
    return any(turn.proxy is not None for turn in turns)


def measure_proxy(turns: Sequence[DraftTurn]) -> dict[str, Any]:
    """Inference calls, their completion tokens and the searches that the log shows."""
    calls = [call for turn in turns for call in turn.proxy or ()]
    return {
        "inference_calls": sum(call.tokens > 0 for call in calls),
        "completion_tokens": sum(call.tokens for call in calls),
        "searches": sum(call.search for call in calls),
    }


def measure_calls(calls: Sequence[Call]) -> dict[str, Any]:
    """Structural measures of the calls, and the products recommended as production reads them."""
    recommended = [call for call in calls if call.name == RECOMMEND]
    ids = _ids(recommended) if recommended else []
    return {
        "acting_turns": len({call.step for call in calls}),
        "call_count": len(calls),
        "distinct_queries": len({_query(call) for call in calls if call.name == SEARCH}),
        "verified_recommendation": _verified(calls, set(ids)),
        "repeated_calls": _repeats(calls),
        "recommended_ids": ids,
        "recommend_count": len(recommended),
        "unparsable": _unparsable(recommended),
        "terminated": any(call.name == TERMINATE for call in calls),
    }


def _ids(calls: Sequence[Call]) -> list[str]:
    listed = [{"name": call.name, "parameters": call.arguments} for call in calls]
    return recommended_ids([{"completion": {"message": {"tool_call": listed}}, "extra_info": {}}])


def _unparsable(recommended: Sequence[Call]) -> str | None:
    for call in recommended:
        if not _ids([call]):
            shown = _encode(call.arguments).decode()[:120]
            return f"step {call.step + 1}: {RECOMMEND} {shown}"
    return None


def _query(call: Call) -> str:
    query = call.arguments.get("q", call.arguments.get("query"))
    return " ".join(query.casefold().split()) if isinstance(query, str) else repr(query)


def _verified(calls: Sequence[Call], wanted: set[str]) -> bool:
    """Whether a recommended product was looked at before it was recommended."""
    for call in calls:
        if call.name == RECOMMEND:
            return False
        if call.name == VIEW:
            value = call.arguments.get("product_ids", call.arguments.get("product_id"))
            viewed = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else [value]
            if any(str(one).strip() in wanted for one in viewed):
                return True
    return False


def _repeats(calls: Sequence[Call]) -> int:
    """Calls that were made before with the same arguments and had not failed then."""
    answered: set[bytes] = set()
    repeats = 0
    for call in calls:
        key = call.name.encode() + b"\n" + _encode(call.arguments, order="sorted")
        repeats += key in answered
        if call.result is not None and not _failed(call.result):
            answered.add(key)
    return repeats


def _failed(result: str) -> bool:
    return result.startswith(('"Error', '"error', '{"error"'))
