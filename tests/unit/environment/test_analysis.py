"""Index terms: possessive, lower case, stop words, Porter stems."""

import pytest

from tracemill.environment.analysis import STOP_WORDS, analyse


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Women's WOMEN’S women＇s", ["women", "women", "women"]),
        ("running runs ran", ["run", "run", "ran"]),
        ("The lamp and a chair", ["lamp", "chair"]),
        ("us as is", ["us"]),
        ("ponies relational conformabli", ["poni", "relat", "conform"]),
        ("İstanbul ΣΑΣ", ["istanbul", "σασ"]),
        ("possibly analogy", ["possibl", "analog"]),
        ("by buy", ["bui"]),
        ("\U0001d400s", ["\U0001d400"]),
    ],
)
def test_terms_are_those_of_lucenes_english_analyzer(text, terms):
    assert analyse(text) == terms


def test_there_are_33_stop_words():
    assert len(STOP_WORDS) == 33


def test_text_of_stop_words_has_no_terms():
    assert analyse("to be or not to be") == []
