"""JSON text of values whose type varies: arguments in one form, results as canonical text.

Canonical text is compact, keeps the order of keys, and writes every character that JSON allows unescaped as itself;
equal values of different writers come out byte-equal. Text without a backslash and without an oddly spelled number is
already canonical but for its blanks, which is the fast path.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tracemill.environment.control_tokens import neutralise, neutralise_value
from tracemill.traces.rejects import ARGUMENTS, BAD_SHAPE, NUL, NUMBER, TOO_DEEP, Rejected
from tracemill.traces.scan import DEEP, ODD_NUMBER, Scanner
from tracemill.traces.scan import NUL as NUL_FLAG
from tracemill.traces.scan import NUMBER as NUMBER_FLAG

MAX_DEPTH = 48
"""Deepest nesting of a line, and of JSON inside its strings. Real envelopes reach about 12."""
MAX_LAYERS = 3
"""How often arguments may be encoded as text inside text."""

_format = msgspec.json.format
_decode = msgspec.json.decode
_encode = msgspec.json.encode
_scanner = Scanner(MAX_DEPTH, lines=1)


def check_flags(flags: int) -> None:
    """Raise Rejected for what a scan found that no value may hold."""
    if flags & DEEP:
        raise Rejected(TOO_DEEP, f"nested deeper than {MAX_DEPTH} levels")
    if flags & NUMBER_FLAG:
        raise Rejected(
            NUMBER, "an integer of more than 18 digits, or an exponent of more than 2: readers disagree on it"
        )
    if flags & NUL_FLAG:
        raise Rejected(NUL, "a string holds the character U+0000")


def canonical_text(raw: bytes, odd: bool) -> str:
    """Canonical text of one JSON value, control strings broken; `odd` says whether the scan saw an oddly spelled
    number.
    """
    if odd or b"\\" in raw:
        raw = _encode(_decode(raw))
    elif b" " in raw or b"\n" in raw or b"\t" in raw or b"\r" in raw:
        raw = _format(raw, indent=-1)
    return neutralise(raw.decode())


def text_result(text: str) -> str:
    """Canonical text of a result that came as a string: JSON text stands for its value, all else for the string
    itself.
    """
    raw = text.strip().encode()
    flags = _scanner.flags(raw)
    if raw[:1] in _STARTS:
        try:
            _decode(raw)
        except (msgspec.DecodeError, RecursionError):
            pass
        else:
            check_flags(flags)
            return canonical_text(raw, bool(flags & ODD_NUMBER))
    if "\0" in text:
        raise Rejected(NUL, "a result holds the character U+0000")
    return neutralise(_encode(text).decode())


_STARTS = frozenset(bytes([byte]) for byte in b'[{"-0123456789tfn')


def parse_arguments(arguments: Any, optional: bool, where: str) -> dict[str, Any]:
    """Arguments of a call as one object, whichever way they were written; control strings in them broken.

    They come as an object, as JSON text, or as JSON text of JSON text. Nothing (null, empty text) stands for no
    arguments where the tool asks for none (`optional`). Rejected with `where` (step and call) otherwise.
    """
    for _ in range(MAX_LAYERS):
        if not isinstance(arguments, str) or not arguments.strip():
            break
        raw = arguments.encode()
        try:
            arguments = _decode(raw)
        except (msgspec.DecodeError, RecursionError) as error:
            raise Rejected(ARGUMENTS, f"{where}: arguments are no JSON: {error}") from error
        check_flags(_scanner.flags(raw))
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        if optional:
            return {}
        raise Rejected(BAD_SHAPE, f"{where}: no arguments, and the tool asks for some")
    if not isinstance(arguments, dict):
        raise Rejected(ARGUMENTS, f"{where}: arguments are {type(arguments).__name__}, expected an object")
    if any(type(value) is not int and _may_hold_control(value) for value in arguments.values()) or _keys(arguments):
        safe: dict[str, Any] = neutralise_value(arguments)
        if len(safe) != len(arguments):
            raise Rejected(ARGUMENTS, f"{where}: two argument names differ in a control string only")
        return safe
    return arguments


def _may_hold_control(value: Any) -> bool:
    return "<" in value if isinstance(value, str) else isinstance(value, (dict, list))


def _keys(arguments: dict[str, Any]) -> bool:
    return any("<" in key for key in arguments)


def sorted_keys(arguments: dict[str, Any]) -> dict[str, Any]:
    """The same arguments with keys in order at every level; the same object where they already are."""
    keys = list(arguments)
    if keys == sorted(keys) and not any(isinstance(value, (dict, list)) for value in arguments.values()):
        return arguments
    ordered: dict[str, Any] = _decode(_encode(arguments, order="sorted"))
    return ordered
