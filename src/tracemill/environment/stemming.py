"""Porter's stemmer as Lucene runs it: the algorithm of 1980 with its author's later rules `bli` and `logi`.

Source: M. Porter, "An algorithm for suffix stripping", Program 14.3 (1980). NLTK's MARTIN_EXTENSIONS mode is the same
function and the oracle of the tests; it is not used here because importing it takes longer than opening an index.
"""

from __future__ import annotations

from collections.abc import Sequence

_VOWELS = frozenset("aeiou")
_Rules = Sequence[tuple[str, str]]

_STEP_2: _Rules = (
    *(("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble")),
    *(("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate")),
    *(("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al")),
    *(("iviti", "ive"), ("biliti", "ble"), ("logi", "log")),
)
_STEP_3: _Rules = (
    *(("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", "")),
)
_STEP_4 = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate"),
    *("iti", "ous", "ive", "ize"),
)


def stem(word: str) -> str:
    """Return the stem of a lower-case word; words of one or two characters are their own."""
    if len(word) <= 2:
        return word
    word = _step_1b(_step_1a(word))
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(_replaced(word, _STEP_2), _STEP_3)
    return _step_5(_step_4(word))


def _shape(text: str) -> str:
    """Return c for a consonant and v for a vowel, letter by letter; y is a vowel after a consonant."""
    shape: list[str] = []
    last = "v"
    for letter in text:
        last = "v" if letter in _VOWELS or (letter == "y" and shape and last == "c") else "c"
        shape.append(last)
    return "".join(shape)


def _measure(text: str) -> int:
    return _shape(text).count("vc")


def _ends_cvc(text: str) -> bool:
    return text[-1:] not in ("w", "x", "y") and _shape(text).endswith("cvc")


def _ends_double_consonant(text: str) -> bool:
    return len(text) >= 2 and text[-1] == text[-2] and _shape(text)[-1] == "c"


def _step_1a(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _step_1b(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    if word.endswith("ed"):
        rest = word[:-2]
    elif word.endswith("ing"):
        rest = word[:-3]
    else:
        return word
    if "v" not in _shape(rest):
        return word
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if _ends_double_consonant(rest):
        return rest if rest[-1] in "lsz" else rest[:-1]
    return rest + "e" if _measure(rest) == 1 and _ends_cvc(rest) else rest


def _replaced(word: str, rules: _Rules) -> str:
    """Apply the first rule whose suffix fits, if something of measure 1 or more is left before it."""
    for suffix, replacement in rules:
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            return rest + replacement if _measure(rest) > 0 else word
    return word


def _step_4(word: str) -> str:
    for suffix in _STEP_4:
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            if suffix == "ion" and rest[-1:] not in ("s", "t"):
                return word
            return rest if _measure(rest) > 1 else word
    return word


def _step_5(word: str) -> str:
    if word.endswith("e"):
        rest = word[:-1]
        measure = _measure(rest)
        if measure > 1 or (measure == 1 and not _ends_cvc(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
