"""From a raw snapshot to canonical trajectories: every line becomes one, or a reject with its place and reason."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tracemill.environment.problem import CATEGORIES
from tracemill.errors import InputError
from tracemill.traces.documents import read_episodes
from tracemill.traces.draft import Draft
from tracemill.traces.jsontext import check_flags, safe_text
from tracemill.traces.lines import Line
from tracemill.traces.measures import measure_calls, read_evidence
from tracemill.traces.messages import build_chat, content_id, nested_tools
from tracemill.traces.params import NormaliseParams
from tracemill.traces.problems import derived_id
from tracemill.traces.readers.sniff import RIVALS, Reader, reader_of
from tracemill.traces.rejects import (
    BAD_JSON,
    BAD_SHAPE,
    BAD_UTF8,
    EMPTY,
    NO_QUERY,
    NUMBER,
    RAW_LIMIT,
    SURROGATE,
    TOO_DEEP,
    Reject,
    Rejected,
)
from tracemill.traces.scan import NON_ASCII
from tracemill.traces.trajectory import Trajectory

_encode = msgspec.json.encode


class Normalised(NamedTuple):
    """A trajectory with the JSON text of its messages and tools, which the id and the table both need."""

    trajectory: Trajectory
    messages: bytes
    tools: bytes


class Normaliser:
    """Reads the lines of one snapshot; remembers which format the last line had, since files rarely mix them."""

    def __init__(self, snapshot_digest: str) -> None:
        self.formats: Counter[str] = Counter()
        self._digest = snapshot_digest
        self._name = ""
        self._reader: Reader | None = None
        self._rivals: tuple[bytes, ...] = ()

    def line(self, line: Line) -> Normalised | Reject:
        """Return what one line is."""
        try:
            draft = self._read(line)
            done = build(draft, line.number, self._digest)
        except Rejected as rejected:
            return Reject(line.number, line.byte, rejected.reason, rejected.detail, line.raw[:RAW_LIMIT])
        self.formats[self._name] += 1
        return done

    def _read(self, line: Line) -> Draft:
        if line.flags & NON_ASCII:
            _check_utf8(line.text)
        try:
            draft = self._read_known(line.text)
        except RecursionError as error:
            raise Rejected(TOO_DEEP, "nested too deep to be read") from error
        except msgspec.ValidationError as error:
            check_flags(line.flags)
            raise Rejected(BAD_SHAPE, str(error)) from error
        except msgspec.DecodeError as error:
            raise _diagnose(line.raw, error) from error
        check_flags(line.flags)
        return draft

    def _read_known(self, raw: bytes) -> Draft:
        if self._reader is not None and not any(key in raw for key in self._rivals):
            try:
                return self._reader(raw)
            except msgspec.ValidationError:
                name, reader = reader_of(raw)
                if name == self._name:
                    raise
        else:
            name, reader = reader_of(raw)
        draft = reader(raw)
        self._name, self._reader, self._rivals = name, reader, RIVALS[name]
        return draft


def _check_utf8(raw: bytes) -> None:
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        try:
            json.loads(raw.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            raise Rejected(BAD_JSON, f"no text, and no JSON either ({error.reason} at byte {error.start})") from error
        raise Rejected(BAD_UTF8, f"{error.reason} at byte {error.start} of the line") from error


class _OutsideJson(ValueError):
    pass


def _refuse_constant(name: str) -> Any:
    raise _OutsideJson(name)


def _diagnose(raw: bytes, error: Exception) -> Rejected:
    """Say why a line is no JSON; Python's own parser is more lenient in two ways, which tells them apart."""
    try:
        json.loads(raw, parse_constant=_refuse_constant)
    except _OutsideJson as constant:
        return Rejected(NUMBER, f"{constant} is no JSON number")
    except RecursionError:
        return Rejected(TOO_DEEP, "nested too deep to be read")
    except ValueError:
        return Rejected(BAD_JSON, str(error))
    return Rejected(SURROGATE, "half of a surrogate pair")


def build(draft: Draft, line: int, snapshot_digest: str) -> Normalised:
    """Return the trajectory of a draft; Rejected when it cannot become one."""
    if draft.query is None or not draft.query.strip():
        raise Rejected(NO_QUERY, "no query in any step")
    if not draft.turns:
        raise Rejected(EMPTY, "no assistant turn")
    query = safe_text(draft.query)
    tools = nested_tools(draft.tools)
    chat = build_chat(draft, query, tools)
    evidence = draft.evidence or read_evidence(draft.turns)
    messages_text, tools_text = _encode(chat.messages), _encode(tools)
    trajectory = Trajectory(
        trajectory_id=content_id(query, tools_text, chat),
        problem_id=safe_text(draft.problem_id) if draft.problem_id else derived_id(query),
        category=_category(draft.category),
        query=query,
        reward=draft.reward,
        voucher=draft.voucher,
        messages=chat.messages,
        tools=tools,
        turns=evidence.turns,
        snapshot_digest=snapshot_digest,
        line=line,
        miner=draft.miner,
        agent_version=draft.agent_version,
        validator=draft.validator,
        scorer_version=draft.scorer_version,
        status=draft.status,
        arena_score=draft.arena_score,
        reasoning_score=draft.reasoning_score,
        reasoning_coefficient=_coefficient(draft.reasoning_score),
        judge_model=draft.judge_model,
        has_proxy_log=evidence.has_proxy_log,
        think_characters=sum(len(turn.think or "") for turn in draft.turns),
        unpaired=chat.unpaired,
        inference_calls=evidence.inference_calls,
        completion_tokens=evidence.completion_tokens,
        searches=evidence.searches,
        **measure_calls(chat.calls),
    )
    return Normalised(trajectory, messages_text, tools_text)


def _category(found: str | None) -> str | None:
    if found is None:
        return None
    if found.lower() not in CATEGORIES:
        raise Rejected(BAD_SHAPE, f"category {found[:80]!r}, expected one of {', '.join(CATEGORIES)}")
    return found.lower()


def _coefficient(quality: float | None) -> float | None:
    """SN15's weight of a trajectory for the judge's quality in [0, 1]: 0.3 at the worst, 1 from 0.8 on."""
    if quality is None:
        return None
    if not 0.0 <= quality <= 1.0:
        raise Rejected(BAD_SHAPE, f"reasoning score {quality}, expected 0 to 1")
    return 0.3 + quality * (0.7 / 0.8) if quality < 0.8 else 1.0


def read_snapshot(
    path: Path, snapshot_digest: str, params: NormaliseParams
) -> Iterator[tuple[Line, Normalised | Reject]]:
    """Yield each line of a snapshot with what it is; InputError when the file as a whole is damaged."""
    normaliser = Normaliser(snapshot_digest)
    for line in read_episodes(path, params.max_inflation, int(params.max_line_megabytes * 1e6)):
        outcome = normaliser.line(line)
        if not line.ended and isinstance(outcome, Reject) and outcome.reason == BAD_JSON:
            raise InputError(
                f"{path}:{line.number}: byte {line.byte}: the last line is cut ({outcome.detail}); fetch the file "
                "again, or remove the line and give the new file another snapshot name"
            )
        yield line, outcome
