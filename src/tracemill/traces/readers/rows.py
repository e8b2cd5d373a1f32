"""Released rows: `{messages, tools}`, OpenAI chat messages with flat or nested tool definitions.

Arguments come as an object or as text. A system message is passed over: the prompt is the environment's, and
every consumer renders it anew. Results pair with calls inside each turn. Our own table of trajectories is read as
rows too, with the provenance, the judgement and the evidence that it holds.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from tracemill.traces.draft import Draft, DraftCall, DraftTurn, Evidence
from tracemill.traces.jsontext import text_result
from tracemill.traces.pairing import pair_results
from tracemill.traces.readers.parts import Content, text_of
from tracemill.traces.reasoning import split_reasoning
from tracemill.traces.rejects import BAD_SHAPE, EMPTY, FOREIGN_TURN, Rejected
from tracemill.traces.trajectory import Turn

_ID = re.compile(rb'"[0-9a-f]{64}"')


class _Function(msgspec.Struct, gc=False):
    name: str
    arguments: dict[str, Any] | str | None = None


class _ToolCall(msgspec.Struct, gc=False):
    id: str | None = None
    function: _Function | None = None
    name: str | None = None
    arguments: dict[str, Any] | str | None = None


class _Message(msgspec.Struct, gc=False):
    role: str
    content: Content = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[_ToolCall] | None = None
    tool_call_id: str | None = None


class _Row(msgspec.Struct, gc=False):
    messages: list[_Message] | str
    tools: list[dict[str, Any]] | str | None = None
    problem_id: str | None = None
    category: str | None = None
    reward: dict[str, Any] | list[dict[str, Any]] | str | None = None
    voucher: dict[str, Any] | str | None = None
    trajectory_id: Raw | UnsetType = UNSET
    turns: Raw | UnsetType = UNSET


class _Told(msgspec.Struct, gc=False, kw_only=True):
    """What a row of our own table tells beyond a released row."""

    turns: str
    miner: str | None = None
    agent_version: str | None = None
    validator: str | None = None
    scorer_version: str | None = None
    arena_score: dict[str, Any] | str | None = None
    reasoning_score: float | None = None
    judge_model: str | None = None
    has_proxy_log: bool = False
    inference_calls: int = 0
    completion_tokens: int = 0
    searches: int = 0


_decode = msgspec.json.Decoder(_Row).decode
_decode_told = msgspec.json.Decoder(_Told).decode
_decode_turns = msgspec.json.Decoder(list[Turn]).decode
_decode_object = msgspec.json.Decoder(dict[str, Any] | None).decode
_decode_messages = msgspec.json.Decoder(list[_Message]).decode
_decode_reward = msgspec.json.Decoder(dict[str, Any] | list[dict[str, Any]] | None).decode
_decode_tools = msgspec.json.Decoder(list[dict[str, Any]]).decode


def read(line: bytes) -> Draft:
    """Return the episode of one row; Rejected or msgspec.ValidationError when it is none."""
    row = _decode(line)
    messages = _decode_messages(row.messages) if isinstance(row.messages, str) else row.messages
    tools = _decode_tools(row.tools) if isinstance(row.tools, str) else row.tools
    while messages and messages[0].role in ("system", "developer"):
        messages = messages[1:]
    if not messages or messages[0].role != "user":
        raise Rejected(BAD_SHAPE, "the first message behind the system's is not the user's")
    turns = _turns(messages[1:])
    if not turns:
        raise Rejected(EMPTY, "no assistant message")
    draft = Draft(
        problem_id=row.problem_id,
        category=row.category,
        query=text_of(messages[0].content, "the user's message"),
        reward=_decode_reward(row.reward) if isinstance(row.reward, str) else row.reward,
        voucher=_decode_object(row.voucher) if isinstance(row.voucher, str) else row.voucher,
        turns=turns,
        tools=tools,
    )
    if _is_ours(row):
        _add_told(draft, _decode_told(line))
    return draft


def _is_ours(row: _Row) -> bool:
    """Whether id and turns are as only our own table writes them; others use these names for something else."""
    if row.trajectory_id is UNSET or row.turns is UNSET:
        return False
    return _ID.fullmatch(bytes(row.trajectory_id)) is not None and bytes(row.turns).startswith(b'"[{')


def _add_told(draft: Draft, told: _Told) -> None:
    turns = _decode_turns(told.turns)
    if len(turns) != len(draft.turns):
        raise Rejected(BAD_SHAPE, f"{len(turns)} turns are told of {len(draft.turns)} assistant messages")
    draft.miner, draft.agent_version, draft.validator = told.miner, told.agent_version, told.validator
    draft.scorer_version, draft.judge_model = told.scorer_version, told.judge_model
    draft.reasoning_score = told.reasoning_score
    draft.arena_score = _decode_object(told.arena_score) if isinstance(told.arena_score, str) else told.arena_score
    counts = told.inference_calls, told.completion_tokens, told.searches
    draft.evidence = Evidence(turns, told.has_proxy_log, *counts)


def _turns(messages: list[_Message]) -> list[DraftTurn]:
    turns: list[DraftTurn] = []
    position = 0
    while position < len(messages):
        message = messages[position]
        step = len(turns) + 1
        if message.role == "tool":
            raise Rejected(BAD_SHAPE, f"step {step}: a tool message that follows no tool call")
        if message.role != "assistant":
            raise Rejected(FOREIGN_TURN, f"a message of role {message.role[:40]!r} after {len(turns)} assistant turns")
        answers = position + 1
        while answers < len(messages) and messages[answers].role == "tool":
            answers += 1
        turns.append(_turn(step, message, messages[position + 1 : answers]))
        position = answers
    return turns


def _turn(step: int, message: _Message, answers: list[_Message]) -> DraftTurn:
    where = f"step {step}"
    given = message.reasoning_content if message.reasoning_content is not None else message.reasoning
    think, content = split_reasoning(text_of(message.content, where), given, where)
    sources = message.tool_calls or []
    calls = [_call(where, source) for source in sources]
    results = [(answer.tool_call_id, _result(answer, where)) for answer in answers]
    pair_results(step, calls, [source.id for source in sources], results)
    return DraftTurn(think, content, calls)


def _call(where: str, source: _ToolCall) -> DraftCall:
    if source.function is not None:
        return DraftCall(source.function.name, source.function.arguments, None)
    if source.name is None:
        raise Rejected(BAD_SHAPE, f"{where}: a tool call without a function and without a name")
    return DraftCall(source.name, source.arguments, None)


def _result(answer: _Message, where: str) -> bytes | None:
    return None if answer.content is None else text_result(text_of(answer.content, where))
