"""An OpenAI-compatible server as a policy: vLLM, SGLang, a provider's API, `tracemill serve-model`.

Each episode talks at its own pace. A request is tried again, with back-off, for what may pass (time-outs, 429, 5xx, a
broken answer); what remains is the outcome of its episode, by name. Only a refused key stops the run: no answer would
ever come.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from tracemill.environment.episode import CONTEXT_LIMIT, Turn
from tracemill.errors import StageError
from tracemill.evaluation.outcomes import (
    BAD_REQUEST,
    BAD_RESPONSE,
    RATE_LIMITED,
    SERVER_ERROR,
    TIMEOUT,
    UNREACHABLE,
)
from tracemill.evaluation.params import EndpointParams
from tracemill.evaluation.parse import failed_turn, message_turn
from tracemill.evaluation.policies import Reply, Request

if TYPE_CHECKING:
    import httpx

logger = logging.getLogger(__name__)

_MAX_ANSWER = 8 * 1024 * 1024
_LONGEST_WAIT = 60.0


class _Fault(Exception):
    """A try that failed; `wait` is what the server asked for, `final` that another try is in vain."""

    def __init__(self, name: str, detail: str, wait: float | None = None, final: bool = False) -> None:
        super().__init__(detail)
        self.name, self.wait, self.final = name, wait, final


class EndpointPolicy:
    """Plays through one server."""

    def __init__(self, params: EndpointParams, key: str | None = None) -> None:
        self.params, self.key = params, key
        self.name = f"endpoint:{params.model}"
        self.concurrency = params.concurrency
        self._client: httpx.AsyncClient | None = None
        self._next_slot = 0.0

    async def act_one(self, request: Request) -> Reply:
        """Return the server's turn, or the turn whose error names what went wrong."""
        payload = request_payload(request, self.params)
        for attempt in range(1, self.params.attempts + 1):
            try:
                await self._wait_for_slot()
                return read_answer(await self._post(payload))
            except _Fault as fault:
                if fault.final or attempt == self.params.attempts:
                    logger.warning("episode %s: %s after %d tries: %s", request.key, fault.name, attempt, fault)
                    error = fault.name if fault.name == CONTEXT_LIMIT else f"{fault.name}: {fault}"
                    return Reply(Turn(error=error), finish=fault.name)
                await asyncio.sleep(self._pause(attempt, fault.wait))
        raise AssertionError("unreachable: the last attempt returns")

    async def aclose(self) -> None:
        """Close the connections; the next request opens new ones."""
        if self._client is not None:
            await self._client.aclose()
        self._client, self._next_slot = None, 0.0

    def _pause(self, attempt: int, asked: float | None) -> float:
        own = self.params.backoff_seconds * 2.0 ** (attempt - 1)
        return min(_LONGEST_WAIT, max(own, asked or 0.0))

    async def _wait_for_slot(self) -> None:
        """Keep requests apart by the rate limit; slots are handed out in order of asking."""
        if not self.params.requests_per_minute:
            return
        now = asyncio.get_running_loop().time()
        slot = max(now, self._next_slot)
        self._next_slot = slot + 60.0 / self.params.requests_per_minute
        await asyncio.sleep(slot - now)

    async def _post(self, payload: bytes) -> Any:
        import httpx

        if self._client is None:
            self._client = _client(self.params, self.key)
        url = f"{self.params.url.rstrip('/')}/chat/completions"
        try:
            async with self._client.stream("POST", url, content=payload) as response:
                body = await _read_bounded(response)
        except httpx.TimeoutException as error:
            raise _Fault(TIMEOUT, f"{url}: no answer in {self.params.timeout_seconds} s") from error
        except httpx.HTTPError as error:
            raise _Fault(UNREACHABLE, f"{url}: {error}") from error
        return _decode(response.status_code, response.headers, body, url)


def _client(params: EndpointParams, key: str | None) -> httpx.AsyncClient:
    import httpx

    headers = {"content-type": "application/json", **({"authorization": f"Bearer {key}"} if key else {})}
    limits = httpx.Limits(max_connections=params.concurrency)
    return httpx.AsyncClient(
        timeout=params.timeout_seconds, headers=headers, limits=limits, trust_env=not _is_local(params.url)
    )


def _is_local(url: str) -> bool:
    import httpx

    return httpx.URL(url).host in ("localhost", "127.0.0.1", "::1")


async def _read_bounded(response: httpx.Response) -> bytes:
    body = bytearray()
    async for part in response.aiter_bytes():
        body += part
        if len(body) > _MAX_ANSWER:
            raise _Fault(BAD_RESPONSE, f"{response.url}: an answer of more than {_MAX_ANSWER} bytes", final=True)
    return bytes(body)


