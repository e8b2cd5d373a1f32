"""The format and length scores of SN15's production scorer.

Production rebuilds each step's text (`<think>..</think>`, `<tool_call>JSON</tool_call>`, `<response>..</response>`,
joined by newlines) and then wants every role once, none inside another, and the JSON a list of calls. Written that way,
a step is right exactly when its parts have the right types, it has a thought and an act, and no role tag stands inside
any part. So only types and tags are looked at; the text is never built. Two facts matter: the arena's JSON writer
escapes `/`, which hides closing tags in calls and results (opening ones stay visible), and it gives up on nesting
beyond 1,024 levels.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NoReturn

import orjson

ROLES = ("think", "tool_call", "response")
MISSING_TIMESTAMP = 0.5
"""Factor of a step whose `extra_info.timestamp` is no positive number."""

_TEXT_FIELDS = ("user", "think", "response")
_LIST_FIELDS = ("tool_call", "obs")
_TAG = re.compile(r"</?(?:think|tool_call|response)>")
_OPENING = re.compile(r"<(?:think|tool_call|response)>")
_OPENING_BYTES = re.compile(rb"<(?:think|tool_call|response)>")
_CAUGHT = (KeyError, TypeError, AttributeError)
_NOTHING: list[Any] = []
_DEPTH = 1024
"""Containers around a value: the arena's writer gives up beyond this, and its reader takes no container at it."""


def length_score(dialogue: Any) -> float:
    """1/steps where the last step calls `terminate`, else 0. A last step of the wrong shape raises what production
    raises."""
    if not dialogue:
        return 0
    message = dialogue[-1]["completion"]["message"]
    if not message or "tool_call" not in message or not message["tool_call"]:
        return 0
    terminated = False
    for call in message["tool_call"]:
        if call["name"] == "terminate":
            terminated = True
    return 1.0 / len(dialogue) if terminated else 0


def format_score(dialogue: Any) -> float:
    """Mean over the steps of `step_score`; a step that cannot be read counts 0.

    Raises pydantic's ValidationError (a ValueError) where a part of a message has the wrong type, as production does.
    """
    total: float = 0
    for step in dialogue:
        try:
            total += step_score(step)
        except _CAUGHT:
            continue
    return total / len(dialogue) if dialogue else 0


def step_score(step: Any) -> float:
    """1, 0.5 (no timestamp) or 0 for one step. Raises KeyError, TypeError, AttributeError for a step that cannot be
    read."""
    message = step["completion"]["message"]
    _check_types(message)
    score = 0.0 if format_fault(message) else 1.0
    stamp = step.get("extra_info", {}).get("timestamp")
    if not isinstance(stamp, (int, float)) or stamp <= 0:
        score *= MISSING_TIMESTAMP
    return score


def format_fault(message: dict[str, Any]) -> str | None:
    """Say why a message of the right types has the wrong format; None where it is right."""
    think, calls, response = message.get("think", ""), message.get("tool_call", ()), message.get("response", "")
    spoilt = _opening_tag(calls) if calls else None
    if not think:
        return "no thought"
    if not calls and not response:
        return "neither a tool call nor a response"
    for role, text in (("thought", think), ("response", response)):
        if "<" in text and (tag := _TAG.search(text)):
            return f"the role tag {tag[0]} stands inside the {role}"
    if spoilt is not None:
        return spoilt
    for call in calls:
        if not isinstance(call.get("name"), str):
            return "a tool call without a name that is text"
        if not isinstance(call.get("parameters"), dict):
            return "a tool call without parameters that are an object"
    return None


def _check_types(message: Any) -> None:
    if not isinstance(message, dict):
        raise TypeError(f"argument after ** must be a mapping, not {type(message).__name__}")
    for field in _TEXT_FIELDS:
        if not isinstance(message.get(field, ""), str):
            _reject(message)
    for field in _LIST_FIELDS:
        value = message.get(field, _NOTHING)
        if not isinstance(value, list):
            _reject(message)
        for member in value:
            if not isinstance(member, dict):
                _reject(message)


def _reject(message: dict[str, Any]) -> NoReturn:
    """Raise the arena's own error: its Message model decides, and its text names field, value and type."""
    from pydantic import create_model

    texts: dict[str, Any] = dict.fromkeys(_TEXT_FIELDS, (str, ""))
    lists: dict[str, Any] = dict.fromkeys(_LIST_FIELDS, (list[dict[Any, Any]], []))
    fields = {name: {**texts, **lists}[name] for name in ("user", "think", "tool_call", "obs", "response")}
    create_model("Message", **fields)(**message)
    raise TypeError("a message of the wrong types passed the arena's model")


def _opening_tag(calls: Sequence[Any]) -> str | None:
    """Say which opening role tag stands in a text of the calls, or that their JSON cannot be read back; else None."""
    try:
        written = orjson.dumps(calls)
    except TypeError:
        return _walk(calls)
    if b"<" not in written:
        return None
    tag = _OPENING_BYTES.search(written)
    return None if tag is None else f"the role tag {tag[0].decode()} stands inside a tool call or its result"


def _walk(calls: Sequence[Any]) -> str | None:
    """`_opening_tag` for what orjson does not write: integers beyond 64 bits, lone surrogates, more than 254 levels."""
    fault: str | None = None
    stack: list[tuple[Any, int]] = [(calls, 0)]
    while stack:
        value, depth = stack.pop()
        if depth > _DEPTH:
            raise OverflowError("Maximum recursion level reached")
        if isinstance(value, str):
            tag = _OPENING.search(value) if fault is None else None
            fault = fault if tag is None else f"the role tag {tag[0]} stands inside a tool call or its result"
            continue
        if depth == _DEPTH and isinstance(value, (dict, list)):
            fault = fault or "a tool call that is nested too deep to be read"
        if isinstance(value, dict):
            stack.extend((key, depth) for key in value if isinstance(key, str))
            stack.extend((member, depth + 1) for member in value.values())
        elif isinstance(value, (list, tuple)):
            stack.extend((member, depth + 1) for member in value)
        elif value is not None and not isinstance(value, (int, float)):
            raise TypeError(f"{type(value).__name__} is not JSON serializable")
    return fault
