"""`tracemill serve-model`: a checkpoint behind the OpenAI protocol, with the same template as training and rollouts.

Requests that arrive together are answered from one batch. A malformed call is plain content, as the model wrote it: it
is the client's to judge. Earlier thoughts (`reasoning_content`) are rendered, so prompts over HTTP and in process are
the same tokens.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal

import msgspec
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, ConfigDict, Field

from tracemill.environment.episode import CONTEXT_LIMIT
from tracemill.evaluation.parse import split_think
from tracemill.evaluation.policies import Policy, Reply, Request, Sampling

GATHER_SECONDS = 0.005
"""How long the first request of a batch waits for company."""


class Message(BaseModel):
    """One chat message; keys that the template does not read are ignored."""

    model_config = ConfigDict(extra="ignore")

    role: Literal["system", "user", "assistant", "tool"]
    content: str | list[dict[str, Any]] | None = None
    reasoning_content: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None


class ChatRequest(BaseModel):
    """The part of the protocol that is served; other keys are ignored."""

    model_config = ConfigDict(extra="ignore")

    model: str = ""
    messages: list[Message] = Field(min_length=1, max_length=2_000)
    tools: list[dict[str, Any]] = []
    temperature: float = Field(0.0, ge=0.0, le=5.0)
    top_p: float = Field(1.0, gt=0.0, le=1.0)
    max_tokens: int = Field(256, ge=1, le=32_768)
    max_completion_tokens: int | None = Field(None, ge=1, le=32_768)
    """The protocol's newer name, which counts where both are given."""
    seed: int | None = Field(None, ge=0, lt=2**63)
    n: Literal[1] = 1
    stream: Literal[False] = False
    return_token_ids: bool = False


def make_app(policy: Policy, name: str, batch: int = 64, weights: str | None = None) -> FastAPI:
    """Return the application that serves `policy` under the model name `name`; `weights` is the checkpoint's digest."""
    batcher = Batcher(policy, batch)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        task = asyncio.create_task(batcher.run())
        yield
        task.cancel()

    app = FastAPI(title="tracemill serve-model", lifespan=lifespan)

    @app.get("/v1/models")
    def models() -> dict[str, Any]:
        model = {"id": name, "object": "model", "owned_by": "tracemill", "weights": weights}
        return {"object": "list", "data": [model]}

    @app.post("/v1/chat/completions")
    async def chat(body: ChatRequest) -> dict[str, Any]:
        reply = await batcher.answer(*chat_request(body))
        if reply.finish == CONTEXT_LIMIT:
            raise HTTPException(400, f"the prompt of {reply.prompt_tokens} tokens leaves no room in the context")
        return completion(reply, name, body.return_token_ids)

    return app


class Batcher:
    """Gathers requests and answers them from one batch, in a thread of its own."""

    def __init__(self, policy: Policy, batch: int) -> None:
        self.policy, self.batch = policy, batch
        self.queue: asyncio.Queue[tuple[Request, asyncio.Future[Reply]]] = asyncio.Queue()
        self.numbers = itertools.count()

    async def answer(self, messages: list[dict[str, Any]], tools: list[Any], sampling: Sampling, seed: int) -> Reply:
        """Return the reply to one request."""
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        request = Request(f"http-{next(self.numbers)}", 0, messages, tools, sampling, fixed_seed=seed)
        await self.queue.put((request, future))
        return await future

    async def run(self) -> None:
        """Serve until cancelled; what fails in a batch fails its requests and not the server."""
        while True:
            waiting = [await self.queue.get()]
            await asyncio.sleep(GATHER_SECONDS)
            while len(waiting) < self.batch and not self.queue.empty():
                waiting.append(self.queue.get_nowait())
            requests, futures = [r for r, _ in waiting], [f for _, f in waiting]
            try:
                replies = await asyncio.to_thread(self.policy.act, requests)
            except Exception as error:
                _settle(futures, [error] * len(futures))
            else:
                _settle(futures, replies)


def _settle(futures: Sequence[asyncio.Future[Reply]], answers: Sequence[Reply | Exception]) -> None:
    for future, answer in zip(futures, answers, strict=True):
        if future.done():
            continue
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)


def chat_request(body: ChatRequest) -> tuple[list[dict[str, Any]], list[Any], Sampling, int]:
    """Return messages, tools, sampling and seed as a policy wants them."""
    messages = [_message(message) for message in body.messages]
    sampling = Sampling(body.temperature, body.top_p, body.max_completion_tokens or body.max_tokens)
    return messages, body.tools, sampling, body.seed or 0


def _message(message: Message) -> dict[str, Any]:
    content = message.content
    text = content if isinstance(content, str) else "".join(str(part.get("text", "")) for part in content or ())
    made: dict[str, Any] = {"role": message.role, "content": text}
    if message.reasoning_content:
        made["reasoning_content"] = message.reasoning_content
    if message.tool_calls:
        made["tool_calls"] = [_call(call) for call in message.tool_calls]
    return made


def _call(call: dict[str, Any]) -> dict[str, Any]:
    """The call with its arguments as an object again; text that is no JSON object stays as it is."""
    function = call.get("function")
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise HTTPException(422, "a tool call has no function with a name")
    arguments = function.get("arguments", {})
    if isinstance(arguments, str):
        try:
            arguments = msgspec.json.decode(arguments)
        except (msgspec.DecodeError, RecursionError) as error:
            raise HTTPException(422, "the arguments of a tool call are no JSON") from error
    return {"id": call.get("id"), "type": "function", "function": {"name": function["name"], "arguments": arguments}}


def completion(reply: Reply, name: str, token_ids: bool) -> dict[str, Any]:
    """Return a reply as a chat completion; what is no clean turn is content as the model wrote it."""
    choice: dict[str, Any] = {"index": 0, "finish_reason": reply.finish, "message": reply_message(reply)}
    if reply.turn.error is None and reply.turn.calls:
        choice["finish_reason"] = "tool_calls"
    made = {
        "id": "chatcmpl-tracemill",
        "object": "chat.completion",
        "created": 0,
        "model": name,
        "choices": [choice],
        "usage": {
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
            "total_tokens": reply.prompt_tokens + reply.completion_tokens,
        },
    }
    if token_ids:
        made["prompt_token_ids"] = list(reply.prompt_ids)
        choice["token_ids"] = list(reply.completion_ids)
    return made


def reply_message(reply: Reply) -> dict[str, Any]:
    """The assistant message of a reply."""
    turn = reply.turn
    if turn.error is not None:
        return {"role": "assistant", "content": reply.text}
    think = split_think(reply.text)[0] or turn.think
    message: dict[str, Any] = {"role": "assistant", "content": turn.content}
    if think:
        message["reasoning_content"] = think
    if turn.calls:
        message["tool_calls"] = [
            {
                "id": f"call_{i}",
                "type": "function",
                "function": {"name": c.name, "arguments": msgspec.json.encode(c.arguments).decode()},
            }
            for i, c in enumerate(turn.calls)
        ]
    return message


def serve(policy: Policy, name: str, host: str, port: int, batch: int = 64, weights: str | None = None) -> None:
    """Serve until interrupted."""
    import uvicorn

    uvicorn.run(make_app(policy, name, batch, weights), host=host, port=port, log_level="info")
