"""The ledger: only additions, read back as written."""

import msgspec
import pytest

from leak_graph import make, write_table
from tracemill.errors import InputError
from tracemill.leakage.ledger import (
    Held,
    entry_of,
    held_out,
    merge_ledger,
    promised_pools,
    read_ledger,
    write_ledger,
)
from tracemill.leakage.nodes import build_nodes
from tracemill.leakage.params import SimilarityParams


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
    (entry,) = held_out(build.nodes, build.pools)
    assert (entry.pool, len(entry.words), len(entry.golds)) == ("eval", 2, 1)
    assert b"mug" not in msgspec.json.encode(entry)


def test_a_graph_and_a_split_of_two_builds_write_no_ledger(build, tmp_path):
    tables = [write_table([make(n, f"{n} mug", ["7"])], tmp_path / f"{n}.parquet") for n in ("red", "blue")]
    build.cluster(tables)
    build.split([])
    build.cluster(tables[1:])
    with pytest.raises(InputError, match="build first"):
        held_out(build.nodes, build.pools)


def test_an_entry_without_words_gets_them_and_keeps_its_pool():
    old, new = Held("b", "s", "eval"), Held("b", "s", "never_touch", ("w",), ("g",))
    assert merge_ledger([old], [new]) == [Held("b", "s", "eval", ("w",), ("g",))]


RED, TRACKS = make("red", "red clay mug with lid"), make("tracks", "one shop for tracks", ["8", "9"], "shop")
ENTRIES = [entry_of(node, "eval") for node in build_nodes([RED, TRACKS])]


@pytest.mark.parametrize(
    ("problem", "promised"),
    [
        (RED, True),
        (make("red", RED.query, ["7"]), True),
        (make("variant", "red clay mugs with a lid and a handle"), True),
        (make("edge", "red clay mug with saucer, spoon, tray"), True),
        (make("far", "red clay mug with saucer, spoon, tray, box"), False),
        (make("part", "wooden toy train", ["8"]), True),
        (make("reworded", "entirely other words", ["9", "8"], "shop"), True),
        (make("tracks", TRACKS.query), True),
        (make("else", "wooden toy train", ["10"]), False),
        (make("stop", "show me"), False),
    ],
    ids=lambda value: getattr(value, "query", None),
)
def test_what_links_to_a_promised_problem_that_is_gone_is_promised(problem, promised):
    nodes = build_nodes([problem])
    expected = {nodes[0].key: "eval"} if promised else {}
    assert promised_pools(nodes, ENTRIES, SimilarityParams()) == expected


def test_a_promised_problem_that_is_still_there_speaks_for_itself_and_the_strictest_pool_counts():
    nodes = build_nodes([RED, make("variant", "red clay mugs with a lid and a handle")])
    (red,) = (entry for entry in ENTRIES if entry.problem == build_nodes([RED])[0].key)
    sealed = msgspec.structs.replace(red, pool="never_touch")
    for ledger in ([sealed, red], [red, sealed]):
        assert promised_pools(nodes, ledger, SimilarityParams()) == {red.problem: "never_touch"}
