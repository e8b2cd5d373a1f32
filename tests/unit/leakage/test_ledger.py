"""The ledger: only additions, read back as written."""

import pytest

from leak_graph import make, write_table
from tracemill.errors import InputError
from tracemill.leakage.ledger import Held, held_out, merge_ledger, read_ledger, write_ledger


def test_entries_are_only_added_and_keep_their_first_pool(tmp_path):
    old = [Held("b", "s", "eval")]
    merged = merge_ledger(old, [Held("b", "s", "never_touch"), Held("a", "t", "eval")])
    assert merged == [Held("a", "t", "eval"), Held("b", "s", "eval")]
    write_ledger(merged, tmp_path / "new" / "held_out.jsonl")
    assert read_ledger(tmp_path / "new" / "held_out.jsonl") == merged


def test_a_broken_entry_is_named_by_line(tmp_path):
    (tmp_path / "l.jsonl").write_text('\n{"problem": "a"}\n')
    with pytest.raises(InputError, match=r"l\.jsonl:2"):
        read_ledger(tmp_path / "l.jsonl")


def test_held_out_problems_of_the_present_split_are_found(build, tmp_path):
    build.cluster([write_table([make("a", "red mug", ["7"])], tmp_path / "p.parquet")])
    build.split([], never_touch=0.0, eval=0.0)
    assert held_out(build.nodes, build.pools) == []
    build.split([], never_touch=0.0, eval=1.0)
    assert [entry.pool for entry in held_out(build.nodes, build.pools)] == ["eval"]
