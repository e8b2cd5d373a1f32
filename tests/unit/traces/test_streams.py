"""A snapshot is read whole, or refused with the place at which it is damaged."""

import gzip
import json
import os

import polars as pl
import pytest
import zstandard
from typer.testing import CliRunner

from trace_episodes import as_envelope, example, line
from tracemill.cli import app
from tracemill.errors import InputError
from tracemill.traces.lines import read_lines
from tracemill.traces.streams import BLOCK, read_blocks

LINES = b"".join(json.dumps({"n": n, "text": "x" * (n % 300)}).encode() + b"\n" for n in range(20_000))
MEGABYTE = 1_000_000


def zstd(data: bytes, **options) -> bytes:
    return zstandard.ZstdCompressor(**options).compress(data)


def streamed_zstd(data: bytes) -> bytes:
    """A frame without its size in the header, as a writer that streams makes it."""
    maker = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    return maker.compress(data) + maker.flush()


WHOLE = {
    "plain": LINES,
    "gzip": gzip.compress(LINES, 1),
    "gzip members": gzip.compress(LINES[:1000], 1) + gzip.compress(b"") + gzip.compress(LINES[1000:], 1),
    "zstd": zstd(LINES),
    "zstd streamed": streamed_zstd(LINES),
    "zstd frames": zstd(LINES[:777]) + zstd(b"") + streamed_zstd(LINES[777:]),
    "zstd skippable": b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc" + zstd(LINES) + b"\x51\x2a\x4d\x18\x00\x00\x00\x00",
}


@pytest.mark.parametrize("kind", sorted(WHOLE))
def test_whole_files_come_out_whole(tmp_path, kind):
    path = tmp_path / "raw"
    path.write_bytes(WHOLE[kind])
    assert b"".join(read_blocks(path, 100.0)) == LINES
    lines = list(read_lines(path, 100.0, MEGABYTE))
    assert [one.number for one in lines] == list(range(1, 20_001))
    assert all(LINES[one.byte : one.byte + len(one.raw) + 1] == one.raw + b"\n" for one in lines)


@pytest.mark.parametrize("kind", ["gzip", "gzip members", "zstd", "zstd streamed", "zstd frames"])
@pytest.mark.parametrize("keep", [0.5, 0.999])
def test_a_cut_file_is_refused_with_its_last_byte(tmp_path, kind, keep):
    path = tmp_path / "raw"
    cut = WHOLE[kind][: int(len(WHOLE[kind]) * keep)]
    path.write_bytes(cut)
    with pytest.raises(InputError, match=rf"raw: byte {len(cut)}: the file ends inside a (gzip member|zstd frame)"):
        list(read_blocks(path, 1000.0))


@pytest.mark.parametrize("kind", ["gzip", "gzip members", "zstd", "zstd streamed", "zstd frames"])
@pytest.mark.parametrize("junk", [b"j", b"junk", b"\0\0\0\0", b"x" * 5000])
def test_junk_behind_the_last_frame_is_refused_with_its_first_byte(tmp_path, kind, junk):
    path = tmp_path / "raw"
    path.write_bytes(WHOLE[kind] + junk)
    with pytest.raises(InputError, match=rf"raw: byte {len(WHOLE[kind])}: what follows the last"):
        list(read_blocks(path, 1000.0))


