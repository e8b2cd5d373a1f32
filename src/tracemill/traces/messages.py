"""From a draft to chat messages: ids by position, arguments in one form, reasoning in one place, nothing a control
token.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from tracemill.environment.control_tokens import neutralise_value
from tracemill.environment.tools import TOOLS
from tracemill.traces.draft import Draft, DraftCall, DraftTurn
from tracemill.traces.jsontext import parse_arguments, safe_text
from tracemill.traces.rejects import BAD_SHAPE, Rejected

_encode = msgspec.json.encode


class Call(msgspec.Struct, gc=False):
    """A call as the measures read it."""

    step: int
    name: str
    arguments: dict[str, Any]
    canonical: bytes
    """Arguments as JSON text with keys in order: equal arguments have equal text."""
    result: str | None
    unread: bool
    """Whether production passes the call over, since its arguments are no object there."""


class Chat(msgspec.Struct, kw_only=True):
    """The messages of an episode with what the measures need."""

    messages: list[dict[str, Any]]
    calls: list[Call]
    unpaired: str | None
    parts: list[bytes]
    """The content of the turns piece by piece, from which the id is made."""


def build_chat(draft: Draft, query: str, tools: list[dict[str, Any]]) -> Chat:
    """Return the messages of a draft; `query` is the user's message, already safe. Rejected for an unreadable call."""
    optional = _optional_tools(tools)
    chat = Chat(messages=[{"role": "user", "content": query}], calls=[], unpaired=None, parts=[])
    for position, turn in enumerate(draft.turns):
        _add_turn(chat, position, turn, optional)
    return chat


def _add_turn(chat: Chat, position: int, turn: DraftTurn, optional: frozenset[str]) -> None:
    content, think = safe_text(turn.content), turn.think
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if think is not None:
        message["reasoning_content"] = think = safe_text(think)
    chat.messages.append(message)
    chat.parts += (b"-" if think is None else b"+" + think.encode(), content.encode(), b"%d" % len(turn.calls))
    if not turn.calls:
        return
    calls, answers = [], []
    for number, source in enumerate(turn.calls):
        call = _read_call(source, position, number, optional, chat.parts)
        identity = f"call_{len(chat.calls)}"
        chat.calls.append(call)
        calls.append({"id": identity, "type": "function", "function": {"name": call.name, "arguments": call.arguments}})
        if call.result is not None:
            answers.append({"role": "tool", "tool_call_id": identity, "name": call.name, "content": call.result})
        elif chat.unpaired is None:
            chat.unpaired = f"step {position + 1}, call {number + 1}: {call.name}"
    message["tool_calls"] = calls
    chat.messages.extend(answers)


def _read_call(source: DraftCall, position: int, number: int, optional: frozenset[str], parts: list[bytes]) -> Call:
    name = safe_text(source.name)
    if not name.strip():
        raise Rejected(BAD_SHAPE, f"step {position + 1}, call {number + 1}: the tool has no name")
    try:
        arguments, canonical = parse_arguments(source.arguments, name in optional)
    except Rejected as rejected:
        detail = f"step {position + 1}, call {number + 1}: {name}: {rejected.detail}"
        raise Rejected(rejected.reason, detail) from rejected
    if source.result is None:
        parts += (name.encode(), canonical, b"-", b"")
        return Call(position, name, arguments, canonical, None, source.unread)
    text = source.result.decode()
    safe = safe_text(text)
    parts += (name.encode(), canonical, b"+", source.result if safe is text else safe.encode())
    return Call(position, name, arguments, canonical, safe, source.unread)


def _optional_tools(tools: list[dict[str, Any]]) -> frozenset[str]:
    """Tools that may be called without arguments: `terminate`, and those whose definition lists no required
    argument.
    """
    if tools is TOOLS:
        return _DEFAULT_OPTIONAL
    return _DEFAULT_OPTIONAL | {
        tool["function"]["name"] for tool in tools if not _required(tool["function"].get("parameters"))
    }


_DEFAULT_OPTIONAL = frozenset({"terminate"})


def _required(parameters: Any) -> bool:
    return bool(isinstance(parameters, dict) and parameters.get("required"))


def nested_tools(tools: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    """Tool definitions in the nested form, control strings broken; the environment's own where the source holds none.

    Flat definitions ({type, name, description, parameters}) are wrapped; the keys of a function come out in one order.
    """
    if not tools:
        return TOOLS
    return [_nested(tool) for tool in tools]


def _nested(tool: dict[str, Any]) -> dict[str, Any]:
    function = tool.get("function")
    if function is None:
        function = {key: value for key, value in tool.items() if key != "type"}
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise Rejected(BAD_SHAPE, "a tool definition without a name")
    first = {key: function[key] for key in ("name", "description", "parameters") if key in function}
    safe: dict[str, Any] = neutralise_value({**first, **function})
    return {"type": "function", "function": safe}


def content_id(query: str, tools_text: bytes, chat: Chat) -> str:
    """SHA-256 (hex) of an episode's content: query, tools and every message, the keys of arguments in order.

    The lengths of the parts stand before them, so that no two episodes share the bytes that are hashed.
    """
    parts = [query.encode(), tools_text, *chat.parts]
    lengths = _encode([len(part) for part in parts])
    return hashlib.sha256(b"".join((lengths, *parts))).hexdigest()
