"""The embedded default from catalogue to leak graph: nothing that a filter can find is missing from it."""

import json
from pathlib import Path

import polars as pl
import pytest
from ruamel.yaml import YAML

from tracemill.arena.catalog_file import write_catalog
from tracemill.arena.params import CatalogParams, MinerParams, ProblemParams
from tracemill.arena.problem_file import write_problem_file
from tracemill.arena.snapshot_file import write_snapshot
from tracemill.corpus.assemble import assemble_corpus
from tracemill.corpus.filter import filter_snapshot
from tracemill.corpus.params import AxisParams, DedupParams, GateParams, RankingParams
from tracemill.environment.index import build_index, open_index
from tracemill.environment.problem import read_problems
from tracemill.environment.problem_book import ProblemBook
from tracemill.environment.products import read_products
from tracemill.leakage.audit import audit_leaks
from tracemill.leakage.clusters import cluster_leaks
from tracemill.leakage.params import AuditParams, PoolParams, SimilarityParams
from tracemill.leakage.split import split_pools
from tracemill.snapshots import SnapshotParams
from tracemill.traces.params import NormaliseParams
from tracemill.traces.rejects import REASONS
from tracemill.traces.score import score_table
from tracemill.traces.snapshot import normalise_snapshot

PARAMS = YAML(typ="safe").load((Path(__file__).parents[2] / "params.yaml").read_text())


def section(dotted, model):
    value = PARAMS
    for key in dotted.split("."):
        value = value[key]
    return model.model_validate_json(json.dumps(value))


@pytest.fixture(scope="module")
def arena(tmp_path_factory):
    folder = tmp_path_factory.mktemp("default")
    write_catalog("arena", section("arena.catalog", CatalogParams), folder / "catalog")
    write_problem_file("arena", folder / "catalog", section("arena.problems", ProblemParams), folder / "problems.jsonl")
    build_index(read_products(folder / "catalog"), folder / "index")
    return folder


def play(arena, name):
    """One snapshot from its simulation to its kept rows; the counts of normalisation and filter."""
    out = arena / name
    out.mkdir()
    miners = section("arena.miners", MinerParams)
    snapshot = section(f"snapshots.{name}", SnapshotParams)
    write_snapshot(name, snapshot, arena / "problems.jsonl", arena / "index", miners, out / "raw")
    found = normalise_snapshot(
        out / "raw",
        trajectories=out / "trajectories.parquet",
        rejects=out / "rejects.parquet",
        problems=out / "problems.parquet",
        summary=None,
        params=section("traces.normalise", NormaliseParams),
    )
    book = ProblemBook(read_problems(arena / "problems.jsonl"))
    score_table(out / "trajectories.parquet", book, open_index(arena / "index"), out / "scores.parquet")
    filter_snapshot(
        out / "trajectories.parquet",
        out / "scores.parquet",
        kept=out / "kept.parquet",
        dropped=out / "dropped.parquet",
        summary=out / "summary.json",
        gates=section("corpus.gates", GateParams),
        axis=section("corpus.axis", AxisParams),
    )
    return found, json.loads((out / "summary.json").read_text())


@pytest.fixture(scope="module")
def snapshots(arena):
    return {name: play(arena, name) for name in PARAMS["snapshots"]}


def assemble(arena, names, out):
    assemble_corpus(
        [arena / name / "kept.parquet" for name in names],
        [arena / name / "trajectories.parquet" for name in names],
        corpus=out / "corpus.parquet",
        table=out / "table.parquet",
        summary=out / "funnel.json",
        axis=section("corpus.axis", AxisParams),
        dedup=section("corpus.dedup", DedupParams),
        ranking=section("corpus.ranking", RankingParams),
    )


@pytest.fixture(scope="module")
def funnel(arena, snapshots):
    assemble(arena, list(snapshots), arena)
    return json.loads((arena / "funnel.json").read_text())


def test_there_are_three_snapshots_of_at_least_500_trajectories(snapshots):
    assert len(snapshots) >= 3
    assert all(found["kept"] >= 500 for found, _ in snapshots.values())


def test_every_reason_to_reject_a_line_occurs_in_every_snapshot(snapshots):
    for found, _ in snapshots.values():
        assert [reason for reason in REASONS if not found["rejected"][reason]] == []


def test_every_gate_drops_rows_in_every_snapshot(snapshots):
    for _, kept in snapshots.values():
        assert [reason for reason, count in kept["dropped"].items() if not count] == []


def test_every_axis_occurs_on_every_evidence(snapshots):
    for _, kept in snapshots.values():
        assert set(kept["axis"]) == {
            "A (proxy)",
            "A (structure)",
            "B (proxy)",
            "B (structure)",
            "unknown (structure)",
        }


def test_every_role_occurs_and_about_1500_rows_are_for_sft(funnel):
    assert [role for role, count in funnel["roles"].items() if not count] == []
    assert 1_300 <= funnel["roles"]["sft"] <= 2_000


def test_order_and_repetition_of_snapshots_change_no_byte_of_the_corpus(arena, snapshots, funnel, tmp_path):
    names = list(snapshots)
    assemble(arena, [names[2], names[0], names[1], names[0]], tmp_path)

    for name in ("corpus.parquet", "table.parquet", "funnel.json"):
        assert (tmp_path / name).read_bytes() == (arena / name).read_bytes()


def test_no_row_changes_on_its_way_into_the_corpus(arena, snapshots, funnel):
    before = pl.concat([pl.read_parquet(arena / name / "trajectories.parquet") for name in snapshots])
    after = pl.read_parquet(arena / "corpus.parquet")
    joined = after.join(before, on=["snapshot_digest", "line"], suffix="_before", validate="1:1")

    assert joined.height == after.height
    for column in ("trajectory_id", "messages", "tools", "query", "turns"):
        assert (joined[column] == joined[f"{column}_before"]).all()


@pytest.fixture(scope="module")
def clusters(arena, snapshots):
    cluster_leaks(
        [arena / name / "problems.parquet" for name in snapshots],
        [arena / "problems.jsonl"],
        [],
        nodes_path=arena / "nodes.parquet",
        edges_path=arena / "edges.parquet",
        report_path=arena / "clusters.json",
        params=section("leakage.similarity", SimilarityParams),
    )
    return json.loads((arena / "clusters.json").read_text())


def test_every_kind_of_leak_edge_occurs_and_no_cluster_is_large(clusters):
    assert min(clusters["edges"]["gold"], clusters["edges"]["text"]) > 0
    assert max(map(int, clusters["clusters_by_nodes"])) <= 12


def test_every_pool_but_the_benchmarks_gets_problems_and_the_audit_passes(arena, clusters, funnel):
    ledger = arena / "held_out.jsonl"
    ledger.write_bytes(b"")
    graph = [arena / name for name in ("nodes.parquet", "edges.parquet")]
    split_pools(
        graph[0],
        arena / "corpus.parquet",
        ledger,
        pools_path=arena / "pools.parquet",
        shares_path=arena / "shares.json",
        params=section("leakage.pools", PoolParams),
        similarity=section("leakage.similarity", SimilarityParams),
    )
    audit_leaks(
        *graph,
        arena / "pools.parquet",
        arena / "corpus.parquet",
        ledger,
        report_path=arena / "audit.json",
        passed_path=arena / "passed",
        params=section("leakage.audit", AuditParams),
        similarity=section("leakage.similarity", SimilarityParams),
    )
    shares = json.loads((arena / "shares.json").read_text())
    assert min(shares["problems"][pool] for pool in ("train", "eval", "never_touch")) >= 20
    assert 0.05 <= shares["rows"]["share"]["eval"] <= 0.2
