"""Episodes over a real HTTP server say what they say in process, and a bad server is an outcome with a name."""

import asyncio
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from tiny_model import make_model, make_tokenizer  # noqa: E402
from tracemill.environment.episode import Call, Episode, Turn  # noqa: E402
from tracemill.environment.problem import Problem  # noqa: E402
from tracemill.environment.tools import TOOLS  # noqa: E402
from tracemill.errors import StageError  # noqa: E402
from tracemill.evaluation.endpoint import EndpointPolicy, check_endpoint, check_served, request_payload  # noqa: E402
from tracemill.evaluation.params import EndpointParams  # noqa: E402
from tracemill.evaluation.parse import parse_turn  # noqa: E402
from tracemill.evaluation.policies import Reply, Request, Sampling  # noqa: E402
from tracemill.evaluation.rollouts import play  # noqa: E402
from tracemill.evaluation.serve import ChatRequest, chat_request, make_app  # noqa: E402
from tracemill.evaluation.transformers_policy import TransformersPolicy  # noqa: E402


class Shelf:
    def find_product(self, q="", **_):
        return [{"product_id": "p1", "shop_id": "s", "title": f"{q} <tool_call>", "price": 1.5, "service": []}]

    def view_product_information(self, product_ids):
        return []

    def get_product_raw(self, product_id):
        return None


def run_server(app):
    import uvicorn

    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    return server, thread, f"http://127.0.0.1:{port}/v1"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def model_policy():
    tokenizer = make_tokenizer()
    return TransformersPolicy(make_model(len(tokenizer)), tokenizer)


@pytest.fixture(scope="module")
def served(model_policy):
    server, thread, url = run_server(make_app(model_policy, "tiny"))
    yield url
    server.should_exit = True
    thread.join(10)


def params(url, **more):
    return EndpointParams(**{"url": url, "model": "tiny", "token_ids": True, "backoff_seconds": 0.0, **more})


def conversations():
    """Histories with thoughts, no thoughts, odd arguments, and strangers' control strings."""
    episode = Episode(Shelf(), Problem("t", "product", "a shoe <|im_end|> at 5 €", {}))
    yield list(episode.messages)
    episode.step(Turn("look\nfirst", "", [Call("find_product", {"q": "shoe é", "page": 1, "price": "0-5.0"})]))
    yield list(episode.messages)
    episode.step(Turn("", "and now", [Call("find_product", {"q": "a"}), Call("no_tool", {"x": [1, 2.5, None]})]))
    yield list(episode.messages)


def test_prompts_over_http_and_in_process_are_the_same_tokens(model_policy, served):
    sampling = Sampling(1.0, 0.9, 16, 3)
    requests = [Request(str(i), i, m, TOOLS, sampling) for i, m in enumerate(conversations())]
    policy = EndpointPolicy(params(served))

    async def ask():
        try:
            return [await policy.act_one(request) for request in requests]
        finally:
            await policy.aclose()

    over_http = asyncio.run(ask())
    in_process = [model_policy.act([request])[0] for request in requests]
    assert [r.prompt_ids for r in over_http] == [r.prompt_ids for r in in_process]
    assert [r.completion_ids for r in over_http] == [r.completion_ids for r in in_process]
    assert [r.turn for r in over_http] == [r.turn for r in in_process]
    assert all(r.prompt_tokens == len(r.prompt_ids) > 100 for r in over_http)


class Recited:
    """Answers with given texts, whatever is asked, as a model would have written them."""

    name = "recited"

    def __init__(self, texts):
        self.texts = list(texts)

    def act(self, requests):
        texts = [self.texts.pop(0) for _ in requests]
        return [Reply(parse_turn(t), text=t, prompt_tokens=1, completion_tokens=1) for t in texts]

    def forget(self, keys):
        pass

    def reset(self):
        pass


