"""Released rows: `{messages, tools}`, OpenAI chat messages with flat or nested tool definitions.

Arguments come as an object or as text. A system message is passed over: the prompt is the environment's, and
every consumer renders it anew. Results pair with calls inside each turn.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tracemill.traces.draft import Draft, DraftCall, DraftTurn
from tracemill.traces.jsontext import text_result
from tracemill.traces.pairing import pair_results
from tracemill.traces.readers.parts import Content, text_of
from tracemill.traces.reasoning import split_reasoning
from tracemill.traces.rejects import BAD_SHAPE, EMPTY, FOREIGN_TURN, Rejected


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


_decode = msgspec.json.Decoder(_Row).decode
_decode_messages = msgspec.json.Decoder(list[_Message]).decode
_decode_reward = msgspec.json.Decoder(dict[str, Any] | list[dict[str, Any]] | None).decode
_decode_voucher = msgspec.json.Decoder(dict[str, Any] | None).decode
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
    return Draft(
        problem_id=row.problem_id,
        category=row.category,
        query=text_of(messages[0].content, "the user's message"),
        reward=_decode_reward(row.reward) if isinstance(row.reward, str) else row.reward,
        voucher=_decode_voucher(row.voucher) if isinstance(row.voucher, str) else row.voucher,
        turns=turns,
        tools=tools,
    )


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
