"""Child processes that never outlive the one who answers for them."""

import ctypes
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh"})
PR_SET_CHILD_SUBREAPER = 36
GRACE = 5.0


def adopt_orphans() -> None:
    """Become the parent of orphaned descendants: `accelerate launch` gives its workers sessions of their own."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def masters() -> list[int]:
    """The processes to end with: the parent and, where that is a shell, the one that started the shell (DVC)."""
    found: list[int] = []
    for process in psutil.Process().parents():
        found.append(process.pid)
        if process.name() not in SHELLS:
            break
    return [pid for pid in found if pid > 1]


def when_gone(pids: Iterable[int], action: Callable[[], None]) -> None:
    """Call `action` in a thread of its own as soon as one of the processes is gone."""
    watched = []
    for pid in pids:
        try:
            watched.append(os.pidfd_open(pid))
        except ProcessLookupError:
            action()
            return

    def watch() -> None:
        poll = select.poll()
        for descriptor in watched:
            poll.register(descriptor, select.POLLIN)
        poll.poll()
        action()

    if watched:
        threading.Thread(target=watch, daemon=True).start()


def end_descendants(grace: float = GRACE) -> None:
    """End all processes below this one: a request first, then without asking; returns when none is left."""
    deadline = time.monotonic() + grace
    asked: set[int] = set()
    while running := [one for one in psutil.Process().children(recursive=True) if one.status() != psutil.STATUS_ZOMBIE]:
        late = time.monotonic() > deadline
        for process in running:
            if late or process.pid not in asked:
                _signal(process, signal.SIGKILL if late else signal.SIGTERM)
                asked.add(process.pid)
        _reap()
        time.sleep(0.05)
    _reap()


def _signal(process: psutil.Process, number: int) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def remove_tree(path: Path) -> None:
    """Remove a file, a link or a folder, if it is there."""
    import shutil

    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
