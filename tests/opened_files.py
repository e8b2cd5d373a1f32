"""Which of some files were opened, told by the kernel (inotify): whoever opens them, and whatever for."""

import ctypes
import os
import struct
from collections.abc import Iterable
from pathlib import Path

_OPEN, _NONBLOCK = 0x20, 0o4000
_EVENT = struct.Struct("iIII")
_libc = ctypes.CDLL(None, use_errno=True)


class OpenedFiles:
    """Watches files from its creation on; use it as a context manager."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._queue = _libc.inotify_init1(_NONBLOCK)
        self._paths: dict[int, Path] = {}
        for path in paths:
            watch = _libc.inotify_add_watch(self._queue, os.fsencode(path), _OPEN)
            if watch < 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(path))
            self._paths[watch] = path

    def take(self) -> set[Path]:
        """The files that were opened since the last call."""
        found = set()
        while True:
            try:
                data = os.read(self._queue, 1 << 16)
            except BlockingIOError:
                return found
            while data:
                watch, _, _, length = _EVENT.unpack_from(data)
                found.add(self._paths[watch])
                data = data[_EVENT.size + length :]

    def __enter__(self) -> "OpenedFiles":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._queue)
