"""From text to index terms, as Lucene's EnglishAnalyzer does: words, possessive, lower case, stop words, Porter stems.

Source: Lucene 9 (StandardTokenizer, EnglishPossessiveFilter, LowerCaseFilter, StopFilter, PorterStemFilter).
Lower case is Java's: character by character, so that a final sigma and a dotted capital I stay one character each.
"""

from __future__ import annotations

import functools

from tracemill.environment.stemming import stem
from tracemill.environment.word_break import split_words

STOP_WORDS = frozenset(
    (
        *("a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not"),
        *("of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was"),
        *("will", "with"),
    )
)
"""Lucene's 33 English stop words."""

_APOSTROPHES = "'\u2019\uff07"
_CACHED_TOKENS = 1 << 20


def analyse(text: str) -> list[str]:
    """Return the index terms of a text, in order, repetitions kept."""
    return [term for token in split_words(text) if (term := term_of(token)) is not None]


@functools.lru_cache(maxsize=_CACHED_TOKENS)
def term_of(token: str) -> str | None:
    """Return the index term of one token, None for a stop word."""
    if len(token) >= 2 and token[-1] in "sS" and token[-2] in _APOSTROPHES:
        token = token[:-2]
    word = token.lower() if token.isascii() else "".join(map(_lower, token))
    if word in STOP_WORDS:
        return None
    return _stem(word)


def _lower(character: str) -> str:
    return "i" if character == "\u0130" else character.lower()


def _stem(word: str) -> str:
    """Porter's stem; characters beyond the basic plane count as two letters, as they do in Java."""
    if word.isascii() or max(word) <= "\uffff":
        return stem(word)
    units = word.encode("utf-16-be", "surrogatepass")
    pairs = "".join(chr(int.from_bytes(units[at : at + 2], "big")) for at in range(0, len(units), 2))
    return stem(pairs).encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")
