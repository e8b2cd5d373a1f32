"""Pools: thresholds, protection, the refusal of rows, calibration."""

import pytest

from leak_graph import make, write_table
from tracemill.errors import InputError
from tracemill.leakage.clusters import find_clusters
from tracemill.leakage.edges import find_edges
from tracemill.leakage.ledger import Held, promised_pools
from tracemill.leakage.nodes import build_nodes, spec_key
from tracemill.leakage.params import PoolParams, SimilarityParams
from tracemill.leakage.split import assign_pools, calibrate, uniform


def test_the_number_of_a_specification_is_fixed():
    assert uniform("spec", 23) == 0.6476405852518357
    assert uniform("spec", 24) != uniform("spec", 23)


def _pools(problems, protected=(), entries=(), **params):
    nodes = build_nodes(problems, protected)
    clusters = find_clusters((n.key for n in nodes), find_edges(nodes, SimilarityParams()))
    pools = assign_pools(nodes, clusters, PoolParams(**params), promised_pools(nodes, entries, SimilarityParams()))
    return {i: pools[clusters[n.key]] for n in nodes for i in n.problem_ids}


def test_thresholds_decide_the_pool():
    one = [make("a", "red mug", ["7"])]
    u = uniform(spec_key("red mug", ["7"]), 23)
    assert _pools(one, never_touch=u + 1e-9, eval=1.0) == {"a": "never_touch"}
    assert _pools(one, never_touch=u, eval=u + 1e-9) == {"a": "eval"}
    assert _pools(one, never_touch=0.0, eval=u) == {"a": "train"}


def test_a_cluster_goes_where_its_smallest_member_goes():
    problems = [make(str(i), f"word{i} thing{i}", [str(i), str(i + 1)], "shop") for i in range(20)]
    low = min(uniform(spec_key("", [str(i), str(i + 1)]), 23) for i in range(20))
    assert set(_pools(problems, never_touch=0.0, eval=low + 1e-9).values()) == {"eval"}
    assert set(_pools(problems, never_touch=0.0, eval=low).values()) == {"train"}


def test_every_cluster_that_touches_a_benchmark_leaves_the_other_pools():
    corpus = [make("near", "show me red clay mugs with lid"), make("gold", "kettle", ["7"]), make("far", "blue sofa")]
    bench = [make("b1", "red clay mug with a lid"), make("b2", "tea pot", ["7"])]
    pools = _pools(corpus, bench, never_touch=0.0, eval=0.0)
    assert pools == {"near": "benchmark", "b1": "benchmark", "gold": "benchmark", "b2": "benchmark", "far": "train"}


def test_the_ledger_holds_clusters_out_only_when_told_to():
    problems = [make("a", "red mug", ["7"])]
    ledger = [Held("other", spec_key("red mug", ["7"]), "eval")]
    assert _pools(problems, entries=ledger, never_touch=0.0, eval=0.0) == {"a": "train"}
    assert _pools(problems, entries=ledger, never_touch=0.0, eval=0.0, ledger="hold") == {"a": "eval"}


def test_calibration_meets_the_wanted_share():
    assert calibrate([(10, 1)] * 50, 0.1) == pytest.approx(0.1, abs=1e-5)
    assert calibrate([(10, 2)] * 50, 0.19) == pytest.approx(0.1, abs=1e-5)
    assert calibrate([], 0.1) == 0.0


def test_a_corpus_row_outside_the_graph_stops_the_stage(build, tmp_path):
    build.cluster([write_table([make("a", "red mug")], tmp_path / "p.parquet")])
    with pytest.raises(InputError, match="not in the leak graph"):
        build.split([("0" * 64, [])])
