"""Problems out of whatever holds them: problem files, released rows, trajectories and envelopes, line by line.

For the tool that compares files outside a build. A rejected trajectory still speaks of a problem, so it counts too.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tracemill.environment.problem import CATEGORIES, Problem, parse_problem
from tracemill.errors import InputError

TRAJECTORY_KEYS = ("messages", "dialogue", "steps", "schema_version", "atif_json", "completion")
MAX_LINE_BYTES = 64_000_000
MAX_INFLATION = 300.0


class Entry(msgspec.Struct, frozen=True):
    """One line that speaks of a problem."""

    problem: Problem
    file: str
    line: int
    named: bool
    """Whether the line gives the problem an id; if not, `problem.problem_id` is FILE:LINE."""
    recommended_ids: tuple[str, ...] = ()


def read_entries(path: Path) -> tuple[list[Entry], list[int]]:
    """Return what the lines of a file (plain, gzip or zstd; also one document, an array, or a parquet table with texts)
    say of problems, and the numbers of lines that say nothing.

    Raises InputError for a missing or damaged file, with the line, and for one that holds no problem at all.
    """
    from tracemill.traces.documents import TEXT_COLUMNS, read_episodes
    from tracemill.traces.normalise import Normaliser

    if not path.is_file():
        raise InputError(f"{path}: no such file; expected problems, released rows or trajectories, one a line")
    normaliser = Normaliser("")
    entries: list[Entry] = []
    silent: list[int] = []
    for line in read_episodes(path, MAX_INFLATION, MAX_LINE_BYTES, (*TEXT_COLUMNS, "query")):
        row = _object(line.raw)
        if row is not None and _is_problem(row):
            entries.append(_problem_entry(row, path, line.number))
            continue
        entry = _trajectory_entry(normaliser.line(line), row, line.raw, path, line.number)
        if entry is None:
            silent.append(line.number)
        else:
            entries.append(entry)
    if not entries:
        raise InputError(f"{path}: no line holds a problem; expected `query`, {{messages, tools}} or a trajectory")
    return entries, silent


def _object(raw: bytes) -> dict[str, Any] | None:
    value = _value(raw)
    return value if isinstance(value, dict) else None


def _value(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _is_problem(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("query"), str) and not any(key in row for key in TRAJECTORY_KEYS)


def _problem_entry(row: Mapping[str, Any], path: Path, number: int) -> Entry:
    where = f"{path}:{number}"
    known = {**row, "problem_id": row.get("problem_id") or row.get("id")}
    for name in ("reward", "voucher"):
        value = row.get(name)
        value = _value(value.encode()) if isinstance(value, str) else value  # as tables keep them
        # other collections keep a number or a word under the same name
        known[name] = value if isinstance(value, (dict, list)) else None
    if str(row.get("category")).lower() not in CATEGORIES:
        known["category"] = None
    return Entry(parse_problem(known, where), str(path), number, named=known["problem_id"] not in (None, ""))


def _trajectory_entry(outcome: Any, row: Mapping[str, Any] | None, raw: bytes, path: Path, number: int) -> Entry | None:
    from tracemill.traces.problems import find_problem
    from tracemill.traces.rejects import Reject

    recommended: tuple[str, ...] = ()
    if isinstance(outcome, Reject):
        found = find_problem(raw)
        if found is None or found["query"] is None:
            return None
    else:
        trajectory = outcome.trajectory
        names = ("problem_id", "category", "query", "reward", "voucher")
        found = {name: getattr(trajectory, name) for name in names}
        recommended = tuple(trajectory.recommended_ids)
    problem_id = _given_id(found, row)
    problem = parse_problem({**found, "problem_id": problem_id}, f"{path}:{number}")
    return Entry(problem, str(path), number, problem_id is not None, recommended)


def _given_id(found: Mapping[str, Any], row: Mapping[str, Any] | None) -> str | None:
    """The source's own id of the problem; one derived from the query by the reader is none."""
    from tracemill.traces.problems import derived_id

    if found["problem_id"] and found["problem_id"] != derived_id(found["query"]):
        return str(found["problem_id"])
    given = (row or {}).get("id")
    return given if isinstance(given, str) and given else None