def _decode(status: int, headers: Mapping[str, str], body: bytes, url: str) -> Any:
    shown = body[:200].decode("utf-8", "replace")
    if status in (401, 403):
        raise StageError(f"{url}: the key was refused (status {status}); set the variable of endpoint.key_variable")
    if status == 429:
        raise _Fault(RATE_LIMITED, f"{url}: status 429: {shown}", _retry_after(headers))
    if status >= 500:
        raise _Fault(SERVER_ERROR, f"{url}: status {status}: {shown}", _retry_after(headers))
    if status != 200:
        too_long = status in (400, 413) and b"context" in body.lower()
        raise _Fault(CONTEXT_LIMIT if too_long else BAD_REQUEST, f"{url}: status {status}: {shown}", final=True)
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _Fault(BAD_RESPONSE, f"{url}: no JSON: {shown}") from error


def _retry_after(headers: Mapping[str, str]) -> float | None:
    try:
        return max(0.0, float(headers.get("retry-after", "")))
    except ValueError:
        return None


def request_payload(request: Request, params: EndpointParams) -> bytes:
    """Return the body of a chat completion; arguments travel as JSON text, as the protocol wants them."""
    body: dict[str, Any] = {
        "model": params.model,
        "messages": [_sent(message, params.send_reasoning) for message in request.messages],
        "tools": request.tools,
        "temperature": request.sampling.temperature,
        "max_tokens": request.sampling.max_new_tokens,
        "seed": request.seed,
    }
    if request.sampling.top_p < 1:  # the protocol's own value; some models take one of the two and refuse both
        body["top_p"] = request.sampling.top_p
    if params.token_ids:
        body["return_token_ids"] = True
    return msgspec.json.encode(body)


def _sent(message: dict[str, Any], reasoning: bool) -> dict[str, Any]:
    sent: dict[str, Any] = {key: message[key] for key in ("role", "content", "tool_call_id") if key in message}
    if reasoning and message.get("reasoning_content"):
        sent["reasoning_content"] = message["reasoning_content"]
    calls = message.get("tool_calls")
    if calls:
        sent["tool_calls"] = [{**call, "function": _with_text_arguments(call["function"])} for call in calls]
    return sent


def _with_text_arguments(function: dict[str, Any]) -> dict[str, Any]:
    arguments = function["arguments"]
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    return {"name": function["name"], "arguments": text}


def read_answer(answer: Any) -> Reply:
    """Return the reply in the body of a chat completion; a body without a message is a fault of the server."""
    try:
        choice = answer["choices"][0]
        message, finish = choice["message"], choice.get("finish_reason")
        if not isinstance(message, dict):
            raise TypeError("the message is no object")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise _Fault(BAD_RESPONSE, f"no message in the answer ({type(error).__name__}: {error})") from error
    content = message.get("content")
    text = content if isinstance(content, str) else ""
    length = "length" if finish == "length" else "stop"
    turn = failed_turn(text, "refusal") if finish == "content_filter" else message_turn(message, length)
    usage = answer.get("usage")
    return Reply(
        turn=turn,
        text=text,
        finish=length,
        prompt_tokens=_count(usage, "prompt_tokens"),
        completion_tokens=_count(usage, "completion_tokens"),
        prompt_ids=_ids(answer.get("prompt_token_ids")),
        completion_ids=_ids(choice.get("token_ids")),
    )


def _count(usage: Any, key: str) -> int:
    value = usage.get(key) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40 else 0


def _ids(value: Any) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, list) and all(type(i) is int for i in value) else ()


def read_key(params: EndpointParams) -> str | None:
    """The key from the environment variable that the parameters name, None where it is not set."""
    return os.environ.get(params.key_variable) or None


def check_endpoint(params: EndpointParams, key: str | None) -> None:
    """Raise StageError where the server does not answer or refuses the key; a server without `/models` passes."""
    _ask_models(params, key)


def check_served(params: EndpointParams, digest: str) -> None:
    """Raise StageError unless the server lists the model of `params`, and, where it names weights, these ones.

    `digest` is the checkpoint's; `tracemill serve-model` names what it serves, other servers are taken at their word.
    """
    try:
        body = msgspec.json.decode(_ask_models(params, read_key(params)).content)
        served = {model["id"]: model.get("weights") for model in body["data"]}
    except (msgspec.DecodeError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise StageError(
            f"{params.url}/models: no list of models ({error}); rollouts need a server that has one"
        ) from error
    if params.model not in served:
        raise StageError(f"{params.url} serves {sorted(served)}, expected {params.model!r}; serve the parent under it")
    if served[params.model] not in (None, digest):
        raise StageError(f"{params.url}: {params.model!r} has other weights than the stage's parent; serve the parent")


def _ask_models(params: EndpointParams, key: str | None) -> httpx.Response:
    import httpx

    url = f"{params.url.rstrip('/')}/models"
    headers = {"authorization": f"Bearer {key}"} if key else {}
    try:
        answer = httpx.get(url, headers=headers, timeout=30.0, trust_env=not _is_local(url))
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise StageError(f"{url}: the endpoint cannot be reached ({error}); start it or change endpoint.url") from error
    status = answer.status_code
    if status in (401, 403):
        raise StageError(f"{url}: the key was refused (status {status}); set the variable {params.key_variable}")
    if status >= 500:
        raise StageError(f"{url}: status {status}; look at the server's log")
    return answer
