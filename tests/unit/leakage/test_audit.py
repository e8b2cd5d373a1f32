"""The audit passes a sound split and names the evidence when anything is moved by hand."""

import json

import polars as pl
import pytest
from typer.testing import CliRunner

from leak_graph import P1, S1, V1, make, write_corpus, write_table
from tracemill.cli import app
from tracemill.environment.problem import write_problems
from tracemill.errors import GateError
from tracemill.leakage.audit import audit_leaks
from tracemill.leakage.ledger import Held, held_out, write_ledger
from tracemill.leakage.nodes import problem_key, spec_key
from tracemill.leakage.params import AuditParams, SimilarityParams
from tracemill.leakage.split import uniform

MUG = make("mug", "red mug", ["20"])
LAMP = make("lamp", "desk lamp", ["21"])


def _audit(build, **params):
    audit_leaks(
        build.nodes,
        build.edges,
        build.pools,
        build.corpus,
        build.ledger,
        report_path=build.audit,
        passed_path=build.passed,
        params=AuditParams(**{"largest_share": 1.0, **params}),
        similarity=SimilarityParams(),
    )


def _move(build, problem_id, pool):
    table = pl.read_parquet(build.pools)
    moved = pl.when(pl.col("problem_id") == problem_id).then(pl.lit(pool)).otherwise(pl.col("pool"))
    table.with_columns(moved.alias("pool")).write_parquet(build.pools)


def _key(problem):
    return problem_key(problem.query, problem.gold_ids)


@pytest.fixture
def sound(build, tmp_path):
    build.cluster([write_table([P1, V1, S1, MUG, LAMP], tmp_path / "p.parquet")])
    build.split([(_key(P1), ["7"]), (_key(MUG), ["20"])], never_touch=0.0, eval=0.0)
    return build


def test_a_sound_split_passes_with_a_constant_gate_file(sound):
    _audit(sound)
    assert sound.passed.read_bytes() == b"the leak audit passed\n"
    report = json.loads(sound.audit.read_bytes())
    assert set(report["checks"].values()) == {"passed"}
    assert report["rows"] == {"in": 2, "admitted_to_training": 2, "by_pool": {"train": 2}}


@pytest.mark.parametrize("moved", ["P1", "V1", "S1"])
def test_moving_one_problem_of_a_cluster_fails_with_the_linking_ids(sound, moved):
    _move(sound, moved, "eval")
    with pytest.raises(GateError, match=r"shared gold ids [78]") as failure:
        _audit(sound)
    assert failure.value.exit_code != 0
    assert "cluster_in_two_pools" in str(failure.value)
    assert "gold_in_held_out_pool" in str(failure.value)
    assert not sound.passed.exists()


def test_clusters_that_were_tampered_with_do_not_hide_a_shared_product(sound):
    nodes = pl.read_parquet(sound.nodes)
    nodes.with_columns(pl.col("node").alias("cluster")).write_parquet(sound.nodes)
    pl.read_parquet(sound.edges).clear().write_parquet(sound.edges)
    _move(sound, "S1", "eval")
    with pytest.raises(GateError, match="product 8"):
        _audit(sound)


def test_a_training_row_that_recommends_a_held_out_gold_fails_when_the_split_forgot_it(sound):
    _move(sound, "lamp", "eval")
    pools = pl.read_parquet(sound.pools)
    pools.with_columns(pl.lit([], dtype=pl.List(pl.String)).alias("gold_ids")).write_parquet(sound.pools)
    write_corpus([(_key(MUG), ["21"])], sound.corpus)
    with pytest.raises(GateError, match="product 21: recommended in a training row of mug"):
        _audit(sound)


def test_such_a_row_is_kept_out_of_training_and_passes_otherwise(sound):
    _move(sound, "lamp", "eval")
    write_corpus([(_key(MUG), ["21"]), (_key(MUG), ["20"])], sound.corpus)
    _audit(sound)
    assert json.loads(sound.audit.read_bytes())["rows"]["admitted_to_training"] == 1


def test_a_protected_query_in_train_fails(build, tmp_path):
    write_problems([make("bench", "Red mug!", ["99"])], tmp_path / "bench.jsonl")
    build.cluster([write_table([MUG], tmp_path / "p.parquet")], protected=[tmp_path / "bench.jsonl"])
    build.split([(_key(MUG), ["20"])], never_touch=0.0, eval=0.0)
    _audit(build)
    _move(build, "mug", "train")
    with pytest.raises(GateError, match="protected_in_train"):
        _audit(build)


