"""How far an episode's calls follow a teacher's for the same problem: the per-step reward of Dr. GRPO.

Outcome alone gives no signal where no episode of a group succeeds. Each call of the teacher is worth the same; a call
of the episode earns it only at the same state, that is after the calls before it: its name, then its arguments, and of
product ids only those that some earlier result has shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tracemill.environment.recommendation import split_ids
from tracemill.environment.tools import MalformedArguments, parse_arguments

NAME_SHARE = 0.5
"""What the right tool is worth alone; the rest is for its arguments."""

_ID = re.compile(r"[\w.\-]+")

Call = tuple[str, dict[str, Any], frozenset[str]]
"""Name, arguments, and every id that was shown before the call."""


def calls_of(messages: Sequence[Mapping[str, Any]]) -> list[Call]:
    """The calls of a conversation in order; arguments that are no object count as none."""
    shown: set[str] = set()
    calls: list[Call] = []
    for message in messages:
        if message["role"] != "assistant":
            shown.update(_ID.findall(str(message.get("content") or "")))
            continue
        for call in message.get("tool_calls") or ():
            function = call["function"]
            try:
                arguments = parse_arguments(function["arguments"])
            except MalformedArguments:
                arguments = {}
            calls.append((str(function["name"]), arguments, frozenset(shown)))
    return calls


def match_share(calls: Sequence[Call], teacher: Sequence[Call]) -> float:
    """Share in [0, 1] of the teacher's calls that the episode made in their order; extra calls dilute it."""
    if not teacher:
        return 0.0
    earned, at = 0.0, 0
    for call in calls:
        if at < len(teacher) and call[0] == teacher[at][0]:
            earned += NAME_SHARE + (1 - NAME_SHARE) * agreement(call, teacher[at])
            at += 1
    return earned / max(len(calls), len(teacher))


def agreement(call: Call, teacher: Call) -> float:
    """Share of the arguments of either call on which both agree; 1 where neither has any."""
    names = sorted({*call[1], *teacher[1]})
    if not names:
        return 1.0
    return sum(_agree(name, call[1].get(name), teacher[1].get(name), call[2]) for name in names) / len(names)


def _agree(name: str, given: Any, wanted: Any, shown: frozenset[str]) -> float:
    if name != "product_ids":
        return float(None not in (given, wanted) and str(given).strip().casefold() == str(wanted).strip().casefold())
    ours, theirs = split_ids(given), split_ids(wanted)
    right = sum(1 for one in ours if one in theirs and one in shown)
    return right / max(len({*ours, *theirs}), 1)
