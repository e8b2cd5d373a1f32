"""From a request in someone's words to the set of its content tokens.

Two requests are compared by these sets alone, so everything that a rephrasing changes without changing what is wanted
goes: Unicode forms and invisible characters, case, the voucher's terms, currency, list markers and punctuation,
number forms, a few phrases of the domain, word order, repetition, stop words and the plural s.
"""

from __future__ import annotations

import re
import unicodedata

from tracemill.leakage.vocabulary import LOOKALIKES, PHRASES, STOP_WORDS, SYNONYMS, UNITS, VOUCHER_CUES, VOUCHER_WORDS

NORMALISER_VERSION = 3
"""Part of the split's version: raised whenever a rule here or a word in the vocabulary changes a token set."""

_QUOTES = str.maketrans(
    dict.fromkeys("`´‘’‚‛ʼ′＇", "'")
    | dict.fromkeys("“”„‟″«»", '"')
    | dict.fromkeys("‐‑‒–—―−﹣－", "-")
    | {"⁄": "/", "∕": "/", "٫": ".", "٬": ","}
)
_MARKS = re.compile(r"[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
_UNSEEN = re.compile(
    # Unicode's default ignorable code points that are letters or marks; those of category Cf are told by it
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")
_INCH = re.compile(r"(?<=\d)\s*(?:''|\")")
_THOUSANDS = re.compile(r"(?<![\d.,])(\d{1,3}(?:,\d{3})+)(?!\d|,\d)")
_BARE_FRACTION = re.compile(r"(?<![\w.])\.(?=\d)")
_SPACED_THOUSANDS = re.compile(r"(?<=\d)[\u00a0\u202f\u2009](?=\d{3}(?!\d))")
_CURRENCY = re.compile(r"(?<!\w)(?:php|₱|\$|rs\.?)\s?(?=\d)")
_PESO = re.compile(
    r"\b(above|over|under|below|between|and|to|than|from|exceeds?|least|most|only|is|costs?)( |-)p(?=\d)"
)
_BY = re.compile(r"(?<=\d)([a-z]{0,2})\s?[x×*]\s?(?=\d)")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]{2,}")
_ENDED = re.compile(r"(?<=[.!?;])\s+|[\n\r\u2028\u2029]+")
_LIST_MARKER = re.compile(
    # (1) and (a) anywhere; 1. 1) a) - * where an item may begin
    r"(?:(?<=\s)|^)\(\s*(?:\d{1,2}|[a-h]|i{1,3}|iv|vi?)\s*\)"
    r"|(?:^|(?<=[\n:;,.?!]))[^\S\n]*(?:(?:\d{1,2}|[a-h])[.)]|#\d{1,2}:?|[-*•·])(?=\s)",
    re.MULTILINE,
)
_ANGLE = re.compile(r"</?\w[^<>]{0,40}>")
_TOKENS = re.compile(r"\d+(?:[./]\d+)*[^\W\d_]+(?:\d\w*)?|\d+(?:[./]\d+)*|[^\W_]+")
_UNIT = re.compile(
    r"(?<![\w.])((?:\d+(?:\.\d+)?)(?:/\d+)?)[\s-]*(" + "|".join(sorted(UNITS, key=lambda u: (-len(u), u))) + r")(?!\w)"
)
_PHRASES = tuple((re.compile(rf"(?<!\w){pattern}(?!\w)"), word, texts) for pattern, word, texts in PHRASES)
_HYPHEN = re.compile(r"(?<=\w)-(?=[^\W\d])")
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"\d+\.\d+|\d+")


def clean(text: str) -> str:
    """Return `text` in one Unicode form: NFKC, casefolded, no invisible characters, plain quotes and dashes, Latin
    letters for those of other scripts that look like them, European digits, single spaces.

    Line ends stay, since they end sentences.
    """
    if text.isascii():
        text = text.lower().translate(_QUOTES)
    else:
        text = _UNSEEN.sub("", _SPACED_THOUSANDS.sub("", text))
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
        text = _MARKS.sub("", unicodedata.normalize("NFD", text.translate(_QUOTES)))
        text = "".join(_visible(c) for c in unicodedata.normalize("NFC", text).translate(LOOKALIKES))
    text = _CONTROL.sub(" ", text)
    return re.sub(r"[^\S\n]+", " ", text).strip()


