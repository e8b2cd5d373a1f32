"""One small episode, and its spelling in each of the four raw formats."""

import json
from copy import deepcopy
from typing import Any

from tracemill.environment.tools import TOOLS

Step = dict[str, Any]


def step(think: str | None, *calls: dict[str, Any], response: str = "") -> Step:
    return {"think": think, "calls": list(calls), "response": response}


def call(name: str, arguments: dict[str, Any], result: Any = None) -> dict[str, Any]:
    return {"name": name, "arguments": arguments, "result": result}


def example() -> dict[str, Any]:
    """An episode with a repeated search, a view and one recommendation."""
    return {
        "problem_id": "p-1",
        "query": "a red lamp under 100",
        "steps": [
            step("Search first.", call("find_product", {"q": "red lamp", "page": 1}, "Error: timeout")),
            step("Again.", call("find_product", {"q": "red lamp", "page": 1}, [{"product_id": "11", "price": 9.5}])),
            step(
                "Look, then recommend.",
                call("view_product_information", {"product_ids": "11"}, {"11": {"colour": "red"}}),
                call("recommend_product", {"product_ids": "11"}, "Having recommended the products to the user: 11."),
            ),
            step(None, call("terminate", {"status": "success"}, "done"), response="Here you are."),
        ],
    }


def as_steps(episode: dict[str, Any]) -> list[dict[str, Any]]:
    """SN15's steps, with ids that repeat when a call is repeated."""
    steps = []
    for position, one in enumerate(episode["steps"], 1):
        message: dict[str, Any] = {}
        if one["think"] is not None:
            message["think"] = one["think"]
        if one["calls"]:
            message["tool_call"] = [
                {"name": c["name"], "parameters": c["arguments"], "tool_call_id": json.dumps(c["arguments"])[:8]}
                | ({} if c["result"] is None else {"result": c["result"]})
                for c in one["calls"]
            ]
        if one["response"]:
            message["response"] = one["response"]
        extra = {"step": position, "query": episode["query"], "timestamp": 1750000000000 + position}
        steps.append({"completion": {"reasoning_content": "", "content": "", "message": message}, "extra_info": extra})
    return steps


def as_envelope(episode: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"problem_id": episode["problem_id"], "status": "SUCCESS", "dialogue": as_steps(episode)} | more


def as_dialogue(episode: dict[str, Any], obs: bool = True) -> list[dict[str, Any]]:
    steps = as_steps(episode)
    for one in steps:
        one["extra_info"]["problem_id"] = episode["problem_id"]
        one["prompt"] = [{"role": "system", "content": "You are an agent."}]
        calls = one["completion"]["message"].get("tool_call", [])
        if obs and calls:
            one["completion"]["message"]["obs"] = [
                {"tool_call_id": c["tool_call_id"], "results": c.pop("result")} for c in calls if "result" in c
            ]
    return steps


def flat_tools() -> list[dict[str, Any]]:
    return [{"type": "function", **deepcopy(tool["function"])} for tool in TOOLS]


def as_row(episode: dict[str, Any], flat: bool = True, arguments: Any = lambda value: value) -> dict[str, Any]:
    messages = [{"role": "system", "content": "You shop."}, {"role": "user", "content": episode["query"]}]
    for position, one in enumerate(episode["steps"]):
        message: dict[str, Any] = {"role": "assistant", "content": one["response"] or None}
        if one["think"] is not None:
            message["reasoning_content"] = one["think"]
        if one["calls"]:
            message["tool_calls"] = [
                {
                    "id": f"{position}-{n}",
                    "type": "function",
                    "function": {"name": c["name"], "arguments": arguments(c["arguments"])},
                }
                for n, c in enumerate(one["calls"])
            ]
        messages.append(message)
        messages += [
            {"role": "tool", "tool_call_id": f"{position}-{n}", "content": json.dumps(c["result"])}
            for n, c in enumerate(one["calls"])
            if c["result"] is not None
        ]
    return {"problem_id": episode["problem_id"], "messages": messages, "tools": flat_tools() if flat else TOOLS}


def as_atif(episode: dict[str, Any]) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"step_id": 1, "source": "user", "message": episode["query"]}]
    for position, one in enumerate(episode["steps"], 2):
        agent: dict[str, Any] = {"step_id": position, "source": "agent", "message": one["response"]}
        if one["think"] is not None:
            agent["reasoning_content"] = one["think"]
        if one["calls"]:
            agent["tool_calls"] = [
                {"tool_call_id": f"{position}-{n}", "function_name": c["name"], "arguments": c["arguments"]}
                for n, c in enumerate(one["calls"])
            ]
            agent["observation"] = {
                "results": [
                    {"source_call_id": f"{position}-{n}", "content": json.dumps(c["result"], ensure_ascii=False)}
                    for n, c in enumerate(one["calls"])
                    if c["result"] is not None
                ]
            }
        steps.append(agent)
    return {
        "schema_version": "ATIF-v1.7",
        "session_id": "s-1",
        "agent": {"name": "miner", "version": "7", "tool_definitions": TOOLS},
        "steps": steps,
        "extra": {"problem_id": episode["problem_id"]},
    }


def line(value: Any) -> bytes:
    """One line as Python's json writes it."""
    return json.dumps(value).encode() + b"\n"
