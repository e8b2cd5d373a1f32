"""What an episode's calls and its proxy log show, in a few numbers; no judgement is made here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from tracemill.environment.recommendation import recommended_ids
from tracemill.traces.draft import DraftTurn, Evidence, ProxyCall, ProxyResponse
from tracemill.traces.messages import Call
from tracemill.traces.rejects import BAD_SHAPE, Rejected
from tracemill.traces.trajectory import Turn

_encode = msgspec.json.encode
MOST_TOKENS = 1 << 40
"""No inference call writes as many; sums of fewer fit the table's columns."""
RECOMMEND, SEARCH, VIEW, TERMINATE = "recommend_product", "find_product", "view_product_information", "terminate"


def read_evidence(turns: Sequence[DraftTurn]) -> Evidence:
    """The turns with the evidence before each of them, and the totals of the log.

    An inference call counts for the first turn that acts after it; a tool execution in between voids it. Rejected for a
    count of tokens that no call can have.
    """
    found = Evidence([], any(turn.proxy is not None for turn in turns))
    pending = 0
    for position, turn in enumerate(turns):
        before, after, executed = pending, 0, False
        for call in turn.proxy or ():
            path = call.path or ""
            if "/search/" in path:
                executed, after = True, 0
                found.searches += path.endswith(SEARCH)
                continue
            tokens = _answered_tokens(path, call)
            if tokens is None:
                continue
            found.inference_calls += 1
            found.completion_tokens += tokens
            if executed:
                after = max(after, tokens)
            else:
                before = max(before, tokens)
        pending = after if executed or turn.calls else before
        batched = len(turn.calls) > 1 and len({call.name for call in turn.calls}) < len(turn.calls)
        found.turns.append(Turn(position, turn.timestamp, before if found.has_proxy_log else None, batched))
    return found


def _answered_tokens(path: str, call: ProxyCall) -> int | None:
    """Completion tokens of an inference request that was answered, None for anything else."""
    if "/inference/" not in path or call.status_code is None or not 200 <= call.status_code < 300:
        return None
    usage = call.response.usage if isinstance(call.response, ProxyResponse) else None
    tokens = max(0, usage.completion_tokens or 0) if usage else 0
    if tokens > MOST_TOKENS:
        raise Rejected(BAD_SHAPE, f"an inference call of {tokens} completion tokens")
    return tokens


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
    listed = [{"name": call.name, "parameters": None if call.unread else call.arguments} for call in calls]
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
        key = call.name.encode() + b"\n" + call.canonical
        repeats += key in answered
        if call.result is not None and not _failed(call.result):
            answered.add(key)
    return repeats


def _failed(result: str) -> bool:
    return result.startswith(('"Error', '"error', '{"error"'))