def _visible(character: str) -> str:
    """Drop format characters (zero width, soft hyphen, direction marks); unassigned and private ones become a space,
    digits of any script European ones."""
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if category == "Cf":
        return ""
    return " " if category in ("Cs", "Co", "Cn") else character


def content_tokens(query: str) -> tuple[str, ...]:
    """Return the sorted distinct content tokens of a request; empty when nothing but stop words is in it.

    A request whose every sentence could be a voucher's terms keeps them all: it must not be worn down to nothing.
    """
    text = _unify(clean(query))
    goods = [sentence for sentence in _ENDED.split(text) if not is_voucher_sentence(sentence)]
    return _tokens(goods) or _tokens([text])


def is_voucher_sentence(sentence: str) -> bool:
    """Whether a cleaned sentence is nothing but numbers, stop words and voucher vocabulary, and does speak of money
    terms."""
    words = _TOKENS.findall(_APOSTROPHE.sub("", sentence))
    if not any(word in VOUCHER_CUES for word in words):
        return False
    return all(word in VOUCHER_WORDS or word in STOP_WORDS or word[0].isdigit() or word[0] == "." for word in words)


def differ_only_in_numbers(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    """Whether two different token sets become equal once every token with a digit is set aside (`under 10`, `under
    100`)."""

    def words(tokens: tuple[str, ...]) -> list[str]:
        return [token for token in tokens if not any(c.isdigit() for c in token)]

    return left != right and words(left) == words(right)


def _unify(text: str) -> str:
    """Return cleaned text with its numbers in one form and the domain's phrases by one word each."""
    text = _LIST_MARKER.sub("\n", text)
    text = _ANGLE.sub(" ", text)
    text = _unify_numbers(text) if _DIGIT.search(text) else _APOSTROPHE.sub("", text)
    if not text.isascii():
        text = _UNSPACED.sub(lambda m: " ".join(m.group()[i : i + 2] for i in range(len(m.group()) - 1)), text)
    if "-" in text:
        text = _HYPHEN.sub(" ", text)
    for pattern, word, texts in _PHRASES:
        if any(needed in text for needed in texts):
            text = pattern.sub(word, text)
    return text


def _unify_numbers(text: str) -> str:
    if "," in text:
        text = _THOUSANDS.sub(lambda m: m.group().replace(",", ""), text)
    if "." in text:
        text = _BARE_FRACTION.sub("0.", text)
    text = _NUMBER.sub(lambda m: _plain(m.group()), _INCH.sub(" inch ", text))
    text = _PESO.sub(r"\1\2", _CURRENCY.sub("", _APOSTROPHE.sub("", text)))
    return _BY.sub(r"\1 ", _UNIT.sub(lambda m: f"{m.group(1)}{UNITS[m.group(2)]}", text))


def _plain(number: str) -> str:
    """`425.00` and `425`, `007` and `7` are one number."""
    whole, _, fraction = number.partition(".")
    fraction = fraction.rstrip("0")
    whole = whole.lstrip("0") or "0"
    return f"{whole}.{fraction}" if fraction else whole


def _tokens(sentences: list[str]) -> tuple[str, ...]:
    canonical = (_canonical(token) for sentence in sentences for token in _TOKENS.findall(sentence))
    return tuple(sorted({token for token in canonical if token and token not in STOP_WORDS}))


def _canonical(token: str) -> str:
    """Return a token by its synonym and without a plural s (`glasses` to `glass`, `batteries` to `battery`, not
    `glass` to `glas`)."""
    if token in SYNONYMS or token in STOP_WORDS or any(c.isdigit() for c in token):
        return SYNONYMS.get(token, token)
    if len(token) > 4 and token.endswith(("ies", "ie")):
        token = token[: -3 if token.endswith("s") else -2] + "y"
    elif len(token) > 4 and token.endswith(("ches", "shes", "xes", "sses", "zes")):
        token = token[:-2]
    elif len(token) > 3 and token.endswith("s") and not token.endswith(("ss", "us", "is")):
        token = token[:-1]
    return SYNONYMS.get(token, token)
