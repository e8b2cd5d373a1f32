"""What was built from what, read from lock files."""

from pathlib import Path

from tracemill.report.graph import lay_out, plot_graph
from tracemill.report.lineage import lineage_section, read_artifacts, stage_edges

LOCK = """
schema: '2.0'
stages:
  build_catalog:
    cmd: x
    outs: [{path: data/catalog, md5: c0ffee0000000000, size: 12}]
  assemble:
    cmd: x
    deps: [{path: data/a/kept, md5: f00d}, {path: data/catalog, md5: c0ffee}, {path: src/tracemill/x.py, md5: 0}]
    outs: [{path: data/corpus, md5: beef000000000000, size: 3456}]
"""
SNAPSHOT = """
schema: '2.0'
stages:
  filter:
    cmd: x
    deps: [{path: data/catalog, md5: c0ffee}]
    outs: [{path: data/a/kept, md5: f00d000000000000, size: 7}]
"""


def artifacts(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "snapshots/a").mkdir(parents=True)
    Path("dvc.lock").write_text(LOCK)
    Path("snapshots/a/dvc.lock").write_text(SNAPSHOT)
    return read_artifacts([Path("dvc.lock"), Path("snapshots/a/dvc.lock"), Path("gone.lock")])


def test_artifacts_stand_with_stage_digest_size_and_inputs_without_code(tmp_path, monkeypatch):
    section = lineage_section(artifacts(tmp_path, monkeypatch), ["data/corpus", "data/a/kept", "data/unknown"])
    *_, note, table = section.blocks

    assert table.rows == [
        ["data/a/kept", "filter", "f00d00000000", "7", "data/catalog"],
        ["data/corpus", "assemble", "beef00000000", "3,456", "data/a/kept, data/catalog"],
    ]
    assert table.stages == ["snapshots/a/dvc.yaml:filter", "assemble"]
    assert note.text.startswith("1 artifacts have no record yet")


def test_the_graph_reaches_up_to_the_sources_of_what_is_shown(tmp_path, monkeypatch):
    edges = stage_edges(artifacts(tmp_path, monkeypatch), ["data/corpus"])

    assert edges == [("build_catalog", "assemble"), ("build_catalog", "filter"), ("filter", "assemble")]


def test_an_arrow_that_others_imply_is_left_out_and_labels_carry_their_stage():
    edges = [("a", "b"), ("b", "c"), ("a", "c")]
    svg = plot_graph(edges, "Graph")

    assert svg.count('id="stage:') == 3
    assert svg.count('id="patch_') == plot_graph(edges[:2], "Graph").count('id="patch_')
    assert plot_graph(edges, "Graph") == svg


def test_nodes_of_a_layer_stand_apart_and_below_what_they_follow():
    layers = [["a"], ["b", "c", "d"], ["e"]]
    places = lay_out(layers, {"a": [], "b": ["a"], "c": ["a"], "d": ["a"], "e": ["d"]})

    assert [places[n][0] for n in ("b", "c", "d")] == sorted(places[n][0] for n in ("b", "c", "d"))
    assert min(abs(places[m][0] - places[n][0]) for m, n in (("b", "c"), ("c", "d"))) >= 1
    assert places["a"][1] > max(places[n][1] for n in "bcd") > places["e"][1]
