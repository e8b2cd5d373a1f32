"""SN15's way of writing an episode down: a dialogue is a list of steps, and the production scorer reads nothing else.

A step is `{"completion": {"reasoning_content", "content", "message": {think?, tool_call?: [{name, parameters,
tool_call_id, result}], response?}}, "extra_info": {step, query, timestamp}}`. Empty parts of the message are left out,
as the arena does.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import Any


def source_call_id(name: str, parameters: Any) -> str:
    """SN15's id of a call: it depends on name and parameters alone, so a repeated call has the same id again."""
    text = f"{name}\n{parameters}".encode("utf-8", "surrogatepass")
    return base64.urlsafe_b64encode(hashlib.md5(text, usedforsecurity=False).digest()).decode("ascii").rstrip("=")[:8]


def make_call(name: str, parameters: Any, result: Any) -> dict[str, Any]:
    """One entry of a step's `tool_call` list."""
    return {"name": name, "parameters": parameters, "tool_call_id": source_call_id(name, parameters), "result": result}


def make_step(
    think: str, calls: Sequence[dict[str, Any]], response: str, *, query: str, step: int, timestamp: Any
) -> dict[str, Any]:
    """Return one step; `calls` come from `make_call`, `step` counts from 1, `timestamp` is in milliseconds."""
    message: dict[str, Any] = {}
    if think:
        message["think"] = think
    if calls:
        message["tool_call"] = list(calls)
    if response:
        message["response"] = response
    completion = {"reasoning_content": "", "content": step_text(think, calls, response), "message": message}
    return {"completion": completion, "extra_info": {"step": step, "query": query, "timestamp": timestamp}}


def step_text(think: str, calls: Sequence[dict[str, Any]], response: str) -> str:
    """The tagged text of a step, as agents of the arena write it; the scorer does not read it."""
    parts = [f"<think>{think}</think>"] if think else []
    if calls:
        listed = [{"name": call.get("name"), "parameters": call.get("parameters")} for call in calls]
        parts.append(f"<tool_call>{json.dumps(listed)}</tool_call>")
    if response:
        parts.append(f"<response>{response}</response>")
    return "\n".join(parts)
