from hypothesis import given
from hypothesis import strategies as st

from tracemill.environment.control_tokens import has_control, neutralise, neutralise_value

QWEN3 = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|object_ref_start|>",
    "<|object_ref_end|>",
    "<|box_start|>",
    "<|box_end|>",
    "<|quad_start|>",
    "<|quad_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<tool_call>",
    "</tool_call>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
]
pieces = st.lists(st.sampled_from([*QWEN3, "<", "<|", "|>", "/", "th", "ink>", " ", "a", "é", "\ud800"]), max_size=8)


def test_every_control_string_of_qwen3_is_broken_and_can_still_be_read():
    for token in QWEN3:
        assert neutralise(f"a{token}b") == f"a< {token[1:]}b"


def test_other_text_is_left_alone():
    for text in ["", "a < b", "<b>bold</b>", "x<y|z", "<thinking>", "3 <| 4".replace("<|", "< |"), "ｆｕｌｌ"]:
        assert neutralise(text) == text


def test_lone_surrogates_become_the_replacement_character():
    assert neutralise("a\ud800b") == "a\ufffdb"


@given(pieces)
def test_nothing_can_be_recombined(parts):
    done = neutralise("".join(parts))
    assert not any(token in done for token in QWEN3)
    assert not has_control(done)
    assert neutralise(done) == done


@given(pieces)
def test_only_blanks_are_inserted(parts):
    text = "".join(part for part in parts if part != "\ud800")
    assert neutralise(text).replace("< ", "<") == text.replace("< ", "<")


def test_values_are_cleaned_at_every_level_and_keys_too():
    given_value = {"<think>": [{"a": "</think>"}, 1, None], "b": "<|im_end|>"}
    assert neutralise_value(given_value) == {"< think>": [{"a": "< /think>"}, 1, None], "b": "< |im_end|>"}


def test_nesting_without_end_costs_nothing():
    value = "<think>"
    for _ in range(5000):
        value = [value]
    cleaned = neutralise_value(value)
    depth = 0
    while cleaned is not None:
        cleaned, depth = cleaned[0], depth + 1
    assert depth == 64
