"""The problems that a snapshot speaks of, rejected and failed episodes' included: all of them are nodes of the
leak graph.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec

from tracemill.environment.control_tokens import neutralise, neutralise_value
from tracemill.environment.problem import CATEGORIES


class SeenProblem(msgspec.Struct):
    """One row of problems.parquet."""

    problem_id: str
    category: str | None
    query: str | None
    """None where the only episodes seen carry no query (the sandbox failed before the first step)."""
    reward: dict[str, Any] | list[Any] | None
    voucher: dict[str, Any] | None
    first_line: int
    lines: int = 0
    kept: int = 0


class ProblemTable:
    """Distinct problems in the order in which they were first seen."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str | None, bytes], SeenProblem] = {}

    def add(
        self,
        problem_id: str,
        query: str | None,
        *,
        category: str | None = None,
        reward: Any = None,
        voucher: Any = None,
        line: int,
        kept: bool,
    ) -> None:
        """Count one line that speaks of this problem."""
        spec = b"" if reward is None and voucher is None else msgspec.json.encode([reward, voucher], order="sorted")
        key = (problem_id, query, spec)
        found = self._seen.get(key)
        if found is None:
            found = self._seen[key] = SeenProblem(problem_id, category, query, reward, voucher, line)
        found.lines += 1
        found.kept += kept

    def rows(self) -> list[SeenProblem]:
        """All problems; one without a query is left out where the same id was seen with one."""
        named = {problem.problem_id for problem in self._seen.values() if problem.query is not None}
        return [p for p in self._seen.values() if p.query is not None or p.problem_id not in named]


def derived_id(query: str) -> str:
    """The id of a problem whose source gives none: equal queries have equal ids."""
    return "query-" + hashlib.sha256(query.encode()).hexdigest()[:16]


def find_problem(raw: bytes) -> dict[str, Any] | None:
    """What a rejected line says of its problem (problem_id, query, category, reward, voucher), None where it says
    nothing.

    Only values of the right type are taken, wherever one of the formats keeps them; the line may be anything, also what
    is almost JSON (a number outside JSON, bytes that are no text).
    """
    value = _lenient(raw)
    row = value if isinstance(value, dict) else {}
    document = _opened(row.get("atif_json"))
    if isinstance(document, dict):
        row = {**row, **document}
    steps = value if isinstance(value, list) else row.get("dialogue")
    nested, extra = row.get("problem"), row.get("extra")
    spec = {
        **(extra if isinstance(extra, dict) else {}),
        **{name: given for name, given in row.items() if given is not None},
        **(nested if isinstance(nested, dict) else {}),
    }
    query = (
        _text(spec.get("query"))
        or _query_of_steps(steps)
        or _query_of_messages(_opened(row.get("messages")) or row.get("steps"))
    )
    problem_id = _text(spec.get("problem_id")) or _of_steps(steps, "problem_id")
    if query is None and problem_id is None:
        return None
    reward, voucher = _opened(spec.get("reward")), _opened(spec.get("voucher"))
    category = _text(spec.get("category"))
    return {
        "problem_id": neutralise(problem_id) if problem_id else derived_id(neutralise(query or "")),
        "query": neutralise(query) if query else None,
        "category": category.lower() if category and category.lower() in CATEGORIES else None,
        "reward": reward if isinstance(reward, dict) or _objects(reward) else None,
        "voucher": voucher if isinstance(voucher, dict) else None,
    }


def _lenient(raw: bytes) -> Any:
    """The value of a line; what no strict reader takes is read by Python's, its surrogates and wrong bytes replaced."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        try:
            return neutralise_value(json.loads(raw.decode("utf-8", "replace")))
        except (ValueError, RecursionError):
            return None


def _opened(value: Any) -> Any:
    """What a text holds that tables keep as JSON; any other value is itself."""
    return _lenient(value.encode()) if isinstance(value, str) else value


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() and "\0" not in value else None


def _objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def _of_steps(steps: Any, key: str) -> str | None:
    for step in steps if isinstance(steps, list) else ():
        extra = step.get("extra_info") if isinstance(step, dict) else None
        found = _text(extra.get(key)) if isinstance(extra, dict) else None
        if found is not None:
            return found
    return None


def _query_of_steps(steps: Any) -> str | None:
    return _of_steps(steps, "query")


def _query_of_messages(messages: Any) -> str | None:
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and "user" in (message.get("role"), message.get("source")):
            content = message.get("content", message.get("message"))
            if isinstance(content, list):
                texts = (part.get("text") for part in content if isinstance(part, dict))
                content = "".join(text for text in texts if isinstance(text, str))
            return _text(content)
    return None