@pytest.mark.parametrize("kind", ["gzip", "zstd streamed"])
def test_flipped_bytes_are_refused(tmp_path, kind):
    damaged = bytearray(WHOLE[kind])
    damaged[len(damaged) // 2] ^= 0xFF
    path = tmp_path / "raw"
    path.write_bytes(damaged)
    with pytest.raises(InputError, match=r"damaged (gzip|zstd) data"):
        list(read_blocks(path, 1000.0))


@pytest.mark.parametrize("pack", [lambda data: gzip.compress(data, 9), zstd], ids=["gzip", "zstd"])
def test_a_bomb_is_refused_before_it_unfolds(tmp_path, pack):
    path = tmp_path / "raw"
    path.write_bytes(pack(b"\0" * 200 * MEGABYTE))
    taken: list[int] = []
    with pytest.raises(InputError, match="more than 100 for one"):
        taken.extend(map(len, read_blocks(path, 100.0)))
    assert sum(taken) <= 80 * MEGABYTE


@pytest.mark.parametrize("head", [b"BZh9", b"\xfd7zXZ\0", b"PK\x03\x04"])
def test_other_compressions_are_named(tmp_path, head):
    path = tmp_path / "raw"
    path.write_bytes(head + b"....")
    with pytest.raises(InputError, match="unpack it first"):
        list(read_blocks(path, 100.0))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_wide_text_is_named(tmp_path, encoding):
    path = tmp_path / "raw"
    path.write_bytes('{"problem_id": "p-1"}\n'.encode(encoding))
    with pytest.raises(InputError, match="UTF-16 or UTF-32, expected UTF-8"):
        list(read_blocks(path, 100.0))


def test_a_frame_that_needs_a_dictionary_is_named(tmp_path):
    words = [f'{{"problem_id": "p-{n}", "status": "SUCCESS"}}'.encode() for n in range(2000)]
    path = tmp_path / "raw"
    path.write_bytes(zstandard.ZstdCompressor(dict_data=zstandard.train_dictionary(4096, words)).compress(words[0]))
    with pytest.raises(InputError, match="compressed with a zstd dictionary"):
        list(read_blocks(path, 100.0))


@pytest.mark.parametrize("size", [MEGABYTE + 1, 3 * MEGABYTE])
def test_a_line_over_the_limit_fails_with_its_number(tmp_path, size):
    path = tmp_path / "raw"
    path.write_bytes(b"{}\n\n" + b"x" * size + b"\n{}\n")
    with pytest.raises(InputError, match=r"raw:3: a line of more than 1000000 bytes"):
        list(read_lines(path, 100.0, MEGABYTE))


def test_a_line_of_just_the_limit_passes(tmp_path):
    path = tmp_path / "raw"
    path.write_bytes(b"x" * MEGABYTE + b"\n" + b"y" * MEGABYTE)
    assert [len(one.raw) for one in read_lines(path, 100.0, MEGABYTE)] == [MEGABYTE, MEGABYTE]


def test_a_line_over_many_blocks_is_one_line_with_its_place(tmp_path):
    path = tmp_path / "raw"
    long = b'{"a": "' + b"0123456789" * (5 * BLOCK // 10) + b'"}'
    path.write_bytes(b"{}\n" + long + b"\r\n" + long)
    lines = list(read_lines(path, 100.0, 10 * BLOCK))
    assert [(one.number, one.byte, one.ended) for one in lines] == [
        (1, 0, True),
        (2, 3, True),
        (3, len(long) + 5, False),
    ]
    assert [one.raw == long for one in lines] == [False, True, True]
    assert len(lines[1].text) == len(long) - 1  # the blank behind the colon


def test_a_line_in_very_many_frames_is_read_in_one_pass(tmp_path):
    path = tmp_path / "raw"
    path.write_bytes(zstd(b"7") * 200_000)
    (only,) = read_lines(path, 100.0, MEGABYTE)
    assert only.raw == b"7" * 200_000


def test_line_ends_and_a_byte_order_mark_are_no_content(tmp_path):
    path = tmp_path / "raw"
    path.write_bytes(b"\xef\xbb\xbf{}\r\n \t\r\n\n{}")
    assert [(one.number, one.byte, one.raw, one.ended) for one in read_lines(path, 9.0, 99)] == [
        (1, 3, b"{}", True),
        (4, 12, b"{}", False),
    ]


ENVELOPES = line(as_envelope(example())) * 50


@pytest.mark.parametrize(
    ("content", "rows"),
    [(zstd(ENVELOPES), 50), (zstd(ENVELOPES) + zstd(ENVELOPES), 100), (ENVELOPES[:-1], 50), (ENVELOPES, 50)],
    ids=["frame", "frames", "no last line end", "plain"],
)
def test_the_command_writes_both_tables_of_a_whole_file(tmp_path, content, rows):
    raw, output, rejects = (tmp_path / name for name in ("raw", "o.parquet", "r.parquet"))
    raw.write_bytes(content)
    result = CliRunner().invoke(app, ["normalise", str(raw), "--output", str(output), "--rejects", str(rejects)])
    assert result.exit_code == 0, result.output
    assert pl.read_parquet(output).height == rows
    assert pl.read_parquet(rejects).height == 0


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (zstd(ENVELOPES)[:-20], "byte"),
        (zstd(ENVELOPES) + b"junk", "byte"),
        (ENVELOPES[:-5], "raw:50: byte"),
        (zstd(ENVELOPES[:-5]), "raw:50: byte"),
        (b"", "no lines"),
    ],
    ids=["cut frame", "junk", "cut last line", "cut last line in a frame", "nothing"],
)
def test_the_command_writes_nothing_of_a_damaged_file(tmp_path, content, place):
    raw, output, rejects = (tmp_path / name for name in ("raw", "o.parquet", "r.parquet"))
    raw.write_bytes(content)
    result = CliRunner().invoke(app, ["normalise", str(raw), "--output", str(output), "--rejects", str(rejects)])
    assert isinstance(result.exception, InputError)
    assert "raw" in str(result.exception)
    assert place in str(result.exception)
    assert os.listdir(tmp_path) == ["raw"]