def test_a_problem_of_the_ledger_may_not_enter_train(sound):
    write_ledger([Held("gone", spec_key(MUG.query, MUG.gold_ids), "eval")], sound.ledger)
    with pytest.raises(GateError, match="ledger has it in eval"):
        _audit(sound)


def test_a_problem_without_pool_fails(sound):
    pl.read_parquet(sound.pools).filter(pl.col("problem_id") != "lamp").write_parquet(sound.pools)
    with pytest.raises(GateError, match=r"lamp \(\w+\) has no pool"):
        _audit(sound)


def test_a_cluster_with_too_many_rows_fails_with_what_links_it(sound):
    write_corpus([(_key(P1), ["7"])] * 3 + [(_key(MUG), ["20"])], sound.corpus)
    with pytest.raises(GateError, match="holds 3 of 4 rows") as failure:
        _audit(sound, largest_share=0.5)
    assert "gold 7" in str(failure.value)


def test_long_evidence_is_cut(sound):
    for problem_id in ("P1", "S1"):
        _move(sound, problem_id, "eval")
    with pytest.raises(GateError, match="and 2 more"):
        _audit(sound, evidence=1)


def test_removing_a_snapshot_that_held_a_problem_out_fails_until_told_to_hold(build, tmp_path):
    free = next(n for n in range(100, 200) if uniform(spec_key("", [f"{n}"]), 23) > 0.5)
    low = next(n for n in range(200, 300) if uniform(spec_key("", [f"{free}", f"{n}"]), 23) < 0.1)
    kept = make("kept", "oak desk", [f"{free}"])
    bridge = make("bridge", "pine shelf and oak desk set", [f"{free}", f"{low}"], "shop")
    first, second = write_table([kept], tmp_path / "a.parquet"), write_table([bridge], tmp_path / "b.parquet")
    rows = [(_key(kept), [f"{free}"])]
    build.cluster([first, second])
    build.split(rows, never_touch=0.0, eval=0.1)
    arguments = ["--nodes", str(build.nodes), "--pools", str(build.pools), "--output", str(build.ledger)]
    assert "2 held-out problems, 2 new" in CliRunner().invoke(app, ["ledger", *arguments]).stdout
    _audit(build)

    build.cluster([first])
    build.split(rows, never_touch=0.0, eval=0.1)
    with pytest.raises(GateError, match=r"kept .* would enter train"):
        _audit(build)
    assert build.split(rows, never_touch=0.0, eval=0.1, ledger="hold")["rows"]["by_pool"]["eval"] == 1
    _audit(build)


def test_a_sealed_problem_may_not_become_an_evaluated_one(build, tmp_path):
    build.cluster([write_table([MUG, LAMP], tmp_path / "p.parquet")])
    build.split([], never_touch=1.0, eval=1.0)
    write_ledger(held_out(build.nodes, build.pools), build.ledger)
    build.split([], never_touch=0.0, eval=1.0)
    with pytest.raises(GateError, match=r"ledger_in_eval: 2 findings\n  .* would enter eval .* in never_touch"):
        _audit(build)
    build.split([], never_touch=0.0, eval=1.0, ledger="hold")
    _audit(build)
    build.split([], never_touch=0.0, eval=0.0, ledger="hold")
    _audit(build)
    assert set(pl.read_parquet(build.pools)["pool"]) == {"never_touch"}


def test_a_held_out_problem_whose_products_become_known_or_forgotten_stays_promised(build, tmp_path):
    table, env = write_table([make("mug", MUG.query)], tmp_path / "p.parquet"), tmp_path / "env.jsonl"
    write_problems([MUG], env)
    for before, after in (([], [env]), ([env], [])):
        build.cluster([table], before)
        build.split([], never_touch=0.0, eval=1.0)
        write_ledger(held_out(build.nodes, build.pools), build.ledger)
        build.cluster([table], after)
        build.split([], never_touch=0.0, eval=0.0)
        with pytest.raises(GateError, match=r"mug .* would enter train"):
            _audit(build)


def test_no_terminal_obeys_an_id_in_the_evidence(sound):
    nodes = pl.read_parquet(sound.nodes)
    nodes.with_columns(pl.lit(["\x1b[2J\r\nforged"]).alias("problem_ids")).write_parquet(sound.nodes)
    _move(sound, "P1", "eval")
    with pytest.raises(GateError, match="forged") as failure:
        _audit(sound)
    assert all(line.isprintable() for line in str(failure.value).split("\n"))
