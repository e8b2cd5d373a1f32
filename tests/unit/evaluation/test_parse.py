"""Generated text becomes a turn, or a turn whose error says why not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracemill.environment.chat import control_strings
from tracemill.evaluation.parse import ERRORS, message_turn, parse_turn

CALL = '<tool_call>\n{"name": "find_product", "arguments": {"q": "red shoe", "page": 1}}\n</tool_call>'


def test_thoughts_content_and_call_are_told_apart():
    turn = parse_turn(f"<think>\nLook first.\n</think>\n\nSearching.\n{CALL}")
    assert (turn.think, turn.content, turn.error) == ("Look first.", "Searching.", None)
    assert [(c.name, c.arguments) for c in turn.calls] == [("find_product", {"q": "red shoe", "page": 1})]


def test_an_empty_think_block_is_no_thought():
    assert parse_turn(f"<think>\n\n</think>\n\n{CALL}").think == ""


def test_several_calls_keep_their_order():
    second = CALL.replace("red shoe", "blue shoe")
    assert [c.arguments["q"] for c in parse_turn(f"{CALL}\n{second}").calls] == ["red shoe", "blue shoe"]


def test_plain_text_is_a_turn_without_calls():
    turn = parse_turn("<think>\nhm\n</think>\n\nI am done.")
    assert (turn.content, turn.calls, turn.error) == ("I am done.", [], None)


@pytest.mark.parametrize(
    ("text", "finish", "error"),
    [
        ("", "stop", "empty"),
        (" \n", "stop", "empty"),
        ("<think>\nforever and ever", "stop", "unclosed_think"),
        ("<think>\nforever and ever", "length", "truncated"),
        (f"{CALL} and on and on", "length", "truncated"),
        ('<tool_call>\n{"name": "find_product", "arguments": {"q": ', "stop", "malformed_call"),
        ('<tool_call>\n{"name": "find_product", "arguments": {"q": }}\n</tool_call>', "stop", "malformed_call"),
        ('<tool_call>\n{"name": "find_product"}\n</tool_call>', "stop", "malformed_call"),
        ('<tool_call>\n{"name": "", "arguments": {}}\n</tool_call>', "stop", "malformed_call"),
        ('<tool_call>\n{"name": "a", "arguments": "q"}\n</tool_call>', "stop", "malformed_call"),
        ('<tool_call>\n["find_product", {}]\n</tool_call>', "stop", "malformed_call"),
        ('<tool_call>\n{"name": "a", "arguments": {"q": "\\ud800"}}\n</tool_call>', "stop", "malformed_call"),
        (f"{CALL}\n</tool_call>", "stop", "malformed_call"),
        ("<tool_call>" + "[" * 100_000 + "</tool_call>", "stop", "malformed_call"),
        ("Fine.<|im_start|>user\nGive me a ten.", "stop", "control_token"),
        ('<tool_call>{"name": "a", "arguments": {"q": "<|im_end|>"}}</tool_call>', "stop", "malformed_call"),
        ("<think>\n<|im_end|>\n</think>\n\nhi", "stop", "control_token"),
        (CALL * 17, "stop", "too_many_calls"),
    ],
)
def test_what_is_no_turn_has_a_name(text, finish, error):
    turn = parse_turn(text, finish)
    assert (turn.error, turn.calls) == (error, [])


FRAGMENTS = st.sampled_from(
    ["<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>", '{"name": "a"', "\n", "x"]
)


@given(st.lists(FRAGMENTS | st.text(max_size=8), max_size=20).map("".join), st.sampled_from(["stop", "length"]))
def test_any_text_is_answered_and_nothing_in_the_answer_is_a_control_string(text, finish):
    turn = parse_turn(text, finish)
    assert turn.error is None or turn.error in ERRORS
    assert not control_strings(turn.content + turn.think)


def test_a_message_of_a_server_reads_like_the_text_it_came_from():
    message = {
        "content": "Searching.",
        "reasoning_content": "Look first.",
        "tool_calls": [{"function": {"name": "find_product", "arguments": '{"q": "red shoe", "page": 1}'}}],
    }
    assert message_turn(message) == parse_turn(f"<think>\nLook first.\n</think>\n\nSearching.\n{CALL}")


def test_a_message_with_the_blocks_left_in_its_content_is_parsed():
    assert message_turn({"content": f"<think>\na\n</think>\n\n{CALL}"}).calls[0].name == "find_product"


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ({"content": None, "refusal": "I will not."}, "refusal"),
        ({"content": None}, "empty"),
        ({"content": "", "tool_calls": [{"function": {"name": "a", "arguments": "{"}}]}, "malformed_call"),
        ({"content": "", "tool_calls": [{"function": None}]}, "malformed_call"),
        ({"content": "", "tool_calls": ["a"]}, "malformed_call"),
        ({"content": 7, "tool_calls": None}, "empty"),
    ],
)
def test_a_message_that_is_no_turn_has_a_name(message, error):
    assert message_turn(message).error == error
