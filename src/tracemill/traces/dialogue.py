"""Between the canonical trajectory and the dialogue that SN15's scorer reads.

Turns pair with assistant messages by position. What canonical form has changed stays changed: arguments are objects,
control strings are broken by a space. So `success` and every product field equal those of the raw dialogue (but for a
recommendation whose arguments were text there: a gate drops it), while the format score of a step whose texts held role
tags can be higher than it was for the arena.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from tracemill.environment.control_tokens import neutralise_value
from tracemill.environment.dialogue import make_call, make_step
from tracemill.traces.trajectory import Trajectory, Turn

if TYPE_CHECKING:
    from tracemill.environment.episode import Episode


def to_dialogue(trajectory: Trajectory) -> list[dict[str, Any]]:
    """Return the trajectory as SN15 steps, one for each assistant turn, with the results of its calls."""
    return steps_of(trajectory.query, trajectory.messages, trajectory.turns)


def steps_of(query: str, messages: Sequence[Mapping[str, Any]], turns: Sequence[Turn] = ()) -> list[dict[str, Any]]:
    """`to_dialogue` of the parts; without turns the timestamps are missing. A call without a result has `result`
    null."""
    answers = {m["tool_call_id"]: m.get("content") for m in messages if m.get("role") == "tool"}
    steps: list[dict[str, Any]] = []
    for message in messages:
        if message.get("role") != "assistant":
            continue
        calls = [_call(call, answers) for call in message.get("tool_calls") or ()]
        stamp = turns[len(steps)].timestamp if len(steps) < len(turns) else None
        think, content = message.get("reasoning_content") or "", message.get("content") or ""
        steps.append(make_step(think, calls, content, query=query, step=len(steps) + 1, timestamp=stamp))
    return steps


def _call(call: Mapping[str, Any], answers: Mapping[str, Any]) -> dict[str, Any]:
    function = call["function"]
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        arguments = _json(arguments)
    return make_call(function["name"], arguments, _json(answers.get(call.get("id", ""))))


def _json(text: Any) -> Any:
    """The value of a JSON text; what is no JSON text stands for itself."""
    if not isinstance(text, str):
        return text
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text


def canonical_messages(episode: Episode) -> list[dict[str, Any]]:
    """The episode's messages with whole results as JSON text, where `episode.messages` has what the model saw."""
    results = iter([result for turn in episode.results for result in turn])
    whole: list[dict[str, Any]] = []
    for message in episode.messages:
        if message["role"] == "tool":
            message = {**message, "content": msgspec.json.encode(neutralise_value(next(results))).decode()}
        whole.append(message)
    return whole
