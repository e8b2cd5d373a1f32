"""Lines of a snapshot that arrive broken: cut, in another encoding, of the wrong shape, or from another export.

A real race leaves a few of each. Every function takes a whole envelope and answers the bytes of the line that is
found instead.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

Envelope = dict[str, Any]


def encode(envelope: Envelope) -> bytes:
    """One line of a snapshot, without its line end."""
    return json.dumps(envelope, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _blank(_: Envelope) -> bytes:
    return b"  \t"


def _cut(envelope: Envelope) -> bytes:
    line = encode(envelope)
    return line[: len(line) * 2 // 3]


def _two_in_one(envelope: Envelope) -> bytes:
    return encode(envelope) * 2


def _log_line(_: Envelope) -> bytes:
    return b"2025-06-15 12:00:00 INFO validator: 1 evaluation written"


def _latin1(envelope: Envelope) -> bytes:
    return encode(_thinking(envelope, "caf\u00e9")).replace("caf\u00e9".encode(), b"caf\xe9")


def _not_a_number(envelope: Envelope) -> bytes:
    return encode({**envelope, "execution_time": float("nan")})


def _deep(envelope: Envelope) -> bytes:
    return encode({**envelope, "metadata": "deep"}).replace(b'"deep"', b"[" * 2_000 + b"]" * 2_000)


def _nul(envelope: Envelope) -> bytes:
    return encode(_thinking(envelope, "nul \x00 here"))


def _surrogate(envelope: Envelope) -> bytes:
    return encode(_thinking(envelope, "half")).replace(b"half", b"\\ud83d")


def _object_for_list(envelope: Envelope) -> bytes:
    return encode({**envelope, "dialogue": {"0": (envelope["dialogue"] or [None])[0]}})


def _no_message(envelope: Envelope) -> bytes:
    broken = deepcopy(envelope)
    broken["dialogue"][0]["completion"]["message"] = None
    return encode(broken)


def _broken_arguments(envelope: Envelope) -> bytes:
    broken = deepcopy(envelope)
    for step in broken["dialogue"]:
        for call in step["completion"]["message"].get("tool_call", ()):
            call["parameters"] = "{product_ids: 1"
    return encode(broken)


def _no_steps(envelope: Envelope) -> bytes:
    return encode({**envelope, "dialogue": []})


def _no_query(envelope: Envelope) -> bytes:
    broken = deepcopy(envelope)
    for step in broken["dialogue"]:
        del step["extra_info"]["query"]
    return encode(broken)


def _other_status(envelope: Envelope) -> bytes:
    return encode({**envelope, "status": "success"})


def _thinking(envelope: Envelope, thought: str) -> Envelope:
    changed = deepcopy(envelope)
    changed["dialogue"][0]["completion"]["message"]["think"] = thought
    return changed


def _retired_problem(envelope: Envelope) -> bytes:
    """A good episode of a problem that is in no list any more, so nobody can score it."""
    retired = deepcopy(envelope)
    retired["problem_id"] = f"retired-{envelope['problem_id']}"
    retired.pop("score", None)
    for step in retired["dialogue"]:
        step["extra_info"] |= {"query": "Find a discontinued gift card.", "problem_id": retired["problem_id"]}
    return encode(retired)


def _row(envelope: Envelope, *turns: dict[str, Any]) -> bytes:
    """A line in the released rows' format."""
    query = envelope["dialogue"][0]["extra_info"]["query"]
    messages = [{"role": "system", "content": "You shop."}, {"role": "user", "content": query}, *turns]
    return encode({"messages": messages, "tools": []})


def _tangled_thoughts(envelope: Envelope) -> bytes:
    content = "<think>First.</think> Keep this. <think>Second.</think> Done."
    return _row(envelope, {"role": "assistant", "content": content})


def _picture(envelope: Envelope) -> bytes:
    return _row(envelope, {"role": "assistant", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]})


def _second_question(envelope: Envelope) -> bytes:
    return _row(envelope, {"role": "assistant", "content": "Which one?"}, {"role": "user", "content": "The red one."})


def _copied_context(envelope: Envelope) -> bytes:
    query = envelope["dialogue"][0]["extra_info"]["query"]
    steps = [
        {"step_id": 1, "source": "user", "message": query},
        {"step_id": 2, "source": "agent", "message": "As before.", "is_copied_context": True},
    ]
    agent = {"name": "export", "version": "1"}
    return encode({"schema_version": "ATIF-v1.7", "session_id": "export", "agent": agent, "steps": steps})


DAMAGES: dict[str, Callable[[Envelope], bytes]] = {
    "blank": _blank,
    "cut": _cut,
    "latin1": _latin1,
    "broken_arguments": _broken_arguments,
    "object_for_list": _object_for_list,
    "no_steps": _no_steps,
    "other_status": _other_status,
    "not_a_number": _not_a_number,
    "no_query": _no_query,
    "surrogate": _surrogate,
    "nul": _nul,
    "deep": _deep,
    "two_in_one": _two_in_one,
    "no_message": _no_message,
    "log_line": _log_line,
    "tangled_thoughts": _tangled_thoughts,
    "picture": _picture,
    "second_question": _second_question,
    "copied_context": _copied_context,
    "retired_problem": _retired_problem,
}
"""Every kind of damage, in the order in which a snapshot receives them."""
