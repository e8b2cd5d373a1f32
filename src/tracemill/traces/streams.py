"""Raw snapshots as a stream of bytes in bounded memory: plain, gzip of several members, zstd of several frames.

A decoder that stops early gives a partial corpus without a word, so the ends are checked here: every frame must
be whole, and nothing may follow the last one. What a small file can inflate to is bounded, in one step and over
all.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tracemill.errors import InputError

BLOCK = 1 << 20
_PART = 1 << 18
_STEP = 1 << 11
"""Compressed bytes given to the zstd decoder at once: they can inflate to 64 MB at the very worst."""
_FREE = 1 << 24
"""Decompressed bytes that are not yet measured against the ratio."""
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_FOREIGN = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"PK\x03\x04": "zip", b"\x04\x22\x4d\x18": "lz4"}
_WIDE = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff", b"{\0", b"\0{", b"[\0", b"\0[")
"""How UTF-16 and UTF-32 texts begin: with a byte order mark, or with a bracket between zero bytes."""
_REMEDY = "fetch the file again, or repair it and give the new file another snapshot name"


def read_blocks(path: Path, max_inflation: float) -> Iterator[bytes]:
    """Yield the decompressed bytes of a snapshot in blocks.

    Raises InputError, naming the file and the byte in it, for a cut frame, bytes behind the last frame, damaged
    data, an inflation of more than `max_inflation`, or a compression that is none of gzip and zstd.
    """
    with path.open("rb") as source:
        head = source.read(8)
        source.seek(0)
        for magic, name in _FOREIGN.items():
            if head.startswith(magic):
                raise InputError(
                    f"{path}: a {name} file, expected JSON lines, plain or as gzip or zstd; unpack it first"
                )
        if head.startswith(_WIDE):
            raise InputError(f"{path}: text in UTF-16 or UTF-32, expected UTF-8; convert it first (iconv -t UTF-8)")
        if head.startswith(_GZIP):
            yield from _bounded(path, source, _read_gzip(path, source), max_inflation)
        elif _starts_frame(head):
            yield from _bounded(path, source, _read_zstd(path, source), max_inflation)
        else:
            while block := source.read(BLOCK):
                yield block


def _starts_frame(head: bytes) -> bool:
    skippable = head[1:4] == b"\x2a\x4d\x18" and len(head) >= 4 and head[0] & 0xF0 == 0x50
    return head.startswith(_ZSTD) or skippable


def _bounded(path: Path, source: BinaryIO, blocks: Iterator[bytes], max_inflation: float) -> Iterator[bytes]:
    total = 0
    for block in blocks:
        total += len(block)
        if total > _FREE and total > max_inflation * source.tell():
            raise InputError(
                f"{path}: byte {source.tell()}: {total} bytes came out of {source.tell()}, more than "
                f"{max_inflation:g} for one; raise traces.normalise.max_inflation if the file is genuine"
            )
        yield block


def _read_gzip(path: Path, source: BinaryIO) -> Iterator[bytes]:
    pending = b""
    while True:
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            pending = pending or source.read(_PART)
            if not pending:
                raise InputError(f"{path}: byte {source.tell()}: the file ends inside a gzip member; {_REMEDY}")
            try:
                block = member.decompress(pending, BLOCK)
            except zlib.error as error:
                raise InputError(
                    f"{path}: near byte {source.tell()}: damaged gzip data ({error}); {_REMEDY}"
                ) from error
            pending = member.unconsumed_tail
            if block:
                yield block
        pending = member.unused_data or source.read(_PART)
        if len(pending) < 2:
            pending += source.read(_PART)
        if not pending:
            return
        if not pending.startswith(_GZIP):
            _refuse_junk(path, source.tell() - len(pending), "gzip member")


def _read_zstd(path: Path, source: BinaryIO) -> Iterator[bytes]:
    import zstandard

    decompressor = zstandard.ZstdDecompressor(max_window_size=1 << 27)
    pending = b""
    while True:
        frame = decompressor.decompressobj()
        while not frame.eof:
            pending = pending or source.read(_STEP)
            if not pending:
                raise InputError(f"{path}: byte {source.tell()}: the file ends inside a zstd frame; {_REMEDY}")
            try:
                block = frame.decompress(pending)
            except zstandard.ZstdError as error:
                if "Dictionary" in str(error):
                    raise InputError(
                        f"{path}: near byte {source.tell()}: compressed with a zstd dictionary that the file does not "
                        "hold; compress it without one"
                    ) from error
                raise InputError(
                    f"{path}: near byte {source.tell()}: damaged zstd data ({error}); {_REMEDY}"
                ) from error
            pending = b""
            if block:
                yield block
        pending = frame.unused_data
        if len(pending) < 4:
            pending += source.read(_STEP)
        if not pending:
            return
        if not _starts_frame(pending[:8]):
            _refuse_junk(path, source.tell() - len(pending), "zstd frame")


def _refuse_junk(path: Path, byte: int, what: str) -> None:
    raise InputError(f"{path}: byte {byte}: what follows the last {what} is not another one; {_REMEDY}")
