"""Writes an episode down as SN15's sandbox does: steps with the results of their calls, and the validator's proxy
log.

Clock and durations are derived from the seed, so the same episode is written with the same bytes.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from tracemill.environment.dialogue import make_call, make_step
from tracemill.environment.episode import Turn
from tracemill.environment.problem import Problem
from tracemill.environment.tools import MalformedArguments, call_tool, parse_arguments

if TYPE_CHECKING:
    from tracemill.environment.backend import CatalogBackend

PROXIED = {"find_product": "/search/find_product", "view_product_information": "/search/view_product_information"}
MODEL = "arena/narrator-8b"
NO_RESULT = object()
"""Stands for a call whose result the sandbox never wrote."""


class Recorder:
    """The sandbox of one episode; `step` plays a turn and returns the results of its calls."""

    def __init__(self, catalog: CatalogBackend, problem: Problem, rng: random.Random, start: int, logged: bool) -> None:
        self.catalog = catalog
        self.problem = problem
        self.rng = rng
        self.clock = start
        self.logged = logged
        self.steps: list[dict[str, Any]] = []
        self.inference_total = 0
        self.milliseconds = 0

    def step(self, turn: Turn, tokens: int | None = None, instead: Any = None, late: bool = False) -> list[Any]:
        """Play a turn whose calls follow an inference call of `tokens` completion tokens (None: no model was asked).

        `instead` replaces what the tools answer (NO_RESULT: nothing is written); `late` logs the inference after the
        calls.
        """
        results, calls, log = [], [], []
        for call in turn.calls:
            result = self._answer(call.name, call.arguments) if instead is None else instead
            results.append(result)
            made = make_call(call.name, call.arguments, result)
            if result is NO_RESULT:
                del made["result"]
            calls.append(made)
            log += self._search_log(call.name, call.arguments, result)
        inference = [] if tokens is None else [self._inference_log(tokens)]
        step = make_step(
            turn.think,
            calls,
            turn.content,
            query=self.problem.query,
            step=len(self.steps) + 1,
            timestamp=self._tick(900),
        )
        step["extra_info"]["problem_id"] = self.problem.problem_id
        if self.logged:
            step["extra_info"]["proxy_calls"] = [*log, *inference] if late else [*inference, *log]
        self.steps.append(step)
        return results

    def move_results(self) -> None:
        """Write the results as older sandboxes did: in `obs`, in the order of the calls."""
        for step in self.steps:
            calls = step["completion"]["message"].get("tool_call", ())
            moved = [{"tool_call_id": call["tool_call_id"], "results": call.pop("result")} for call in calls]
            step["completion"]["message"]["obs"] = moved

    def _answer(self, name: str, arguments: Any) -> Any:
        try:
            return call_tool(self.catalog, name, parse_arguments(arguments))
        except MalformedArguments as error:
            return {"error": str(error)}

    def _tick(self, most: int) -> int:
        spent = self.rng.randrange(most // 3, most)
        self.clock += spent
        self.milliseconds += spent
        return self.clock

    def _inference_log(self, tokens: int) -> dict[str, Any]:
        self.inference_total += 1
        asked = {"params": None, "json_data": {"model": MODEL}, "response": {"usage": {"completion_tokens": tokens}}}
        return self._request("POST", "/inference/chat/completions", 200, 4_000) | asked

    def _search_log(self, name: str, arguments: Any, result: Any) -> list[dict[str, Any]]:
        if name not in PROXIED or not isinstance(arguments, dict):
            return []
        rows = result if isinstance(result, list) else []
        found = [row["product_id"] for row in rows if isinstance(row, dict) and "product_id" in row]
        entry = self._request("GET", PROXIED[name], 200 if isinstance(result, list) else 504, 400)
        return [entry | {"params": arguments, "result_product_ids": found}]

    def _request(self, method: str, path: str, status: int, most: int) -> dict[str, Any]:
        duration = float(self.rng.randrange(most // 20, most))
        timed = {"duration_ms": duration, "timestamp": self._tick(most)}
        return {"method": method, "path": path, "status_code": status, **timed}
