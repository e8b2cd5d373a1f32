"""Files of an index folder: arrays and text tables that are mapped into memory when the index is opened, not read.

A text table is two files, all texts end to end and where each begins. Nothing in these files depends on time or
place.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt

from tracemill.errors import InputError

FORMAT = "tracemill-index-2"
META = "index.json"
LEVEL = 5
DICTIONARY_BYTES = 64 << 10
FEWEST_SAMPLES = 500


def save_array(folder: Path, name: str, array: npt.NDArray[Any]) -> None:
    """Write one array to `<name>.npy`."""
    np.save(folder / f"{name}.npy", array, allow_pickle=False)


def open_array(folder: Path, name: str) -> npt.NDArray[Any]:
    """Return an array mapped read-only; raises InputError when the file is missing or damaged."""
    path = folder / f"{name}.npy"
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: no part of an index ({error}); build it again with `make` or `tracemill`") from error
    return np.asarray(array)


class TextTable:
    """Byte texts by position; sorted tables are searched by bisection."""

    def __init__(self, folder: Path, name: str) -> None:
        starts, texts = open_array(folder, f"{name}_starts"), open_array(folder, f"{name}_bytes")
        if starts.dtype != np.int64 or texts.dtype != np.uint8 or len(starts) == 0 or starts[-1] != len(texts):
            raise InputError(f"{folder}: {name} does not fit its offsets; build the index again")
        # Views are several times faster than arrays where one element or one text is taken at a time.
        self._starts: memoryview[int] = memoryview(cast(Any, starts))
        self._bytes: memoryview[int] = memoryview(cast(Any, texts))

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, position: int) -> bytes:
        return bytes(self._bytes[self._starts[position] : self._starts[position + 1]])

    def position(self, text: bytes) -> int | None:
        """Return where a text stands in a sorted table, None where it is not there."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self[middle] < text:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self) and self[low] == text else None


def save_texts(folder: Path, name: str, texts: Iterable[bytes]) -> None:
    """Write texts in the order given, one at a time, as a table that `TextTable` opens."""
    starts = array("q", [0])
    with (folder / f"{name}_bytes.npy").open("wb") as out:
        _write_header(out, 0)
        for text in texts:
            starts.append(starts[-1] + out.write(text))
        out.seek(0)
        _write_header(out, starts[-1])
    save_array(folder, f"{name}_starts", np.array(starts, dtype=np.int64))


def _write_header(out: IO[bytes], length: int) -> None:
    """Write the header of a byte array; numpy leaves room in it for any length, so that it can be written again."""
    np.lib.format.write_array_header_1_0(out, {"descr": "|u1", "fortran_order": False, "shape": (length,)})


def train_dictionary(samples: Sequence[bytes]) -> bytes:
    """Return a compression dictionary for short texts like these, empty where there are too few to learn from."""
    import zstandard

    if len(samples) < FEWEST_SAMPLES:
        return b""
    try:
        return bytes(zstandard.train_dictionary(DICTIONARY_BYTES, list(samples)).as_bytes())
    except zstandard.ZstdError:  # samples too short or too alike
        return b""


def compressor(dictionary: bytes) -> Callable[[bytes], bytes]:
    """Return the function that compresses one text with this dictionary."""
    import zstandard

    learned = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
    return zstandard.ZstdCompressor(level=LEVEL, dict_data=learned, write_dict_id=False).compress


def decompressor(dictionary: bytes) -> Callable[[bytes], bytes]:
    """Return the inverse of `compressor`; one thread may use it at a time."""
    import zstandard

    learned = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
    return zstandard.ZstdDecompressor(dict_data=learned).decompress


def read_meta(folder: Path) -> dict[str, Any]:
    """Return the description of the index in a folder; raises InputError when there is none or of another format."""
    try:
        meta = json.loads((folder / META).read_text(encoding="ascii"))
    except (OSError, ValueError) as error:
        raise InputError(f"{folder}: no search index ({error}); build one with rule index_catalog") from error
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise InputError(f"{folder / META}: not an index of format {FORMAT}; build it again")
    return meta
