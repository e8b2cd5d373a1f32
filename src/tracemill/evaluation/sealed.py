"""The pool that nobody touches, and the book of who opened it.

Each opening is a line of `data/ledger/openings.jsonl`, which is committed: date, commit, checkpoint, its digest, and
the reason. The line is written before the first episode is played, so an opening that fails is an opening too.
"""

from __future__ import annotations

import datetime
import os
import subprocess
from pathlib import Path

import msgspec

from tracemill.errors import InputError

OPENINGS = Path("data/ledger/openings.jsonl")


class Opening(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the book."""

    date: str
    """UTC, to the second."""
    commit: str
    dirty: bool
    """Whether tracked files differed from the commit."""
    checkpoint: str
    checkpoint_digest: str | None
    problems: int
    reason: str


def read_openings(path: Path = OPENINGS) -> list[Opening]:
    """Return all openings so far, oldest first; InputError names file and line of what is none."""
    if not path.exists():
        return []
    found = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            found.append(msgspec.json.decode(line, type=Opening))
        except msgspec.DecodeError as error:
            raise InputError(f"{path}:{number}: no opening ({error}); restore the line from git") from error
    return found


def append_opening(opening: Opening, path: Path = OPENINGS) -> int:
    """Add a line to the book, on the disk when this returns; return how many openings there are now.

    Raises InputError for a reason without text.
    """
    if not opening.reason.strip():
        raise InputError("--reason is empty; say why the sealed problems are opened, it is committed with the result")
    before = read_openings(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as book:
        book.write(msgspec.json.encode(opening) + b"\n")
        book.flush()
        os.fsync(book.fileno())
    return len(before) + 1


def now() -> str:
    """This moment in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def commit_of(folder: Path) -> tuple[str, bool]:
    """Return the commit checked out in `folder` and whether tracked files differ; InputError outside of git."""
    try:
        head = _git(folder, "rev-parse", "HEAD").strip()
        return head, bool(_git(folder, "status", "--porcelain", "--untracked-files=no").strip())
    except (OSError, subprocess.CalledProcessError) as error:
        raise InputError(f"{folder}: no commit to name ({error}); open sealed problems inside a git clone") from error


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout
