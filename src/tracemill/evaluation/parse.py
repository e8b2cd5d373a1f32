"""From generated text to a turn: Qwen3's `<think>` block, content, and `<tool_call>` blocks.

A turn that cannot be taken as meant is never repaired: it becomes a `Turn` without calls whose `error` names what is
wrong. Its text is broken where it holds control strings, so that rendering the history cannot open a turn that nobody
took.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from tracemill.environment.chat import control_strings
from tracemill.environment.control_tokens import neutralise
from tracemill.environment.episode import Call, Turn

MAX_CALLS = 16
"""Calls in one turn above which the turn is malformed (no tool of the environment needs more than one)."""

ERRORS = ("empty", "truncated", "unclosed_think", "control_token", "malformed_call", "too_many_calls", "refusal")
"""What may stand in `Turn.error` after parsing."""

_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)


def parse_turn(text: str, finish: str = "stop") -> Turn:
    """Return the turn in generated `text`; `finish` is `stop`, or `length` where the token limit cut it."""
    think, rest, closed = split_think(text)
    if finish == "length":
        return failed_turn(text, "truncated")
    if not text.strip():
        return failed_turn(text, "empty")
    if not closed:
        return failed_turn(text, "unclosed_think")
    if control_strings(think) or control_strings(_CALL.sub("", rest)):
        half_call = "<tool_call>" in rest or "</tool_call>" in rest
        return failed_turn(text, "malformed_call" if half_call else "control_token")
    bodies = _CALL.findall(rest)
    if len(bodies) > MAX_CALLS:
        return failed_turn(text, "too_many_calls")
    calls = [parse_call(body) for body in bodies]
    if any(call is None for call in calls):
        return failed_turn(text, "malformed_call")
    return Turn(think=think, content=_CALL.sub("", rest).strip(), calls=[c for c in calls if c is not None])


def split_think(text: str) -> tuple[str, str, bool]:
    """Split into thoughts, the rest, and whether the block is closed; text without a block is all rest."""
    body = text.lstrip()
    if not body.startswith("<think>"):
        return "", body, True
    think, mark, rest = body.removeprefix("<think>").partition("</think>")
    return think.strip("\n"), rest, bool(mark)


def parse_call(body: str) -> Call | None:
    """Return the call in one block's JSON, None where it is not one object with a name and an object of arguments."""
    if control_strings(body):
        return None
    try:
        value: Any = msgspec.json.decode(body.strip().encode("utf-8"))
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    if not isinstance(value, dict) or set(value) != {"name", "arguments"}:
        return None
    name, arguments = value["name"], value["arguments"]
    if not isinstance(name, str) or not name or not isinstance(arguments, dict):
        return None
    return Call(name=name, arguments=arguments)


def failed_turn(text: str, error: str) -> Turn:
    """The turn that stands for text which is none."""
    return Turn(think="", content=neutralise(text).strip(), calls=[], error=error)


def message_turn(message: dict[str, Any], finish: str = "stop") -> Turn:
    """Return the turn in an OpenAI chat message (`reasoning_content`, `content`, `tool_calls`, `refusal`).

    A server that left the parsing to us (no `tool_calls`, text with blocks) is read like generated text.
    """
    content = message.get("content")
    text = content if isinstance(content, str) else ""
    if isinstance(message.get("refusal"), str) and message["refusal"]:
        return failed_turn(message["refusal"], "refusal")
    raw_calls = message.get("tool_calls") or []
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    think = reasoning if isinstance(reasoning, str) else ""
    if not raw_calls:
        return parse_turn(f"<think>\n{think}\n</think>\n\n{text}" if think else text, finish)
    if finish == "length":
        return failed_turn(text, "truncated")
    own_think, rest, _ = split_think(text)
    if control_strings(think + own_think + rest):
        return failed_turn(text, "control_token")
    if not isinstance(raw_calls, list) or len(raw_calls) > MAX_CALLS:
        return failed_turn(text, "too_many_calls")
    calls = [_message_call(call) for call in raw_calls]
    if any(call is None for call in calls):
        return failed_turn(text, "malformed_call")
    return Turn(think=think or own_think, content=rest.strip(), calls=[c for c in calls if c is not None])


def _message_call(call: Any) -> Call | None:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return None
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = msgspec.json.decode(arguments.strip().encode("utf-8") or b"{}")
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return None
    encoded = msgspec.json.encode({"name": function.get("name"), "arguments": arguments}).decode()
    return parse_call(encoded)
