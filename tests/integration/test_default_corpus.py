"""The embedded default's corpus, from arena to pools: every reason, axis and kind of evidence occurs in it."""

import json

import polars as pl
import pytest

from tracemill.arena.catalog_file import write_catalog
from tracemill.arena.params import ArenaParams
from tracemill.arena.problem_file import write_problem_file
from tracemill.arena.snapshot_file import write_snapshot
from tracemill.corpus.assemble import assemble_corpus
from tracemill.corpus.filter import filter_snapshot
from tracemill.corpus.gates import REASONS
from tracemill.corpus.params import CorpusParams
from tracemill.corpus.ranking import LEFT_BEHIND, SFT, UNDESIRABLE
from tracemill.environment.index import build_index, open_index
from tracemill.environment.problem import read_problems
from tracemill.environment.problem_book import ProblemBook
from tracemill.environment.products import read_products
from tracemill.leakage.clusters import cluster_leaks
from tracemill.leakage.params import LeakageParams
from tracemill.params import load_params
from tracemill.snapshots import SnapshotParams
from tracemill.traces.params import TracesParams
from tracemill.traces.score import score_table
from tracemill.traces.snapshot import normalise_snapshot


def section(document, name, model):
    return model.model_validate_json(json.dumps(document[name]))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    root, document = tmp_path_factory.mktemp("default"), load_params()
    arena, corpus = section(document, "arena", ArenaParams), section(document, "corpus", CorpusParams)
    traces, leakage = section(document, "traces", TracesParams), section(document, "leakage", LeakageParams)
    write_catalog("arena", arena.catalog, root / "catalog.jsonl.zst")
    write_problem_file("arena", root / "catalog.jsonl.zst", arena.problems, root / "problems.jsonl")
    build_index(read_products(root / "catalog.jsonl.zst"), root / "index")
    problems = list(read_problems(root / "problems.jsonl"))
    for name, fields in document["snapshots"].items():
        folder = root / name
        folder.mkdir()
        snapshot = SnapshotParams.model_validate(fields)
        write_snapshot(name, snapshot, root / "problems.jsonl", root / "index", arena.miners, folder / "raw")
        outputs = {key: folder / f"{key}.parquet" for key in ("trajectories", "rejects", "problems")}
        normalise_snapshot(
            folder / "raw", **outputs, summary=folder / "traces.json", params=traces.normalise, name=name
        )
        score_table(
            folder / "trajectories.parquet",
            ProblemBook(problems),
            open_index(root / "index"),
            folder / "scores.parquet",
        )
        filter_snapshot(
            folder / "trajectories.parquet",
            folder / "scores.parquet",
            kept=folder / "kept.parquet",
            dropped=folder / "dropped.parquet",
            summary=folder / "corpus.json",
            gates=corpus.gates,
            axis=corpus.axis,
        )
    folders = [root / name for name in document["snapshots"]]
    assemble(folders, corpus, root, "")
    cluster_leaks(
        [folder / "problems.parquet" for folder in folders],
        [root / "problems.jsonl"],
        [],
        nodes_path=root / "nodes.parquet",
        edges_path=root / "edges.parquet",
        report_path=root / "clusters.json",
        params=leakage.similarity,
    )
    return root, folders, corpus


def assemble(folders, corpus, root, tag):
    assemble_corpus(
        [folder / "kept.parquet" for folder in folders],
        [folder / "trajectories.parquet" for folder in folders],
        corpus=root / f"corpus{tag}.parquet",
        table=root / f"table{tag}.parquet",
        summary=root / f"corpus{tag}.json",
        axis=corpus.axis,
        dedup=corpus.dedup,
        ranking=corpus.ranking,
    )


def test_every_gate_drops_something(built):
    _, folders, _ = built
    reasons = pl.concat([pl.read_parquet(folder / "dropped.parquet") for folder in folders])["reason"].unique()

    assert set(REASONS) - set(reasons) == set()


def test_every_axis_and_role_occurs(built):
    root, _, _ = built
    table = pl.read_parquet(root / "table.parquet")

    assert set(table["axis"]) == {"A", "B", "unknown"}
    assert set(table["axis_basis"]) == {"proxy", "structure"}
    assert {SFT, UNDESIRABLE, *LEFT_BEHIND} - set(table["role"]) == set()


def test_about_1500_sft_rows_of_all_categories_remain(built):
    root, _, _ = built
    corpus = pl.read_parquet(root / "corpus.parquet").filter(pl.col("role") == SFT)

    assert 1300 <= corpus.height <= 1800
    assert set(corpus["category"]) == {"product", "shop", "voucher"}
    assert corpus["success"].all()
    assert set(corpus["axis"]) == {"A"}


def test_every_kind_of_leak_evidence_occurs(built):
    root, _, _ = built
    edges = pl.read_parquet(root / "edges.parquet")

    assert set(edges["kind"]) == {"gold", "text"}
    assert edges["numeric_only"].any()


def test_order_names_and_repetition_of_snapshots_change_no_byte_of_the_corpus(built):
    root, folders, corpus = built
    assemble([folders[2], folders[0], folders[1], folders[0]], corpus, root, "-again")

    assert (root / "corpus-again.parquet").read_bytes() == (root / "corpus.parquet").read_bytes()
    assert (root / "corpus-again.json").read_bytes() == (root / "corpus.json").read_bytes()


def test_a_row_never_changes_on_its_way_to_the_corpus(built):
    root, folders, _ = built
    before = pl.concat([pl.read_parquet(folder / "trajectories.parquet") for folder in folders])
    after = pl.read_parquet(root / "corpus.parquet")
    joined = after.join(before, on=["snapshot_digest", "line"], suffix="_before", validate="1:1")

    assert joined.height == after.height
    for column in ("trajectory_id", "messages", "tools", "query", "turns"):
        assert (joined[column] == joined[f"{column}_before"]).all()
