"""Which reader a line needs, told from what stands in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from tracemill.traces.draft import Draft
from tracemill.traces.readers import atif, dialogue, envelope, rows
from tracemill.traces.rejects import BAD_SHAPE, Rejected

Reader = Callable[[bytes], Draft]


class _Marks(msgspec.Struct):
    """Keys by which objects are told apart; values are not looked at."""

    schema_version: Raw | UnsetType = UNSET
    atif_json: Raw | UnsetType = UNSET
    messages: Raw | UnsetType = UNSET
    dialogue: Raw | UnsetType = UNSET
    status: Raw | UnsetType = UNSET


_marks = msgspec.json.Decoder(_Marks)
RIVALS: dict[str, tuple[bytes, ...]] = {
    "dialogue": (),
    "atif": (),
    "atif_json": (b'"schema_version"',),
    "rows": (b'"schema_version"', b'"atif_json"'),
    "envelope": (b'"schema_version"', b'"atif_json"', b'"messages"'),
}
"""For each format the keys by which an object that its reader takes would be of another one."""


def reader_of(line: bytes) -> tuple[str, Reader]:
    """Name and function of the reader for one JSON text; Rejected when it is none of the four formats.

    Raises msgspec.DecodeError when the text is no JSON.
    """
    first = line.lstrip()[:1]
    if first == b"[":
        return "dialogue", dialogue.read
    if first != b"{":
        value: Any = msgspec.json.decode(line)
        raise Rejected(BAD_SHAPE, f"{type(value).__name__}, expected an object or a list of steps")
    marks = _marks.decode(line)
    if marks.schema_version is not UNSET:
        return "atif", atif.read
    if marks.atif_json is not UNSET:
        return "atif_json", atif.read_column
    if marks.messages is not UNSET:
        return "rows", rows.read
    if marks.dialogue is not UNSET or marks.status is not UNSET:
        return "envelope", envelope.read
    raise Rejected(BAD_SHAPE, "an object of none of the known formats (no dialogue, messages or ATIF steps)")
