"""The book of openings."""

import subprocess

import pytest

from tracemill.errors import InputError
from tracemill.evaluation.sealed import Opening, append_opening, commit_of, read_openings


def opening(reason="final number of the paper"):
    return Opening("2026-01-02T03:04:05Z", "c" * 40, False, "sft", "d" * 64, 12, reason)


def test_openings_are_appended_and_counted(tmp_path):
    book = tmp_path / "ledger" / "openings.jsonl"
    assert append_opening(opening(), book) == 1
    assert append_opening(opening("again"), book) == 2
    assert [o.reason for o in read_openings(book)] == ["final number of the paper", "again"]


def test_no_reason_opens_nothing(tmp_path):
    with pytest.raises(InputError, match="--reason is empty"):
        append_opening(opening("  "), tmp_path / "openings.jsonl")
    assert not (tmp_path / "openings.jsonl").exists()


def test_a_damaged_book_is_named_by_line(tmp_path):
    (tmp_path / "openings.jsonl").write_text('{"date": 3}\n')
    with pytest.raises(InputError, match=r"openings\.jsonl:1"):
        append_opening(opening(), tmp_path / "openings.jsonl")


def test_the_commit_and_whether_files_differ_are_told(tmp_path):
    with pytest.raises(InputError, match="no commit"):
        commit_of(tmp_path)
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    (tmp_path / "f").write_text("1")
    subprocess.run([*git, "add", "f"], check=True)
    subprocess.run([*git, "commit", "-qm", "x"], check=True)
    head, dirty = commit_of(tmp_path)
    assert (len(head), dirty) == (40, False)
    (tmp_path / "f").write_text("2")
    assert commit_of(tmp_path) == (head, True)
