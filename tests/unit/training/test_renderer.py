import pytest

from tracemill.environment.params import PlayParams
from tracemill.training.renderer import RowDefect, assistant_message, split_reasoning, training_messages


@pytest.mark.parametrize(
    ("reasoning", "content", "expected"),
    [
        ("plan", "answer", ("plan", "answer")),
        (None, "<think>plan</think>answer", ("plan", "answer")),
        (None, "plan</think>answer", ("plan", "answer")),
        (None, "<think>\nplan\n</think>\n\nanswer", ("plan", "answer")),
        (None, "answer", ("", "answer")),
        (None, "", ("", "")),
    ],
)
def test_one_reasoning_block_at_the_start_is_split_off(reasoning, content, expected):
    assert split_reasoning(reasoning, content) == expected


@pytest.mark.parametrize(
    ("reasoning", "content"),
    [
        (None, "<think>A</think> keep-me <think>B</think> end"),
        (None, "keep <think>A</think> end"),
        ("plan", "<think>A</think>"),
        ("a <think> b", "end"),
        (None, "<think>never closed"),
    ],
)
def test_text_that_the_template_would_lose_is_rejected_as_lossy(reasoning, content):
    with pytest.raises(RowDefect) as caught:
        split_reasoning(reasoning, content)
    assert caught.value.reason == "lossy_render"


@pytest.mark.parametrize("token", ["<|im_end|>", "<tool_call>", "<|endoftext|>"])
def test_a_control_token_in_the_assistants_own_text_keeps_the_row_out(token):
    with pytest.raises(RowDefect) as caught:
        assistant_message({"role": "assistant", "content": f"look {token}"})
    assert caught.value.reason == "control_token"


def test_system_prompt_and_observations_are_the_environments_own():
    call = {"id": "c", "type": "function", "function": {"name": "find_product", "arguments": '{"q": "mug"}'}}
    product = '[{"product_id": "123456", "title": "red mug", "price": 120.0, "service": ["COD"], "shop_id": "99"}]'
    messages = [
        {"role": "system", "content": "The source's own prompt."},
        {"role": "user", "content": "I need a mug."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": product},
        {"role": "assistant", "content": "Done.", "reasoning_content": "It fits."},
        {"role": "user", "content": "Thanks"},
    ]
    shown = training_messages(messages, PlayParams())
    assert shown[0]["content"] == "You are a shopping assistant. Search, check, recommend once, then terminate."
    assert shown[2]["tool_calls"][0]["function"] == {"name": "find_product", "arguments": {"q": "mug"}}
    assert shown[3] == {"role": "tool", "content": "123456 | red mug | 120 | COD | 99"}
    assert shown[-1]["role"] == "assistant"


def test_a_tool_message_that_answers_no_call_keeps_the_row_out():
    with pytest.raises(RowDefect) as caught:
        training_messages([{"role": "tool", "tool_call_id": "x", "content": "[]"}], PlayParams())
    assert caught.value.reason == "unpaired_result"
