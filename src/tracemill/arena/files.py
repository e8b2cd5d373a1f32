"""What the writers of catalogue, problems and snapshots share: an existing source, ids that occur once, zstd lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tracemill.errors import InputError

BUILT_IN = "arena"
LEVEL = 6


def existing(path: str, section: str) -> Path:
    """The path of a source file; InputError, naming the section of params.yaml, when there is no such file."""
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file; set {section} in params.yaml to a file, or to `{BUILT_IN}`")
    return Path(path)


def refuse_repeats(values: Iterable[str], path: str, field: str) -> None:
    """Raise InputError for the first value that occurs more than once."""
    counts = Counter(values)
    repeated = [value for value, count in counts.items() if count > 1]
    if repeated:
        raise InputError(f"{path}: {field} {repeated[0]!r} occurs {counts[repeated[0]]} times, expected once")


def write_zstd_lines(lines: Iterable[bytes], out: Path) -> None:
    """Write lines, each with its line end, as one zstd frame; the bytes depend on the lines alone."""
    import zstandard

    with out.open("wb") as file, zstandard.ZstdCompressor(level=LEVEL).stream_writer(file) as stream:
        for line in lines:
            stream.write(line + b"\n")
