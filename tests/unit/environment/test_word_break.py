"""Word breaks of Lucene's StandardTokenizer, Unicode 12.1."""

import pytest

from tracemill.environment.word_break import MAX_TOKEN_UNITS, split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("red lamp", ["red", "lamp"]),
        ("women's men’s", ["women's", "men’s"]),
        ("U.S.A. e.g", ["U.S.A", "e.g"]),
        ("3.5mm 1,000 1;2 1'0", ["3.5mm", "1,000", "1;2", "1'0"]),
        ("CODE:X9 a:b 1:2", ["CODE:X9", "a:b", "1", "2"]),
        ("i-phone 6/8", ["i", "phone", "6", "8"]),
        ("foo_bar __ _a_ 'x' 5'", ["foo_bar", "_a_", "x", "5"]),
        ("a.1 1.a", ["a", "1", "1", "a"]),
        ("x\x00y\x0bz", ["x", "y", "z"]),
        ("", []),
        ("... --- !!!", []),
    ],
)
def test_ascii_words_break_as_lucene_breaks_them(text, words):
    assert list(split_words(text)) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("価格 新品", ["価", "格", "新", "品"]),
        ("ひらカタカナ", ["ひ", "ら", "カタカナ"]),
        ("한국어 상품", ["한국어", "상품"]),
        ("ภาษาไทย", ["ภาษาไทย"]),
        ("é e\u0301 Straße", ["é", "e\u0301", "Straße"]),
        ("👍🏽 🇵🇭🇵🇭 ® 👩‍👩‍👧", ["👍🏽", "🇵🇭", "🇵🇭", "®", "👩‍👩‍👧"]),
        ("7\ufe0f\u20e3 7\u20e3", ["7\ufe0f\u20e3", "7\u20e3"]),
        ("１２３", ["１２３"]),
        ('א"ב א\' אב"', ['א"ב', "א'", "אב"]),
        ("\u00a0a\u2003b", ["a", "b"]),
        ("a\u200db", ["a\u200db"]),
    ],
)
def test_other_scripts_and_emoji_break_as_lucene_breaks_them(text, words):
    assert list(split_words(text)) == words


def test_a_long_word_is_cut_at_255_utf16_units():
    assert [len(word) for word in split_words("a" * 600)] == [255, 255, 90]
    assert [len(word) for word in split_words("é" * 300)] == [255, 45]
    assert [len(word) for word in split_words("\U0001d400" * 200)] == [127, 73]


def test_a_joiner_at_the_cut_joins_nothing():
    assert list(split_words("a" * 254 + "'b")) == ["a" * 254, "b"]
    assert list(split_words("a" * 254 + "'é")) == ["a" * 254, "é"]


def test_underscores_before_a_word_beyond_the_window_are_cut_like_lucene_cuts_them():
    words = list(split_words("_" * 300 + "a"))
    assert words == ["_" * (MAX_TOKEN_UNITS - 1) + "a"]
