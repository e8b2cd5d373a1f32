"""The lines of a snapshot with their place and what the scan saw, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from tracemill.errors import InputError
from tracemill.traces.jsontext import MAX_DEPTH
from tracemill.traces.scan import BLANK, Scanner
from tracemill.traces.streams import read_blocks

_BOM = b"\xef\xbb\xbf"


class Line(msgspec.Struct, frozen=True, gc=False):
    """One line that is not blank."""

    number: int
    """From 1."""
    byte: int
    """Offset in the decompressed file."""
    flags: int
    """What the scan saw."""
    block: bytes
    """Bytes of the file around the line."""
    begin: int
    end: int
    """Where the line stands in `block`, its line end left out."""
    text: bytes
    """In canonical spelling (see `scan`)."""
    ended: bool
    """Whether a line end followed; only the last line of a file can lack it."""

    @property
    def raw(self) -> bytes:
        """The line as found; cut out only for the few that are shown."""
        return self.block[self.begin : self.end].removesuffix(b"\r")


def read_lines(path: Path, max_inflation: float, max_line_bytes: int) -> Iterator[Line]:
    """Yield the lines of a file that hold more than blanks; InputError for a line over the limit and a damaged file."""
    scanner = Scanner(MAX_DEPTH)
    number, offset = 0, 0
    pieces: list[bytes] = []  # of a line whose end has not come yet; joined once, since a line may span many blocks
    held = 0
    for block in read_blocks(path, max_inflation):
        if number == 0 and offset == 0 and not pieces and block.startswith(_BOM):
            block, offset = block[3:], 3
        if pieces and b"\n" not in block:
            pieces.append(block)
            held += len(block)
            _check_length(path, number + 1, held, max_line_bytes)
            continue
        data = b"".join((*pieces, block))
        begin = 0
        while found := scanner.lines(data, begin):
            for end, text, flags in found:
                number += 1
                _check_length(path, number, end - begin, max_line_bytes)
                if not flags & BLANK:
                    yield Line(number, offset + begin, flags, data, begin, end, text, True)
                begin = end + 1
        held = len(data) - begin
        pieces = [data[begin:]] if held else []
        offset += begin
        _check_length(path, number + 1, held, max_line_bytes)
    if pieces:
        rest = b"".join(pieces)
        text, flags = scanner.text(rest)
        if not flags & BLANK:
            yield Line(number + 1, offset, flags, rest, 0, len(rest), text, False)


def _check_length(path: Path, number: int, found: int, limit: int) -> None:
    if found > limit:
        raise InputError(
            f"{path}:{number}: a line of more than {limit} bytes; raise traces.normalise.max_line_megabytes if it "
            "is genuine"
        )
