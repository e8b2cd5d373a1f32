"""Kernel locks: one build, one writer of a stage. The kernel frees them when their holder dies, however it dies."""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tracemill.errors import BusyError

LOCKS = Path(".tracemill/locks")
BUILD = LOCKS / "build"
POLL = 0.05


def stage_lock(address: str) -> Path:
    """Lock file of a stage."""
    return LOCKS / f"stage-{address.replace('/', '.').replace(':', '.')}"


def acquire(path: Path, what: str, patience: float) -> int:
    """Take the lock and return its file descriptor; BusyError names the holder once `patience` seconds are over."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() < deadline:
                time.sleep(POLL)
                continue
            holder = os.pread(descriptor, 4096, 0).decode("utf-8", "replace").strip() or "another process"
            os.close(descriptor)
            raise BusyError(f"{what} is held by {holder}; wait for it or end it, then repeat the command") from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} ({_command()})".encode(), 0)
        return descriptor


def release(descriptor: int) -> None:
    """Give the lock back before the process ends."""
    os.close(descriptor)


@contextmanager
def held(path: Path, what: str, patience: float) -> Iterator[int]:
    """Hold the lock for the length of a `with` block."""
    descriptor = acquire(path, what, patience)
    try:
        yield descriptor
    finally:
        release(descriptor)


def _command() -> str:
    try:
        words = Path("/proc/self/cmdline").read_text(encoding="utf-8").rstrip("\0").split("\0")
    except OSError:
        return "unknown command"
    return json.dumps(" ".join(Path(words[0]).name if not number else word for number, word in enumerate(words))[:120])
