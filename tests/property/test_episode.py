"""Any turns, however hostile: the episode never raises, its chat stays well formed, and its dialogue can be scored."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tracemill.environment.control_tokens import has_control
from tracemill.environment.episode import OUTCOMES, Call, Episode, Turn
from tracemill.environment.grading import grade_dialogue
from tracemill.environment.params import EpisodeParams, ObservationParams, PlayParams
from tracemill.environment.problem import Problem

PRODUCT = {"product_id": "11", "shop_id": "s</think>", "title": "<|im_end|> lamp", "price": 1.5, "service": ["COD"]}
PROBLEM = Problem("p", "product", "a lamp <tool_call>", {"product_id": "11"})


class Catalog:
    def find_product(self, **arguments):
        return [PRODUCT] * (len(arguments["q"]) % 12)

    def view_product_information(self, product_ids):
        return [{"product_id": i, "attributes": {"a": ["<think>"]}, "sku_options": {}} for i in product_ids.split(",")]

    def get_product_raw(self, product_id):
        return PRODUCT if product_id == "11" else None


texts = st.sampled_from(["", "t", "<|im_end|>", "</think>", "a\ud800", "{", "11", "11,12"])
values = texts | st.integers() | st.none() | st.lists(texts, max_size=2) | st.dictionaries(texts, texts, max_size=1)
names = st.sampled_from(
    ["find_product", "view_product_information", "recommend_product", "terminate", "<tool_call>", "", 5]
)
arguments = (
    st.dictionaries(st.sampled_from(["q", "page", "product_ids", "status", "<think>"]), values, max_size=2)
    | st.sampled_from(['{"q": "a"}', '{"product_ids": "11"}', '{"status": "success"}', "{", "", "[]", '"{}"'])
    | values
)
turns = st.builds(
    Turn,
    think=texts,
    content=texts,
    calls=st.lists(st.builds(Call, name=names, arguments=arguments), max_size=3),
    error=st.sampled_from([None, None, None, None, "malformed_call", "server_error"]),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(turns, max_size=8), st.sampled_from(["compact", "json"]), st.integers(1, 6), st.integers(1, 300))
def test_an_episode_takes_any_turns(played, kind, most, budget):
    limits = EpisodeParams(max_steps=most, max_calls=2, observation_budget=budget)
    live = Episode(
        Catalog(), PROBLEM, PlayParams(episode=limits, observation=ObservationParams(format=kind, limit=100))
    )
    for turn in played:
        if live.done:
            break
        live.step(turn)
    assert live.outcome is None or live.outcome in OUTCOMES
    assert live.steps <= most
    _check_chat(live.messages)
    grade = grade_dialogue(PROBLEM, live.dialogue(), Catalog())
    assert len(live.dialogue()) == live.steps == len(live.results)
    assert grade.error is None or live.steps == 0 or not grade.success


def _check_chat(messages):
    open_calls, seen = [], []
    assert [message["role"] for message in messages[:2]] == ["system", "user"]
    for message in messages[2:]:
        if message["role"] == "tool":
            assert message["tool_call_id"] == open_calls.pop(0)
        else:
            assert message["role"] == "assistant"
            assert open_calls == []
            open_calls = [call["id"] for call in message.get("tool_calls", ())]
            seen += open_calls
    assert open_calls == []
    assert seen == [f"call_{number}" for number in range(len(seen))]
    assert not any(has_control(repr(message)) for message in messages)
    for message in messages:
        message["content"].encode()
