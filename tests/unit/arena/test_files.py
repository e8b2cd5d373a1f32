import gzip
import json

import pytest
import zstandard

from tracemill.arena.catalog_file import write_catalog
from tracemill.arena.params import CatalogParams, MinerParams, ProblemParams
from tracemill.arena.problem_file import write_problem_file
from tracemill.arena.snapshot_file import write_snapshot
from tracemill.environment.index import build_index
from tracemill.environment.problem import read_problems, write_problems
from tracemill.environment.products import read_products
from tracemill.errors import InputError
from tracemill.snapshots import SnapshotParams

SMALL = CatalogParams(products=300, shops=20)
FEW = ProblemParams(problems=20)


def test_the_built_in_catalogue_and_problems_are_written_with_the_same_bytes_each_time(tmp_path):
    for name in ("a", "b"):
        write_catalog("arena", SMALL, tmp_path / f"{name}.zst")
        write_problem_file("arena", tmp_path / f"{name}.zst", FEW, tmp_path / f"{name}.jsonl")
    assert (tmp_path / "a.zst").read_bytes() == (tmp_path / "b.zst").read_bytes()
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    assert len(list(read_products(tmp_path / "a.zst"))) >= 300
    assert len(list(read_problems(tmp_path / "a.jsonl"))) == 20


def test_a_catalogue_file_is_sorted_by_id(tmp_path):
    rows = [{"product_id": i, "title": "t", "price": 1.0} for i in ("9", "10", "2")]
    (tmp_path / "in.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    write_catalog(str(tmp_path / "in.gz"), SMALL, tmp_path / "out")
    assert [p["product_id"] for p in read_products(tmp_path / "out")] == ["10", "2", "9"]


def test_a_problem_file_keeps_its_order(tmp_path):
    (tmp_path / "in.jsonl").write_text('{"problem_id": "b", "query": "x"}\n{"problem_id": "a", "query": "y"}\n')
    write_problem_file(str(tmp_path / "in.jsonl"), tmp_path / "unused", FEW, tmp_path / "out")
    assert [p.problem_id for p in read_problems(tmp_path / "out")] == ["b", "a"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"no such file; set environment\.problems\.source"),
        ("", "no problems"),
        ('{"problem_id": "a", "query": "x"}\n' * 2, "problem_id 'a' occurs 2 times"),
    ],
)
def test_a_problem_file_that_cannot_be_used_is_refused(tmp_path, content, message):
    path = tmp_path / "in.jsonl"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=message):
        write_problem_file(str(path), tmp_path / "unused", FEW, tmp_path / "out")


def test_a_catalogue_with_an_id_twice_is_refused(tmp_path):
    (tmp_path / "in.jsonl").write_text('{"product_id": "1", "title": "t", "price": 1}\n' * 2)
    with pytest.raises(InputError, match="product_id '1' occurs 2 times"):
        write_catalog(str(tmp_path / "in.jsonl"), SMALL, tmp_path / "out")


def test_a_snapshot_is_zstd_with_one_line_an_episode_and_the_broken_ones(tmp_path, products, problems):
    build_index(products, tmp_path / "index")
    write_problems(problems, tmp_path / "problems.jsonl")
    params = MinerParams(kinds={"agentic": 1.0, "searcher": 1.0}, damaged=0.2)
    snapshot = SnapshotParams(source="sim:", seed=3, episodes=20)
    write_snapshot("sim-x", snapshot, tmp_path / "problems.jsonl", tmp_path / "index", params, tmp_path / "out")
    with (tmp_path / "out").open("rb") as file:
        text = zstandard.ZstdDecompressor().stream_reader(file).read()
    assert text.endswith(b"\n")
    assert len(text.splitlines()) == 24


def test_a_simulated_snapshot_without_seed_or_episodes_is_refused(tmp_path):
    params = MinerParams(kinds={"agentic": 1.0})
    with pytest.raises(InputError, match=r"snapshots\.sim-x: a sim: source needs `seed` and `episodes`"):
        write_snapshot("sim-x", SnapshotParams(source="sim:"), tmp_path, tmp_path, params, tmp_path / "out")
