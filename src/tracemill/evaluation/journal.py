"""Finished episodes, written down as they end: a run that was killed goes on where it stopped.

One JSON line an episode, flushed to the disk before it counts. A last line that was cut by a kill is dropped when the
journal is opened. The journal lives in a stage's work folder, whose name holds the stage's identity: nothing in it can
answer for another checkpoint or other settings.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tracemill.errors import StageError
from tracemill.evaluation.records import EpisodeRecord


class Journal:
    """Records by key, on disk and in memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: dict[str, EpisodeRecord] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = self._read() if path.exists() else 0
        self._file = path.open("ab")
        self._file.truncate(whole)

    def _read(self) -> int:
        """Load whole lines; return the length of what they take."""
        end = 0
        data = self.path.read_bytes()
        for number, line in enumerate(data.splitlines(keepends=True), 1):
            if not line.endswith(b"\n"):
                break
            try:
                record = msgspec.json.decode(line, type=EpisodeRecord)
            except msgspec.DecodeError as error:
                raise StageError(
                    f"{self.path}:{number}: no episode record ({error}); delete the file to play all again"
                ) from error
            self.records[record.key] = record
            end += len(line)
        return end

    def add(self, records: Iterable[EpisodeRecord]) -> None:
        """Write records down; they count once this returns."""
        batch = list(records)
        self._file.write(b"".join(msgspec.json.encode(record) + b"\n" for record in batch))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.records.update((record.key, record) for record in batch)

    def close(self) -> None:
        """Close the file; the records stay."""
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
