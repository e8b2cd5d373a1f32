import pytest

from tracemill.environment.chat import CONTROL_TOKENS, encode_chat, render_chat, shipped_template
from tracemill.environment.prompt import SHORT
from tracemill.environment.tools import TOOLS
from tracemill.training.texts import added_tokens, tokenizer_texts
from tracemill.training.tokenizer import train_tokenizer

pytestmark = pytest.mark.torch


def test_the_tokenizer_is_the_same_whenever_it_is_trained(products, tokenizer):
    again = train_tokenizer(tokenizer_texts(products, 0), added_tokens(), 900)
    assert again.backend_tokenizer.to_str() == tokenizer.backend_tokenizer.to_str()


def test_digits_come_in_pairs_from_the_left(tokenizer):
    assert tokenizer.tokenize("12345") == ["12", "34", "5"]


@pytest.mark.parametrize("text", ["naïve café 名前 🙂", "\u0000\u00a0\t", "1250.50 | a\n\nb", "<|im_end|> <think>"])
def test_any_text_survives_the_round_trip(tokenizer, text):
    import unicodedata

    assert tokenizer.decode(tokenizer(text)["input_ids"]) == unicodedata.normalize("NFC", text)


def test_every_control_string_is_one_token(tokenizer):
    for token in CONTROL_TOKENS:
        assert tokenizer(token)["input_ids"] == [tokenizer.convert_tokens_to_ids(token)]


def test_boilerplate_shrinks_an_empty_chat_to_a_few_tokens(tokenizer):
    messages = [{"role": "system", "content": SHORT}, {"role": "user", "content": "a mug"}]
    assert len(render_chat(tokenizer, messages, TOOLS, True)) > 1000
    assert len(encode_chat(tokenizer, messages, TOOLS, True)) < 25


def test_the_shipped_template_is_the_stock_one_byte_for_byte(tokenizer):
    assert tokenizer.chat_template == shipped_template("qwen3")
