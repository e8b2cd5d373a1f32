"""One episode of a shopping agent: turns in, observations out, a named outcome at the end.

The arena, rollouts, RL and the teacher all play this class. `messages` is what the model sees: system prompt, query,
and observations rendered by the one renderer, with no string in it that could become a control token. `dialogue()` is
what the production scorer reads: the calls exactly as they were made, with the whole results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from tracemill.environment.control_tokens import neutralise, neutralise_value
from tracemill.environment.dialogue import make_call, make_step
from tracemill.environment.observation import render_observation
from tracemill.environment.params import PlayParams
from tracemill.environment.problem import Problem
from tracemill.environment.prompt import system_prompt
from tracemill.environment.tools import TOOLS, MalformedArguments, call_tool, parse_arguments

if TYPE_CHECKING:
    from tracemill.environment.backend import CatalogBackend

TERMINATED = "terminated"
STEP_LIMIT = "step_limit"
MALFORMED_CALL = "malformed_call"
NO_CALL = "no_call"
CONTEXT_LIMIT = "context_limit"
POLICY_ERROR = "policy_error"
OUTCOMES = (TERMINATED, STEP_LIMIT, MALFORMED_CALL, NO_CALL, CONTEXT_LIMIT, POLICY_ERROR)
"""All ways in which an episode ends; only `terminated` ran `terminate`."""

SPENT = "error: observation budget spent"
LOGICAL_CLOCK = 1_750_000_000_000
"""Timestamp of step 0 in milliseconds; step n is n seconds later. The format score wants a number, and no clock is
read."""


class Call(msgspec.Struct, frozen=True):
    """A tool call as the model made it; arguments as an object or as JSON text."""

    name: str
    arguments: Any = {}


class Turn(msgspec.Struct, frozen=True):
    """One assistant turn. `error` ends the episode: one of OUTCOMES, or any other text for a fault of the policy."""

    think: str = ""
    content: str = ""
    calls: list[Call] = []
    error: str | None = None


class Episode:
    """A live episode; `step` until `done`."""

    def __init__(self, catalog: CatalogBackend, problem: Problem, params: PlayParams | None = None) -> None:
        self.catalog = catalog
        self.problem = problem
        self.params = params or PlayParams()
        self.tools = TOOLS
        self.messages: list[dict[str, Any]] = [
            {"role": "system", "content": system_prompt(self.params.prompt)},
            {"role": "user", "content": neutralise(problem.query)},
        ]
        self.outcome: str | None = None
        self.error: str | None = None
        self.results: list[list[Any]] = []
        """Whole results of the calls, one list a turn."""
        self._played: list[tuple[Turn, list[dict[str, Any]]]] = []
        self._room = self.params.episode.observation_budget
        self._calls = 0

    @property
    def done(self) -> bool:
        """Whether the episode has its outcome."""
        return self.outcome is not None

    @property
    def steps(self) -> int:
        """Turns played so far."""
        return len(self._played)

    def step(self, turn: Turn) -> list[dict[str, Any]]:
        """Play one turn and return its tool messages (none where the turn ended the episode without running a call).

        Raises ValueError when the episode is over. Errors of tools are observations; errors of the catalogue itself
        escape.
        """
        if self.outcome is not None:
            raise ValueError(f"the episode of {self.problem.problem_id} ended with {self.outcome}; start another one")
        arguments = self._read(turn)
        if arguments is None:
            self._end_without_call(turn)
            return []
        results = [call_tool(self.catalog, call.name, given) for call, given in zip(turn.calls, arguments, strict=True)]
        shown = [self._observe(call.name, result) for call, result in zip(turn.calls, results, strict=True)]
        tool_messages = self._write(turn, arguments, shown)
        made = [
            make_call(c.name, given, result) for c, given, result in zip(turn.calls, arguments, results, strict=True)
        ]
        self._played.append((turn, made))
        self.results.append(results)
        if any(
            call.name == "terminate" and not _failed(result) for call, result in zip(turn.calls, results, strict=True)
        ):
            self.outcome = TERMINATED
        elif self.steps >= self.params.episode.max_steps:
            self.outcome = STEP_LIMIT
        return tool_messages

    def end(self, outcome: str, error: str | None = None) -> None:
        """End a live episode from outside: the next prompt would not fit (`context_limit`), or the policy is gone."""
        if outcome not in OUTCOMES:
            raise ValueError(f"outcome {outcome!r}, expected one of {', '.join(OUTCOMES)}")
        if self.outcome is None:
            self.outcome, self.error = outcome, error

    def dialogue(self) -> list[dict[str, Any]]:
        """The episode as SN15 steps: what the production scorer and the filters read."""
        return [
            make_step(
                turn.think,
                calls,
                turn.content if turn.error is None and (calls or not turn.calls) else "",
                query=self.problem.query,
                step=number,
                timestamp=LOGICAL_CLOCK + 1_000 * number,
            )
            for number, (turn, calls) in enumerate(self._played, 1)
        ]

    def _read(self, turn: Turn) -> list[dict[str, Any]] | None:
        """Arguments of the turn's calls, or None where the turn ends the episode."""
        if turn.error is not None:
            self.outcome = turn.error if turn.error in OUTCOMES else POLICY_ERROR
            self.error = turn.error
        elif not turn.calls:
            self.outcome = NO_CALL
        elif len(turn.calls) > self.params.episode.max_calls:
            self.outcome = MALFORMED_CALL
            self.error = f"{len(turn.calls)} calls in one turn, at most {self.params.episode.max_calls}"
        elif not all(isinstance(call.name, str) for call in turn.calls):
            self.outcome, self.error = MALFORMED_CALL, "the name of a call is no text"
        else:
            try:
                return [parse_arguments(call.arguments) for call in turn.calls]
            except MalformedArguments as fault:
                self.outcome, self.error = MALFORMED_CALL, str(fault)
        return None

    def _end_without_call(self, turn: Turn) -> None:
        self.messages.append(_assistant(turn, []))
        self._played.append((turn, []))
        self.results.append([])

    def _observe(self, name: str, result: Any) -> str:
        if self._room <= 0:
            return SPENT
        text = render_observation(name, result, self.params.observation)
        self._room -= len(text)
        return text

    def _write(self, turn: Turn, arguments: list[dict[str, Any]], shown: list[str]) -> list[dict[str, Any]]:
        ids = [f"call_{self._calls + position}" for position in range(len(shown))]
        self._calls += len(shown)
        names = [neutralise(call.name) for call in turn.calls]
        calls = [
            {"id": key, "type": "function", "function": {"name": name, "arguments": neutralise_value(given)}}
            for key, name, given in zip(ids, names, arguments, strict=True)
        ]
        tool_messages = [
            {"role": "tool", "tool_call_id": key, "name": name, "content": text}
            for key, name, text in zip(ids, names, shown, strict=True)
        ]
        self.messages.append(_assistant(turn, calls))
        self.messages.extend(tool_messages)
        return tool_messages


def _assistant(turn: Turn, calls: list[dict[str, Any]]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": neutralise(turn.content)}
    if turn.think:
        message["reasoning_content"] = neutralise(turn.think)
    if calls:
        message["tool_calls"] = calls
    return message


def _failed(result: Any) -> bool:
    return isinstance(result, dict) and "error" in result
