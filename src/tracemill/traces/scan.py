"""One pass over raw bytes that finds lines and everything hostile that a JSON decoder would let through.

The decoder skips the values that nobody asked for and hands results over as raw text, and in both it checks no
UTF-8, depth or number range. This scan walks each byte once, knows what is inside a string, and sets one flag for
each thing that has to be looked at. For a line that the decoder accepts the flags are exact; for any other line
they do not matter.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import njit

NON_ASCII: Final = 1
"""The line has bytes above 0x7F: its UTF-8 must be checked."""
NUL: Final = 2
r"""A string holds `\u0000`."""
NUMBER: Final = 4
"""An integer part of more than 18 digits, or an exponent of more than two: not every consumer keeps such a number."""
DEEP: Final = 8
"""Nested deeper than the limit."""
ODD_NUMBER: Final = 16
"""A number in a spelling that re-encoding would change (exponent, trailing zero, more than 15 digits, minus zero)."""
BLANK: Final = 32
"""Nothing but blanks."""

MAX_DIGITS: Final = 18
MAX_EXPONENT_DIGITS: Final = 2

_QUOTE, _BACKSLASH, _NEWLINE, _DOT, _MINUS = 34, 92, 10, 46, 45
_OPEN_LIST, _CLOSE_LIST, _OPEN_OBJECT, _CLOSE_OBJECT = 91, 93, 123, 125


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _scan(buf: Any, begin: int, max_depth: int, ends: Any, flags: Any) -> int:
    """Write end and flags of each whole line of `buf[begin:]`; return their number (at most len(ends))."""
    count, position, size = 0, begin, buf.shape[0]
    flag, depth, digits, fraction, exponent = 0, 0, 0, 0, 0
    last, minus, blank, high = 0, False, True, 0
    while position < size and count < ends.shape[0]:
        byte = buf[position]
        high |= byte
        if byte == 34:
            blank = False
            digits = fraction = exponent = 0
            # inside a string: nothing matters but its end, escapes and the line's end
            position += 1
            while position < size:
                byte = buf[position]
                if byte == 34 or byte == 10:
                    break
                if byte == 92:
                    position += 1
                    if position >= size or buf[position] == 10:
                        break
                    if (
                        buf[position] == 117
                        and position + 4 < size
                        and buf[position + 1] == 48
                        and buf[position + 2] == 48
                        and buf[position + 3] == 48
                        and buf[position + 4] == 48
                    ):
                        flag |= 2
                    high |= buf[position]
                else:
                    high |= byte
                position += 1
            if position < size and buf[position] == 34:
                position += 1
            continue
        if byte == 10:
            if high & 128:
                flag |= 1
            if blank:
                flag |= 32
            ends[count] = position
            flags[count] = flag
            count += 1
            flag, depth, digits, fraction, exponent = 0, 0, 0, 0, 0
            last, minus, blank, high = 0, False, True, 0
            position += 1
            continue
        if 48 <= byte <= 57:
            blank = False
            if exponent:
                exponent += 1
                if exponent > 3:
                    flag |= 4
            else:
                digits += 1
                if fraction:
                    fraction += 1
                elif digits > 18:
                    flag |= 4
                if digits > 15:
                    flag |= 16
            last = byte
        elif byte == 46 and digits:
            fraction = 1
        elif (byte == 101 or byte == 69) and digits and not exponent:
            exponent = 1
            flag |= 16
        elif byte == 43 or byte == 45:
            blank = False
            minus = exponent == 0
        elif byte == 32 or byte == 13 or byte == 9 or byte == 44 or byte == 58:
            if byte == 44 or byte == 58:
                blank = False
            if (fraction > 2 and last == 48) or (minus and digits == 1 and last == 48):
                flag |= 16
            digits = fraction = exponent = 0
            minus = False
        else:
            blank = False
            if (fraction > 2 and last == 48) or (minus and digits == 1 and last == 48):
                flag |= 16
            digits = fraction = exponent = 0
            minus = False
            if byte == 91 or byte == 123:
                depth += 1
                if depth > max_depth:
                    flag |= 8
            elif byte == 93 or byte == 125:
                depth -= 1
        position += 1
    return count


class Scanner:
    """Finds lines and their flags; holds the arrays between calls."""

    def __init__(self, max_depth: int, lines: int = 4096) -> None:
        self._max_depth = max_depth
        self._ends = np.empty(lines, np.int64)
        self._flags = np.empty(lines, np.uint8)

    def lines(self, data: bytes | bytearray, begin: int = 0) -> list[tuple[int, int]]:
        """(end, flags) of the lines of `data` from `begin` on that have a line end, at most as many as the arrays
        hold.
        """
        count = _scan(np.frombuffer(data, np.uint8), begin, self._max_depth, self._ends, self._flags)
        return list(zip(self._ends[:count].tolist(), self._flags[:count].tolist(), strict=True))

    def flags(self, text: bytes) -> int:
        """Flags of one JSON text, line breaks between its tokens included."""
        found = self.lines(text.replace(b"\n", b" ") + b"\n")
        return found[0][1] if found else 0
