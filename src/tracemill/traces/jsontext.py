"""Arguments in one form, and results as canonical text whichever way a source wrote them."""

from __future__ import annotations

from typing import Any

import msgspec

from tracemill.environment.control_tokens import neutralise, neutralise_value
from tracemill.traces.rejects import ARGUMENTS, BAD_SHAPE, NUL, NUMBER, TOO_DEEP, Rejected
from tracemill.traces.scan import DEEP, Scanner
from tracemill.traces.scan import NUL as NUL_FLAG
from tracemill.traces.scan import NUMBER as NUMBER_FLAG

MAX_DEPTH = 48
"""Deepest nesting of a line, and of JSON inside its strings. Real envelopes reach about 12."""
MAX_LAYERS = 3
"""How often arguments may be encoded as text inside text."""

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


def safe_text(text: str) -> str:
    """The text with control strings broken; one that came out of a JSON decoder can hold nothing else to break."""
    return neutralise(text) if "<" in text else text


def text_result(text: str) -> bytes:
    """Canonical text of a result that came as a string: JSON text stands for its value, all else for the string
    itself.
    """
    if text.lstrip()[:1] in _STARTS:
        raw, flags = _scanner.text(text.encode())
        try:
            _decode(raw)
        except (msgspec.DecodeError, RecursionError):
            pass
        else:
            check_flags(flags)
            return raw
    if "\0" in text:
        raise Rejected(NUL, "a result holds the character U+0000")
    return _encode(text)


_STARTS = frozenset('[{"-0123456789tfn')


def parse_arguments(arguments: Any, optional: bool) -> tuple[dict[str, Any], bytes]:
    """Arguments of a call as one object, whichever way they were written; control strings in them broken.

    They come as an object, as JSON text, or as JSON text of JSON text. Nothing (null, empty text) stands for no
    arguments where the tool asks for none (`optional`). Returned with their JSON text, keys in order: equal arguments
    have equal text. Rejected otherwise.
    """
    for _ in range(MAX_LAYERS):
        if not isinstance(arguments, str) or not arguments.strip():
            break
        raw, flags = _scanner.text(arguments.encode())
        try:
            arguments = _decode(raw)
        except (msgspec.DecodeError, RecursionError) as error:
            raise Rejected(ARGUMENTS, f"arguments are no JSON: {error}") from error
        check_flags(flags)
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        if optional:
            return {}, b"{}"
        raise Rejected(BAD_SHAPE, "no arguments, and the tool asks for some")
    if not isinstance(arguments, dict):
        raise Rejected(ARGUMENTS, f"arguments are {type(arguments).__name__}, expected an object")
    ordered = _encode(arguments, order="sorted")
    if b"<" not in ordered:
        return arguments, ordered
    safe: dict[str, Any] = neutralise_value(arguments)
    if len(safe) != len(arguments):
        raise Rejected(ARGUMENTS, "two argument names differ in a control string only")
    return safe, _encode(safe, order="sorted")
