"""Anybody's trajectory files as dialogues to score: a miner's own sandbox file, bare dialogues, and the other raw
formats.

SN15's own two forms are handed over exactly as written, without normalisation: the format score looks at the raw steps.
The others go through the canonical trajectory, which holds their calls and results but not SN15's steps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from tracemill.traces.dialogue import to_dialogue
from tracemill.traces.documents import read_episodes
from tracemill.traces.lines import Line
from tracemill.traces.normalise import Normaliser
from tracemill.traces.rejects import Reject

MAX_LINE_BYTES = 256 << 20
MAX_INFLATION = 1000.0
_EPISODE_KEYS = {"messages", "schema_version", "atif_json"}
"""Keys of the formats that are no envelope, though they may have a status: the canonical table has one."""


class RawDialogue(msgspec.Struct, frozen=True):
    """One line of a trajectory file."""

    line: int
    problem_id: str | None
    query: str | None
    dialogue: Any
    """What the scorer reads; None where `error` says why there is nothing to score."""
    error: str | None = None


def read_dialogues(path: Path) -> Iterator[RawDialogue]:
    """Yield every episode of a file, in order, whatever kind of file it is; a line that cannot be read is yielded with
    its error.

    Raises InputError for a file that is damaged as a whole (a cut compressed frame).
    """
    normaliser = Normaliser(path.name)
    for line in read_episodes(path, MAX_INFLATION, MAX_LINE_BYTES):
        yield _read(line, normaliser)


def _read(line: Line, normaliser: Normaliser) -> RawDialogue:
    try:
        value = json.loads(line.raw)
    except (ValueError, RecursionError) as error:
        return RawDialogue(line.number, None, None, None, f"no JSON: {error}")
    if isinstance(value, list):
        return RawDialogue(line.number, _told(value, "problem_id"), _told(value, "query"), value)
    if isinstance(value, dict) and ("dialogue" in value or ("status" in value and not value.keys() & _EPISODE_KEYS)):
        return _envelope(line.number, value)
    done = normaliser.line(line)
    if isinstance(done, Reject):
        return RawDialogue(line.number, None, None, None, f"{done.reason}: {done.detail}")
    trajectory = done.trajectory
    return RawDialogue(line.number, trajectory.problem_id, trajectory.query, to_dialogue(trajectory))


def _envelope(number: int, value: dict[str, Any]) -> RawDialogue:
    dialogue, problem = value.get("dialogue"), value.get("problem")
    source = problem if isinstance(problem, dict) else value
    given, query = value.get("problem_id"), source.get("query")
    problem_id = given if isinstance(given, str) else _told(dialogue, "problem_id")
    query = query if isinstance(query, str) else _told(dialogue, "query")
    error = None if dialogue is not None else f"no dialogue (status {str(value.get('status'))[:40]})"
    return RawDialogue(number, problem_id, query, dialogue, error)


def _told(dialogue: Any, key: str) -> str | None:
    """The first text under `key` that a step's extra_info carries."""
    for step in dialogue if isinstance(dialogue, list) else ():
        extra = step.get("extra_info") if isinstance(step, dict) else None
        if isinstance(extra, dict) and isinstance(extra.get(key), str):
            return str(extra[key])
    return None