def test_the_command_says_for_each_reason_where_it_stands_first(tmp_path):
    raw = tmp_path / "raw"
    wrong = line({**as_envelope(example()), "status": "done\x1b[2J"})
    raw.write_bytes(ENVELOPES + b"log\n" + wrong * 2)
    command = ["normalise", str(raw), "--output", str(tmp_path / "o"), "--rejects", str(tmp_path / "r")]
    assert CliRunner().invoke(app, command).output.splitlines() == [
        "53 lines: 50 trajectories, 3 rejected",
        "  unknown_status: 2, the first in line 52: status 'done\\x1b[2J', expected one of SUCCESS, FAILED, TIMED_OUT",
        "  bad_json: 1, the first in line 51: JSON is malformed: invalid character (byte 0)",
    ]


@pytest.mark.parametrize(("output", "rejects"), [("raw", "r"), ("o", "raw"), ("o", "o"), ("o", "link")])
def test_the_command_never_writes_over_the_traces(tmp_path, output, rejects):
    raw = tmp_path / "raw"
    raw.write_bytes(ENVELOPES)
    (tmp_path / "link").symlink_to(raw)
    command = ["normalise", str(raw), "--output", str(tmp_path / output), "--rejects", str(tmp_path / rejects)]
    assert "must be three files" in str(CliRunner().invoke(app, command).exception)
    assert raw.read_bytes() == ENVELOPES


def test_the_command_makes_the_folders_that_it_writes_to(tmp_path):
    raw, output, rejects = tmp_path / "raw", tmp_path / "a" / "b" / "o.parquet", tmp_path / "c" / "r.parquet"
    raw.write_bytes(ENVELOPES)
    command = ["normalise", str(raw), "--output", str(output), "--rejects", str(rejects)]
    assert CliRunner().invoke(app, command).exit_code == 0
    assert (output.is_file(), rejects.is_file()) == (True, True)


def test_too_many_damaged_lines_fail_the_file_with_the_first(tmp_path):
    raw = tmp_path / "raw"
    raw.write_bytes(ENVELOPES + b"log\n" * 10)
    command = ["normalise", str(raw), "--output", str(tmp_path / "o"), "--rejects", str(tmp_path / "r")]
    result = CliRunner().invoke(app, [*command, "--max-broken-share", "0.1"])
    assert str(result.exception).startswith(
        f"{raw}: 10 of 60 lines are damaged, more than the share of 0.1; the first is line 51"
    )
    assert CliRunner().invoke(app, [*command, "--max-broken-share", "0.2"]).exit_code == 0
