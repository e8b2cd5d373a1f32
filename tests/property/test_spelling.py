"""Canonical spelling: one text for every way in which a JSON value can be written, and no other value."""

import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tracemill.traces.scan import BLANK, DEEP, NON_ASCII, NUL, NUMBER, Scanner

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**17), 10**17)
    | st.floats(-1e90, 1e90).filter(lambda one: not 0 < abs(one) < 1e-90)
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('"\\/\x00\x01\n\t\x7fé₱😀 '), max_size=12)
Scanner(1, lines=1).text(b"{}")  # compile before the first example is timed
VALUES = st.recursive(
    SCALARS | TEXT, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=20
)


@given(VALUES)
def test_every_spelling_of_a_value_becomes_one_text_of_that_value(value):
    spellings = [
        json.dumps(value, ensure_ascii=ascii_only, indent=indent, separators=separators).encode()
        for ascii_only in (True, False)
        for indent in (None, 2)
        for separators in (None, (",", ":"))
    ]
    texts = {Scanner(64, lines=1).text(spelling)[0] for spelling in spellings}
    (text,) = texts
    assert json.dumps(json.loads(text)) == json.dumps(value)
    assert Scanner(64, lines=1).text(text)[0] == text


@given(st.lists(VALUES, max_size=6), st.integers(0, 3))
def test_lines_are_found_with_their_ends(values, blanks):
    lines = [json.dumps(value).encode() for value in values] + [b" " * blanks]
    data = b"".join(line + b"\n" for line in lines)
    found = Scanner(64).lines(data)
    assert [one.text for one in found] == [Scanner(64, lines=1).text(line)[0] for line in lines]
    assert [data[: one.end].count(b"\n") for one in found] == list(range(len(lines)))
    assert found[-1].flags == BLANK


@given(
    st.lists(
        st.sampled_from(["abcdefgh", "a", "é", "😀", '"', "\\", "/", "\n", "\t", "!#[]", "\x0b"]), max_size=40
    ).map("".join)
)
def test_long_strings_are_spelled_alike_wherever_their_special_characters_stand(value):
    spellings = [json.dumps(value, ensure_ascii=ascii_only).encode() for ascii_only in (True, False)]
    data = b"".join(b"[" + spelling + b',"rest of the line"]\n' for spelling in spellings)
    one, two = Scanner(9).lines(data)
    assert one.text == two.text
    assert json.loads(one.text) == [value, "rest of the line"]
    assert (bool(one.flags & NON_ASCII), bool(two.flags & NON_ASCII)) == (False, not value.isascii())


@given(st.binary(max_size=40))
def test_what_is_no_json_stays_no_json(raw):
    raw = raw.replace(b"\n", b" ")
    text, _ = Scanner(64, lines=1).text(raw)
    assert outcome(text) == outcome(raw)


JSON_BYTES = st.lists(st.sampled_from([bytes([b]) for b in b'[]{}:,"\\ 1-.eut0']), max_size=14).map(b"".join)


@given(JSON_BYTES)
def test_almost_json_stays_almost_json(raw):
    text, _ = Scanner(64, lines=1).text(raw)
    assert outcome(text) == outcome(raw)


def outcome(raw: bytes):
    try:
        return repr(msgspec.json.decode(raw))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return "no JSON"


@given(VALUES)
def test_flags_say_what_the_value_holds(value):
    text = json.dumps(value, ensure_ascii=False)
    _, flags = Scanner(3, lines=1).text(text.encode())
    assert bool(flags & NON_ASCII) == (not text.isascii())
    assert bool(flags & NUL) == holds(value, lambda one: isinstance(one, str) and "\0" in one)
    assert bool(flags & DEEP) == (depth(value) > 3)
    assert not flags & NUMBER


def holds(value, test):
    if isinstance(value, dict):
        return any(holds(key, test) or holds(inner, test) for key, inner in value.items())
    if isinstance(value, list):
        return any(holds(inner, test) for inner in value)
    return test(value)


def depth(value):
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


@given(st.integers(10**18, 10**40), st.sampled_from(["{}", "-{}", "[{}]", '{{"a": {}}}', "{}.5", "1e{}"]))
def test_numbers_that_readers_disagree_on_are_flagged(number, frame):
    assert Scanner(9, lines=1).text(frame.format(number).encode())[1] & NUMBER


@given(st.integers(-(10**18) + 1, 10**18 - 1), st.text("0123456789", min_size=1, max_size=30), st.integers(0, 99))
def test_other_numbers_are_not(number, fraction, exponent):
    for text in (f"{number}", f"{number}.{fraction}", f"{number}.{fraction}e-{exponent}", f'"{10**30}"'):
        assert not Scanner(9, lines=1).text(text.encode())[1] & NUMBER
