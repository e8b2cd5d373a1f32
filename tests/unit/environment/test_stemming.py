"""Porter stems, against NLTK's implementation as the oracle."""

import gzip
import json
import re
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracemill.environment import stemming
from tracemill.environment.stemming import stem

GOLDEN = Path(__file__).resolve().parents[2] / "data" / "search_golden" / "docs.jsonl.gz"
SUFFIXES = sorted(
    {suffix for suffix, _ in (*stemming._STEP_2, *stemming._STEP_3)}
    | set(stemming._STEP_4)
    | {
        "s",
        "ss",
        "sses",
        "ies",
        "eed",
        "ed",
        "ing",
        "y",
        "e",
        "l",
        "ll",
        "ate",
        "ble",
        "ize",
        "at",
        "bl",
        "iz",
        "tt",
        "zz",
    }
)


@pytest.fixture(scope="module")
def oracle():
    from nltk.stem.porter import PorterStemmer

    reference = PorterStemmer(mode=PorterStemmer.MARTIN_EXTENSIONS)
    return lambda word: reference.stem(word, to_lowercase=False)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("feed", "feed"),
        ("agreed", "agre"),
        ("hopping", "hop"),
        ("filing", "file"),
        ("happy", "happi"),
        ("relational", "relat"),
        ("adoption", "adopt"),
        ("controlling", "control"),
        ("us", "us"),
        ("", ""),
    ],
)
def test_the_papers_examples(word, expected):
    assert stem(word) == expected


def test_every_pair_of_suffixes_on_stems_of_each_measure(oracle):
    for base, first, second in product(
        ("", "b", "a", "by", "tr", "ab", "tray", "hop", "abab", "yy"), SUFFIXES, SUFFIXES
    ):
        word = base + first + second
        assert stem(word) == oracle(word), word


def test_the_words_of_the_golden_documents(oracle):
    with gzip.open(GOLDEN, "rt", encoding="utf-8") as lines:
        words = {word for line in lines for word in re.findall("[a-z]+", json.loads(line)["contents"].lower())}
    assert len(words) > 900
    assert [word for word in sorted(words) if stem(word) != oracle(word)] == []


@given(st.text(alphabet="abeilostyngdzé'.0", max_size=12), st.sampled_from(SUFFIXES))
def test_any_text_with_any_suffix(oracle, text, suffix):
    assert stem(text + suffix) == oracle(text + suffix)
