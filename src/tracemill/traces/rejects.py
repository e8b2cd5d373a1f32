"""Why a line of a snapshot does not become a trajectory.

A reject is no error of the build: the line is put aside with its place, a reason from the closed list below and
the first bytes of what was found, and it is counted. Reasons that say that the file itself is damaged (`BROKEN`)
also count towards the share above which a whole snapshot is refused.
"""

from __future__ import annotations

from typing import Final

import msgspec

RAW_LIMIT: Final = 4096
"""Bytes of a rejected line that are kept."""
DETAIL_LIMIT: Final = 500

BAD_UTF8: Final = "bad_utf8"
BAD_JSON: Final = "bad_json"
NUMBER: Final = "number_outside_json"
TOO_DEEP: Final = "too_deep"
NUL: Final = "nul_character"
SURROGATE: Final = "lone_surrogate"
BAD_SHAPE: Final = "bad_shape"
ARGUMENTS: Final = "arguments_unparsable"
LOSSY: Final = "lossy_reasoning"
NOT_TEXT: Final = "not_text"
EMPTY: Final = "empty"
NO_QUERY: Final = "no_query"
COPIED: Final = "copied_context"
FOREIGN_TURN: Final = "foreign_turn"
UNKNOWN_STATUS: Final = "unknown_status"
FAILED: Final = "status_failed"
TIMED_OUT: Final = "status_timed_out"

REASONS: Final = (
    BAD_UTF8,
    BAD_JSON,
    NUMBER,
    TOO_DEEP,
    NUL,
    SURROGATE,
    BAD_SHAPE,
    ARGUMENTS,
    LOSSY,
    NOT_TEXT,
    EMPTY,
    NO_QUERY,
    COPIED,
    FOREIGN_TURN,
    UNKNOWN_STATUS,
    FAILED,
    TIMED_OUT,
)
"""Every reason that `normalise` gives."""
BROKEN: Final = frozenset({BAD_UTF8, BAD_JSON, NUMBER, TOO_DEEP, NUL, SURROGATE, BAD_SHAPE})
"""Reasons that speak of a damaged file rather than of an episode that is of no use."""


class Rejected(Exception):
    """Raised inside a reader: this line is no trajectory, for `reason` (one of REASONS); `detail` says what was
    found.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail[:DETAIL_LIMIT]


class Reject(msgspec.Struct, frozen=True):
    """One row of rejects.parquet."""

    line: int
    """Line in the decompressed file, from 1."""
    byte: int
    """Offset of the line's first byte in the decompressed file."""
    reason: str
    detail: str
    raw: bytes
    """The line as found, cut at RAW_LIMIT bytes."""
