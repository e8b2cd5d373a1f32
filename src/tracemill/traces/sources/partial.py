"""A download that survives an interruption: bytes so far, and which version of the remote file they belong to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import BinaryIO

from tracemill.errors import InputError


class Interrupted(Exception):
    """An attempt ended early in a way that another attempt may mend; the text says how."""


class Partial:
    """The file `partial` in a folder of resumable work, with its version beside it."""

    def __init__(self, folder: Path, origin: str, limit: int, name: str) -> None:
        """`origin` tells sources apart, `name` is what messages may show of it; `limit` in bytes."""
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "partial"
        self._note = folder / "partial.json"
        self._origin = origin
        self._limit = limit
        self._name = name

    @property
    def written(self) -> int:
        """Bytes there so far."""
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def version(self) -> str | None:
        """Version of the remote file that the bytes belong to; None where it is unknown or another source's."""
        try:
            note = json.loads(self._note.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        found = note.get("version") if isinstance(note, dict) and note.get("origin") == self._origin else None
        return found if isinstance(found, str) else None

    def restart(self, version: str | None) -> None:
        """Drop what is there and note the version of what comes now."""
        self.path.unlink(missing_ok=True)
        self._note.write_text(json.dumps({"origin": self._origin, "version": version}), encoding="utf-8")

    def open(self) -> BinaryIO:
        """The file, to append to."""
        return self.path.open("ab")

    def check(self, total: int) -> None:
        """Raise InputError when a file of `total` bytes is more than is allowed."""
        if total > self._limit:
            raise InputError(
                f"{self._name}: more than {self._limit / 1e9:g} GB; raise traces.fetch.max_gigabytes if that is right"
            )
