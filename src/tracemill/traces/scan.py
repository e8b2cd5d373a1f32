"""One pass over raw bytes that finds lines, brings them into one spelling, and flags what a JSON decoder lets
through.

The decoder skips the values that nobody asked for and hands results over as raw text, and in both it checks no
UTF-8, depth or number range. This scan walks each byte once, knows what is inside a string, and sets a flag for
each thing that has to be looked at; for a line that the decoder accepts the flags are exact, for any other they do
not matter.

On the way it writes the line in canonical spelling: no blanks between tokens, every character that JSON allows
unescaped as itself, the shortest escape for all others. Numbers and the order of keys stay as written. So raw
results are byte-equal whichever writer made them, and nobody has to decode them again. What is no JSON stays no
JSON: blanks that part two tokens stay, and so do escapes that are none.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from tracemill.compiled import compiled
from tracemill.traces.words import load_word, store_word, trailing_zeros

NON_ASCII: Final = 1
"""The line has bytes above 0x7F: its UTF-8 must be checked."""
NUL: Final = 2
r"""A string holds `\u0000`."""
NUMBER: Final = 4
"""An integer part of more than 18 digits, or an exponent of more than two: not every consumer keeps such a number."""
DEEP: Final = 8
"""Nested deeper than the limit."""
BLANK: Final = 16
"""Nothing but blanks."""


_PLAIN, _QUOTE, _BACKSLASH, _NEWLINE, _HIGH, _COMMA, _BLANK, _OPEN, _CLOSE = range(9)


def _byte_kinds() -> Any:
    """Kind of each byte; those from _COMMA on are plain inside a string."""
    kinds = np.zeros(256, np.uint8)
    for kind, members in {
        _QUOTE: b'"',
        _BACKSLASH: b"\\",
        _NEWLINE: b"\n",
        _HIGH: bytes(range(128, 256)),
        _COMMA: b",:",
        _BLANK: b" \t\r",
        _OPEN: b"[{",
        _CLOSE: b"]}",
    }.items():
        kinds[list(members)] = kind
    return kinds


def _hex_values() -> Any:
    values = np.full(256, 99, np.int32)
    for value, digits in enumerate(
        ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "aA", "bB", "cC", "dD", "eE", "fF"]
    ):
        values[[ord(digit) for digit in digits]] = value
    return values


def _short_escapes() -> Any:
    """Letter of the short escape of each character below U+0080 that has one, else 0."""
    letters = np.zeros(128, np.uint8)
    for code, letter in {8: "b", 9: "t", 10: "n", 12: "f", 13: "r", 34: '"', 92: "\\"}.items():
        letters[code] = ord(letter)
    return letters


_KINDS, _HEX, _SHORT = _byte_kinds(), _hex_values(), _short_escapes()
# Offsets are unsigned throughout: for signed ones the compiler keeps a test for negative indices in every access.
_U = np.uint64
_0, _1, _2, _3, _4, _6, _7, _8, _12 = _U(0), _U(1), _U(2), _U(3), _U(4), _U(6), _U(7), _U(8), _U(12)


@compiled
def _code_unit(buf: Any, position: Any) -> int:
    """Value of the four hex digits at `position`, negative where they are none."""
    if position + _4 > _U(buf.shape[0]):
        return -1
    unit = 0
    for offset in range(_4):
        digit = _HEX[buf[position + offset]]
        if digit > 15:
            return -1
        unit = unit * 16 + digit
    return unit


@compiled
def _put_character(code: int, out: Any, at: Any) -> Any:
    """Write one character in canonical spelling; return the place behind it."""
    if code < 128:
        if _SHORT[code]:
            out[at], out[at + _1] = 92, _SHORT[code]
            return at + _2
        out[at] = code
        return at + _1
    if code < 0x800:
        out[at], out[at + _1] = 0xC0 | code >> 6, 0x80 | code & 63
        return at + _2
    if code < 0x10000:
        out[at], out[at + _1], out[at + _2] = 0xE0 | code >> 12, 0x80 | code >> 6 & 63, 0x80 | code & 63
        return at + _3
    out[at], out[at + _1] = 0xF0 | code >> 18, 0x80 | code >> 12 & 63
    out[at + _2], out[at + _3] = 0x80 | code >> 6 & 63, 0x80 | code & 63
    return at + _4


@compiled
def _escape(buf: Any, position: Any, out: Any, at: Any) -> tuple[Any, Any]:
    """Bring the escape at `position` (its backslash) into canonical spelling; (bytes read, place behind the copy).

    What is no escape, half of a surrogate pair, and a control character without a short form stay as they are.
    """
    letter, size = buf[position + _1], _U(buf.shape[0])
    if letter == 117:
        code = _code_unit(buf, position + _2)
        if 0xD800 <= code < 0xDC00 and position + _7 < size and buf[position + _6] == 92 and buf[position + _7] == 117:
            low = _code_unit(buf, position + _8)
            if 0xDC00 <= low < 0xE000:
                return _12, _put_character(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00), out, at)
        if code >= 0 and not 0xD800 <= code < 0xE000 and (code >= 32 or _SHORT[code]):
            return _6, _put_character(code, out, at)
    elif letter == 47:
        out[at] = 47
        return _2, at + _1
    out[at], out[at + _1] = 92, letter
    return _2, at + _2


_ONES, _HIGHS = _U(0x0101010101010101), _U(0x8080808080808080)
_QUOTES, _BACKSLASHES, _NEWLINES = _U(0x2222222222222222), _U(0x5C5C5C5C5C5C5C5C), _U(0x0A0A0A0A0A0A0A0A)


@compiled
def _scan(buf: Any, begin: int, max_depth: int, out: Any, ends: Any, out_ends: Any, flags: Any) -> int:
    """Write end, canonical end and flags of each whole line of `buf[begin:]`; return their number.

    It is at most the number of places in `ends`. One function, since a call costs more than most tokens.
    """
    count, position, at, line, size = 0, _U(begin), _U(0), _U(0), _U(buf.shape[0])
    last_word = size - _8 if size > _8 else _U(0)
    flag, depth, digits, exponent, high = 0, 0, 0, 0, _U(0)
    text, space, open_token = False, False, False
    while position < size and count < ends.shape[0]:
        if text:
            while position < last_word:
                word = load_word(buf, position)
                store_word(out, at, word)
                quotes, backslashes, newlines = word ^ _QUOTES, word ^ _BACKSLASHES, word ^ _NEWLINES
                # the lowest marked byte is one of the three, for sure; those above it may not be
                marks = (quotes - _ONES) & ~quotes | (backslashes - _ONES) & ~backslashes
                marks = (marks | (newlines - _ONES) & ~newlines) & _HIGHS
                if marks == _0:
                    high |= word
                    position, at = position + _8, at + _8
                    continue
                found = trailing_zeros(marks) >> _3
                high |= word & ((_1 << (found << _3)) - _1)
                position, at = position + found, at + found
                break
            if high & _HIGHS:
                flag |= NON_ASCII
                high = _0
        byte = buf[position]
        kind = _KINDS[byte]
        if text:
            while kind == _PLAIN or kind >= _COMMA:
                out[at] = byte
                position, at = position + _1, at + _1
                if position == size:
                    return count
                byte = buf[position]
                kind = _KINDS[byte]
            if kind == _QUOTE:
                out[at] = byte
                position, at, text = position + _1, at + _1, False
                continue
            if kind == _BACKSLASH and position + _1 < size and buf[position + _1] != 10:
                letter = buf[position + _1]
                if letter == 117 or letter == 47:
                    if letter == 117 and _code_unit(buf, position + _2) == 0:
                        flag |= NUL
                    read, at = _escape(buf, position, out, at)
                    position += read
                else:
                    out[at], out[at + _1] = 92, letter
                    position, at = position + _2, at + _2
                continue
        elif kind >= _COMMA:
            if kind == _BLANK:
                space, position = open_token, position + _1
                digits = exponent = 0
                continue
            if kind == _OPEN:
                depth += 1
                if depth > max_depth:
                    flag |= DEEP
            elif kind == _CLOSE:
                depth -= 1
            out[at] = byte
            position, at, space, open_token = position + _1, at + _1, False, False
            digits = exponent = 0
            continue
        elif kind == _QUOTE:
            out[at] = byte
            position, at, text, space, open_token = position + _1, at + _1, True, False, False
            continue
        if kind == _NEWLINE:
            ends[count], out_ends[count], flags[count] = position, at, flag | (BLANK if at == line else 0)
            count, position, line = count + 1, position + _1, at
            flag, depth, digits, exponent = 0, 0, 0, 0
            text, space, open_token = False, False, False
            continue
        if kind == _HIGH:
            flag |= NON_ASCII
        elif not text:
            if space:
                out[at] = 32
                at += _1
                space = False
            open_token = True
            if 48 <= byte <= 57:
                digits += 1
                if digits > (2 if exponent else 18):
                    flag |= NUMBER
            elif byte == 46:
                digits = -(1 << 30)
            elif byte == 101 or byte == 69:
                digits, exponent = 0, 1
        out[at] = byte
        position, at = position + _1, at + _1
    return count


class Found(NamedTuple):
    """A line with its end: offset behind it, the text in canonical spelling, and its flags."""

    end: int
    text: bytes
    flags: int


class Scanner:
    """Finds lines; holds the arrays between calls."""

    def __init__(self, max_depth: int, lines: int = 4096) -> None:
        self._max_depth = max_depth
        self._out = np.empty(1 << 12, np.uint8)
        self._ends, self._out_ends = np.empty(lines, np.int64), np.empty(lines, np.int64)
        self._flags = np.empty(lines, np.uint8)

    def lines(self, data: bytes, begin: int = 0) -> list[Found]:
        """The lines of `data` from `begin` on that have a line end, at most as many as the scanner has room for."""
        if len(self._out) < len(data):
            self._out = np.empty(len(data), np.uint8)
        count = _scan(
            np.frombuffer(data, np.uint8), begin, self._max_depth, self._out, self._ends, self._out_ends, self._flags
        )
        found, start = [], 0
        ends, out_ends, flags = (a[:count].tolist() for a in (self._ends, self._out_ends, self._flags))
        for end, out_end, flag in zip(ends, out_ends, flags, strict=True):
            found.append(Found(end, self._out[start:out_end].tobytes(), flag))
            start = out_end
        return found

    def text(self, raw: bytes) -> tuple[bytes, int]:
        """Canonical spelling and flags of one JSON text, which may span lines."""
        (found,) = self.lines((raw.replace(b"\n", b" ") if b"\n" in raw else raw) + b"\n")
        return found.text, found.flags
