"""ATIF v1.x documents (Agent Trajectory Interchange Format): one a line, a whole file, or nested in a column
`atif_json`.

Field names and meanings are those of the package `atif`; documents of every 1.x version are read, with unknown
fields passed over, since SN15 writes 1.7. What SN15 knows of an episode beyond the format stands in `extra`,
under the envelope's names.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tracemill.traces.draft import Draft, DraftCall, DraftTurn, ProxyCall
from tracemill.traces.jsontext import text_result
from tracemill.traces.pairing import pair_results
from tracemill.traces.readers.parts import Content, text_of
from tracemill.traces.reasoning import split_reasoning
from tracemill.traces.rejects import BAD_SHAPE, COPIED, EMPTY, FOREIGN_TURN, Rejected

VERSION = "ATIF-v1."


class _ToolCall(msgspec.Struct, gc=False):
    tool_call_id: str
    function_name: str
    arguments: dict[str, Any] | str | None = None


class _Result(msgspec.Struct, gc=False):
    source_call_id: str | None = None
    content: Content = None


class _Observation(msgspec.Struct, gc=False):
    results: list[_Result]


class _StepExtra(msgspec.Struct, gc=False):
    timestamp: Any = None
    proxy_calls: list[ProxyCall] | None = None


class _Step(msgspec.Struct, gc=False):
    source: str
    message: Content = None
    timestamp: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[_ToolCall] | None = None
    observation: _Observation | None = None
    is_copied_context: bool | None = None
    extra: _StepExtra | None = None


class _Agent(msgspec.Struct, gc=False):
    name: str | None = None
    version: str | None = None
    tool_definitions: list[dict[str, Any]] | None = None


class _Reasoning(msgspec.Struct, gc=False):
    score: float | None = None
    model: str | None = None


class _Extra(msgspec.Struct, gc=False):
    problem_id: str | None = None
    category: str | None = None
    reward: dict[str, Any] | list[dict[str, Any]] | None = None
    voucher: dict[str, Any] | None = None
    miner_hotkey: str | None = None
    agent_version_id: str | None = None
    validator_hotkey: str | None = None
    scoring_version: str | None = None
    score: dict[str, Any] | None = None
    reasoning: _Reasoning | None = None


class _Document(msgspec.Struct, gc=False):
    schema_version: str
    steps: list[_Step]
    agent: _Agent | None = None
    extra: _Extra | None = None
    continued_trajectory_ref: str | None = None


class _Column(_Extra, gc=False, kw_only=True):
    atif_json: msgspec.Raw


_decode = msgspec.json.Decoder(_Document).decode
_decode_column = msgspec.json.Decoder(_Column).decode
_decode_text = msgspec.json.Decoder(str).decode


def read(line: bytes) -> Draft:
    """Return the episode of one document; Rejected or msgspec.ValidationError when it is none."""
    return _draft(_decode(line), None)


def read_column(line: bytes) -> Draft:
    """Return the episode of a row that holds a document in `atif_json`, as text or as an object."""
    row = _decode_column(line)
    raw = bytes(row.atif_json)
    if raw.startswith(b'"'):
        raw = _decode_text(raw).encode()
    return _draft(_decode(raw), row)


def _draft(document: _Document, column: _Extra | None) -> Draft:
    if not document.schema_version.startswith(VERSION):
        raise Rejected(BAD_SHAPE, f"schema_version {document.schema_version[:40]!r}, expected {VERSION}x")
    if document.continued_trajectory_ref is not None:
        raise Rejected(COPIED, "the episode goes on in another document")
    query, steps = _opening(document.steps)
    turns = [_turn(number, step) for number, step in enumerate(steps, 1)]
    if not turns:
        raise Rejected(EMPTY, "no agent step")
    agent, extra = document.agent or _Agent(), _merged(document.extra, column)
    reasoning = extra.reasoning or _Reasoning()
    return Draft(
        problem_id=extra.problem_id or (column.problem_id if column else None),
        category=extra.category,
        query=query,
        reward=extra.reward,
        voucher=extra.voucher,
        turns=turns,
        tools=agent.tool_definitions,
        miner=extra.miner_hotkey,
        agent_version=extra.agent_version_id or agent.version,
        validator=extra.validator_hotkey,
        scorer_version=extra.scoring_version,
        arena_score=extra.score,
        reasoning_score=reasoning.score,
        judge_model=reasoning.model,
    )


def _merged(extra: _Extra | None, column: _Extra | None) -> _Extra:
    """What is known of the episode: from the document, and from the row around it where the document is silent."""
    sources = [source for source in (extra, column) if source is not None]
    given = {
        name: next((value for source in sources if (value := getattr(source, name)) is not None), None)
        for name in _Extra.__struct_fields__
    }
    return _Extra(**given)


def _opening(steps: list[_Step]) -> tuple[str | None, list[_Step]]:
    """The user's text and the agent's steps; a system step at the start is passed over."""
    query, agent = None, []
    for step in steps:
        if step.is_copied_context:
            raise Rejected(COPIED, "steps copied from another trajectory; they must not be trained on")
        if step.source == "agent":
            agent.append(step)
        elif agent or (step.source == "user" and query is not None):
            raise Rejected(FOREIGN_TURN, f"a step of source {step.source[:40]!r} after the opening")
        elif step.source == "user":
            query = text_of(step.message, "the user's step")
        elif step.source != "system":
            raise Rejected(BAD_SHAPE, f"source {step.source[:40]!r}, expected system, user or agent")
    return query, agent


def _turn(number: int, step: _Step) -> DraftTurn:
    where = f"step {number}"
    think, content = split_reasoning(text_of(step.message, where), step.reasoning_content, where)
    sources = step.tool_calls or []
    calls = [DraftCall(source.function_name, source.arguments, None) for source in sources]
    if step.observation is not None and (sources or step.observation.results):
        results = [(result.source_call_id, _result(result, where)) for result in step.observation.results]
        pair_results(number, calls, [source.tool_call_id for source in sources], results)
    extra = step.extra or _StepExtra()
    timestamp = extra.timestamp if extra.timestamp is not None else step.timestamp
    return DraftTurn(think, content, calls, timestamp, extra.proxy_calls)


def _result(result: _Result, where: str) -> bytes | None:
    return None if result.content is None else text_result(text_of(result.content, where))