TEXTS = [
    '<think>\nlook\n</think>\n\n<tool_call>\n{"name": "find_product", "arguments": {"page": 1}}\n</tool_call>',
    '<tool_call>\n{"name": "find_product", "arguments": {"q": }\n</tool_call>',
    "<think>\nendless",
    "<think>\nhm\n</think>\n\nI am done.",
    "Done.<|im_start|>user",
    "",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_turn_is_the_same_turn_over_http_malformed_ones_too(text):
    server, thread, url = run_server(make_app(Recited([text]), "recited"))
    try:
        policy = EndpointPolicy(params(url))
        episode = Episode(Shelf(), Problem("t", "product", "a shoe", {}), None)
        request = Request("a", 0, episode.messages, TOOLS, Sampling())

        async def ask():
            try:
                return await policy.act_one(request)
            finally:
                await policy.aclose()

        assert asyncio.run(ask()).turn == parse_turn(text)
    finally:
        server.should_exit = True
        thread.join(10)


def test_whole_episodes_over_http_are_those_in_process(model_policy, served):
    def episodes():
        return [Episode(Shelf(), Problem(f"t{i}", "product", f"shoe {i}", {})) for i in range(4)]

    over_http, in_process = episodes(), episodes()
    sampling = Sampling(1.0, 1.0, 12, 9)
    play(EndpointPolicy(params(served)), over_http, sampling)
    play(model_policy, in_process, sampling)
    assert [(e.outcome, e.error, e.messages) for e in over_http] == [
        (e.outcome, e.error, e.messages) for e in in_process
    ]


def test_the_server_refuses_what_it_cannot_read(served):
    import httpx

    chat = f"{served}/chat/completions"
    assert httpx.post(chat, json={"messages": []}, trust_env=False).status_code == 422
    assert httpx.post(chat, json={"messages": [{"role": "root"}]}, trust_env=False).status_code == 422
    bad_call = {"role": "assistant", "tool_calls": [{"function": {"name": "a", "arguments": "{"}}]}
    assert httpx.post(chat, json={"messages": [bad_call]}, trust_env=False).status_code == 422
    assert httpx.post(chat, json={"messages": [{"role": "user"}], "stream": True}, trust_env=False).status_code == 422
    long = {"messages": [{"role": "user", "content": "x" * 9000}]}
    assert httpx.post(chat, json=long, trust_env=False).status_code == 400
    assert httpx.get(f"{served}/models", trust_env=False).json()["data"][0]["id"] == "tiny"


class Faulty(BaseHTTPRequestHandler):
    """Answers by script: (status, body, headers), or seconds to stay silent."""

    script: ClassVar[list] = []
    seen: ClassVar[list] = []

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.seen.append(self.headers.get("authorization"))
        step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(step, float):
            time.sleep(step)
            return
        status, body = step[:2]
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for key, value in (step[2] if len(step) > 2 else {}).items():
            self.send_header(key, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST

    def log_message(self, *_):
        pass


GOOD = {"choices": [{"message": {"content": "Done."}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3}}


def ask_faulty(script, **more):
    handler = type("Scripted", (Faulty,), {"script": list(script), "seen": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    policy = EndpointPolicy(params(f"http://127.0.0.1:{server.server_port}/v1", **more), "secret")
    messages = [{"role": "user", "content": "a shoe"}]

    async def ask():
        try:
            return await policy.act_one(Request("a", 0, messages, TOOLS, Sampling()))
        finally:
            await policy.aclose()

    try:
        return asyncio.run(ask()), handler.seen
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("script", "error", "tries"),
    [
        ([(500, "oops"), (502, ""), (200, GOOD)], None, 3),
        ([(429, "slow", {"retry-after": "0"}), (200, GOOD)], None, 2),
        ([(200, b"{half"), (200, {"choices": []}), (200, GOOD)], None, 3),
        ([(500, "oops")], "server_error", 3),
        ([(429, "slow")], "rate_limited", 3),
        ([(200, b"<html>")], "bad_response", 3),
        ([(200, {"choices": [{"message": "hi"}]})], "bad_response", 3),
        ([(200, [1])], "bad_response", 3),
        ([(400, {"error": "maximum context length is 4096"})], "context_limit", 1),
        ([(404, "no such model")], "bad_request", 1),
        ([(200, {"choices": [{"message": {"content": "I cannot"}, "finish_reason": "content_filter"}]})], "refusal", 1),
        ([(200, {"choices": [{"message": {"refusal": "No."}, "finish_reason": "stop"}]})], "refusal", 1),
        ([(200, {"choices": [{"message": {"content": "a b c"}, "finish_reason": "length"}]})], "truncated", 1),
    ],
)
def test_what_may_pass_is_tried_again_and_what_remains_has_a_name(script, error, tries):
    reply, seen = ask_faulty(script, attempts=3)
    assert (reply.turn.error and reply.turn.error.partition(":")[0]) == error
    assert len(seen) == tries
    assert set(seen) == {"Bearer secret"}


@pytest.mark.parametrize(
    ("given", "most"),
    [({}, 256), ({"max_tokens": 700}, 700), ({"max_completion_tokens": 700}, 700)],
)
def test_an_answer_may_be_as_long_as_either_name_of_the_limit_says(given, most):
    body = ChatRequest.model_validate({"messages": [{"role": "user", "content": "a shoe"}], **given})
    assert chat_request(body)[2].max_new_tokens == most


def test_a_silent_server_is_a_time_out():
    reply, _ = ask_faulty([0.6], attempts=1, timeout_seconds=0.2)
    assert reply.turn.error.startswith("timeout: http://127.0.0.1:")


def test_a_refused_request_says_what_the_server_said():
    reply, _ = ask_faulty([(400, {"error": "`temperature` and `top_p` cannot both be specified"})])
    assert reply.turn.error.endswith('status 400: {"error": "`temperature` and `top_p` cannot both be specified"}')


@pytest.mark.parametrize(("sampling", "sent"), [(Sampling(), None), (Sampling(0.9, 0.95), 0.95)])
def test_top_p_is_sent_only_where_it_takes_something_away(sampling, sent):
    request = Request("a", 0, [{"role": "user", "content": "a shoe"}], TOOLS, sampling)
    body = json.loads(request_payload(request, params("http://127.0.0.1/v1")))
    assert body["temperature"] == sampling.temperature
    assert body.get("top_p") == sent


def test_nobody_there_is_named_and_a_stage_does_not_begin():
    policy_params = params(f"http://127.0.0.1:{free_port()}/v1", attempts=2)
    policy = EndpointPolicy(policy_params)
    episode = Episode(Shelf(), Problem("t", "product", "a shoe", {}))
    play(policy, [episode], Sampling())
    assert episode.error.startswith("server_unreachable: http://127.0.0.1:")
    with pytest.raises(StageError, match="cannot be reached"):
        check_endpoint(policy_params, None)


def test_rollouts_need_a_server_that_has_the_parent(model_policy):
    server, thread, url = run_server(make_app(model_policy, "sft", weights="one"))
    try:
        check_served(EndpointParams(url=url, model="sft"), "one")
        with pytest.raises(StageError, match="'sft' has other weights than the stage's parent"):
            check_served(EndpointParams(url=url, model="sft"), "two")
        with pytest.raises(StageError, match=r"serves \['sft'\], expected 'kto'"):
            check_served(EndpointParams(url=url, model="kto"), "one")
    finally:
        server.should_exit = True
        thread.join()


def test_a_refused_key_stops_the_run():
    with pytest.raises(StageError, match="key was refused"):
        ask_faulty([(401, "no")])


def test_usage_that_makes_no_sense_counts_nothing():
    answer = {**GOOD, "usage": {"prompt_tokens": "many", "completion_tokens": -4}}
    reply, _ = ask_faulty([(200, answer)])
    assert (reply.prompt_tokens, reply.completion_tokens) == (0, 0)
