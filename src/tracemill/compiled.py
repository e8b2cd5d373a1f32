"""Compiled loops, cached where numba finds a folder to write: beside the module, or the user's cache where the package
is read-only. Without either they are compiled anew in each process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def compiled(function: Callable[..., Any]) -> Any:
    """Return the function compiled for this machine; numba is imported here."""
    import numba

    try:
        return numba.njit(function, cache=True, nogil=True)
    except RuntimeError:  # there is no folder to cache in
        return numba.njit(function, nogil=True)
