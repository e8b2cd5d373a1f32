"""From a canonical trajectory to the chat that a model is trained on.

The source's system prompt gives way to the environment's own, its tool results are rendered as the environment renders
them, and the tools are the environment's: the prefix of every training turn is then exactly what a rollout shows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tracemill.environment.chat import control_strings
from tracemill.environment.episode import SPENT
from tracemill.environment.observation import render_observation
from tracemill.environment.params import PlayParams
from tracemill.environment.prompt import system_prompt

OPEN, CLOSE = "<think>", "</think>"


class RowDefect(Exception):
    """The trajectory cannot become a training row; `reason` is the counter it falls under."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


def split_reasoning(reasoning: str | None, content: str) -> tuple[str, str]:
    """Reasoning and content of an assistant turn whose content may hold the reasoning block.

    One block at the start is split off; its opener may be missing, as in text generated after it. Everything else that
    holds a think tag would lose text in the template: RowDefect("lossy_render").
    """
    body = content.removeprefix(OPEN) if not reasoning else content
    head, tag, tail = body.partition(CLOSE)
    if tag and not reasoning:
        reasoning, content = head, tail
    for part in (reasoning or "", content):
        if OPEN in part or CLOSE in part:
            raise RowDefect(
                "lossy_render", f"a think tag inside the text {part[:60]!r}, expected one block at its start"
            )
    return (reasoning or "").strip("\n"), content.lstrip("\n")


def assistant_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """The turn as it is trained on: reasoning, content and calls, free of control strings (else RowDefect)."""
    reasoning, content = split_reasoning(message.get("reasoning_content"), message.get("content") or "")
    calls = [
        {
            "type": "function",
            "function": {"name": str(call["function"]["name"]), "arguments": _object(call["function"]["arguments"])},
        }
        for call in message.get("tool_calls") or []
    ]
    texts = [reasoning, content, json.dumps(calls, ensure_ascii=False)]
    found = [token for text in texts for token in control_strings(text)]
    if found:
        raise RowDefect("control_token", f"the assistant's own text holds {found[0]!r}")
    turn: dict[str, Any] = {"role": "assistant", "content": content, "reasoning_content": reasoning}
    if calls:
        turn["tool_calls"] = calls
    return turn


def turn_text(turn: Mapping[str, Any]) -> str:
    """What the template must make of one assistant turn, end token included; written apart from the template on
    purpose.
    """
    calls = [
        '<tool_call>\n{"name": "'
        + call["function"]["name"]
        + '", "arguments": '
        + json.dumps(call["function"]["arguments"], ensure_ascii=False)
        + "}\n</tool_call>"
        for call in turn.get("tool_calls") or []
    ]
    body = "\n".join([turn["content"], *calls] if turn["content"] else calls)
    return f"{OPEN}\n{turn['reasoning_content']}\n{CLOSE}\n\n{body}<|im_end|>\n"


def training_messages(
    messages: Sequence[Mapping[str, Any]], play: PlayParams, rendered: bool = False
) -> list[dict[str, Any]]:
    """Messages of a trajectory as training rows and rollouts show them, up to the assistant's last turn.

    Raises RowDefect where a turn would lose text, hold a control token, or where a tool message belongs to no call.
    """
    shown: list[dict[str, Any]] = [{"role": "system", "content": system_prompt(play.prompt)}]
    names: dict[str, str] = {}
    room = play.episode.observation_budget
    for message in messages:
        role = message["role"]
        if role == "assistant":
            names |= {str(c.get("id")): c["function"]["name"] for c in message.get("tool_calls") or []}
            shown.append(assistant_message(message))
        elif role == "tool":
            name = names.get(str(message.get("tool_call_id")))
            if name is None:
                raise RowDefect("unpaired_result", f"a tool message answers no call: {message.get('tool_call_id')!r}")
            text = str(message.get("content") or "")
            if not rendered:
                text = render_observation(name, _result(message), play.observation) if room > 0 else SPENT
                room -= len(text) if room > 0 else 0
            shown.append({"role": "tool", "content": text})
        elif role == "user":
            shown.append({"role": "user", "content": str(message.get("content") or "")})
    while shown and shown[-1]["role"] != "assistant":
        shown.pop()
    if not shown:
        raise RowDefect("no_assistant_turn", "the trajectory holds no assistant turn")
    return shown


def _object(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError) as error:
        raise RowDefect("unparsable_arguments", f"arguments are no JSON: {arguments[:60]!r}") from error


def _result(message: Mapping[str, Any]) -> Any:
    content = message.get("content")
    if not isinstance(content, str):
        return content
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return content
