"""Single steps: given everything up to a turn, does a model make the call that the expert made?

A document is one turn of a solved expert episode. An answer is parsed as in rollouts. Names match when the same tools
are called in the same order; arguments are shares over the calls; exact is all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from tracemill.environment.episode import Call
from tracemill.evaluation.parse import parse_turn
from tracemill.evaluation.records import EVAL_SUITE, EpisodeRecord


class Document(msgspec.Struct, frozen=True):
    """The messages before a turn, and the calls of that turn."""

    problem_id: str
    category: str
    turn: int
    messages: list[dict[str, Any]]
    wanted: list[Call]


def documents(records: Iterable[EpisodeRecord], suite: str = EVAL_SUITE) -> Iterator[Document]:
    """Yield every turn with calls of the solved greedy episodes of a suite, in file order."""
    for record in records:
        if suite not in record.suites or not record.success or record.sampling.temperature > 0:
            continue
        turns = [i for i, message in enumerate(record.messages) if message["role"] == "assistant"]
        for number, at in enumerate(turns):
            calls = [call["function"] for call in record.messages[at].get("tool_calls") or ()]
            wanted = [Call(name=c["name"], arguments=c["arguments"]) for c in calls]
            if wanted:
                problem = record.problem
                yield Document(problem.problem_id, problem.category, number, record.messages[:at], wanted)


def score_answer(wanted: list[Call], answer: str) -> dict[str, float]:
    """Return `well_formed`, `tool_name`, `arguments` and `exact`, each in [0, 1], of one generated turn."""
    turn = parse_turn(answer)
    names = [call.name for call in turn.calls] == [call.name for call in wanted]
    pairs = list(zip(turn.calls, wanted, strict=True)) if names else []
    matches = [argument_match(got.arguments, want.arguments) for got, want in pairs]
    return {
        "well_formed": float(turn.error is None and bool(turn.calls)),
        "tool_name": float(names),
        "arguments": sum(matches) / len(matches) if matches else 0.0,
        "exact": float(names and all(got.arguments == want.arguments for got, want in pairs)),
    }


def argument_match(got: dict[str, Any], wanted: dict[str, Any]) -> float:
    """Share of the arguments named by either side that both give with the same value; 1.0 where both give none."""
    keys = got.keys() | wanted.keys()
    same = sum(key in got and key in wanted and got[key] == wanted[key] for key in keys)
    return same / len(keys) if keys else 1.0
