import re
from pathlib import Path

import pytest

from tracemill.build.workspace import overlay
from tracemill.document import read_yaml, render_yaml
from tracemill.errors import ParamsError
from tracemill.params import check_params, load_params

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def document() -> dict:
    return read_yaml(ROOT / "params.yaml")


def refusal(document: dict, tmp_path: Path) -> str:
    path = tmp_path / "params.yaml"
    path.write_text(render_yaml(document))
    with pytest.raises(ParamsError) as caught:
        load_params(path)
    return str(caught.value).replace(str(tmp_path), "")


def test_the_shipped_file_is_valid(document):
    check_params(document)


@pytest.mark.parametrize("profile", sorted(read_yaml(ROOT / "params.yaml")["profiles"]))
def test_every_profile_lays_valid_values_over_the_file(tmp_path, profile):
    path = tmp_path / "params.yaml"
    path.write_bytes((ROOT / "params.yaml").read_bytes())
    overlay(path, [profile], [])
    load_params(path)


def test_an_unknown_name_gives_file_line_value_and_the_nearest_name(document, tmp_path):
    document["corpus"]["gates"]["token_budgt"] = document["corpus"]["gates"].pop("token_budget")
    said = refusal(document, tmp_path)
    assert said.startswith("/params.yaml line ")
    assert "corpus.gates.token_budgt: unknown name (value 14336); did you mean 'token_budget'?" in said


def test_a_mistyped_value_is_shown(document, tmp_path):
    document["corpus"]["gates"]["token_budget"] = "many"
    assert 'corpus.gates.token_budget: Input should be a valid integer, found "many"' in refusal(document, tmp_path)


def test_a_missing_value_is_named(document, tmp_path):
    del document["snapshots"]["sim-a"]["source"]
    assert "snapshots.sim-a.source: missing" in refusal(document, tmp_path)


@pytest.mark.parametrize("section", sorted(read_yaml(ROOT / "params.yaml").keys() - {"profiles"}))
def test_a_missing_value_is_said_with_the_file_that_tells_its_meaning(document, tmp_path, section):
    if section == "snapshots":
        document[section]["sim-a"] = {"seed": 1}
    else:
        document[section] = {}
    said = re.search(r"missing; add it \((\S+) says", refusal(document, tmp_path))
    assert (ROOT / said[1]).is_file()


@pytest.mark.parametrize("name", ["Sim", "2026", "a b", "../x", "a" * 65, ""])
def test_snapshot_names_are_checked(document, tmp_path, name):
    document["snapshots"] = {name: {"source": "sim:"}}
    assert "snapshots" in refusal(document, tmp_path)


@pytest.mark.parametrize("source", ["gopher://x", "ftp://host/x", "", "hf://models/x"])
def test_unknown_sources_are_refused(document, tmp_path, source):
    document["snapshots"]["sim-a"] = {"source": source}
    assert "unknown source" in refusal(document, tmp_path)


@pytest.mark.parametrize("source", ["sim:", "raw/x.jsonl", "/data/x.zst", "file:/x", "https://h/x", "s3://b/k"])
def test_known_sources_pass(document, source):
    document["snapshots"]["other"] = {"source": source}
    check_params(document)


def test_an_empty_list_of_snapshots_is_refused(document, tmp_path):
    document["snapshots"] = {}
    assert "the list is empty" in refusal(document, tmp_path)


@pytest.mark.parametrize("name", ["size", "nfiles"])
def test_names_that_dvc_does_not_hash_are_refused_at_any_depth(document, tmp_path, name):
    document["profiles"] = {"x": {"deep": [{name: 3}]}}
    assert f"the name {name!r} is not tracked by DVC" in refusal(document, tmp_path)


def test_a_bare_date_is_refused(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("snapshots: {a: {source: 2026-05-01}}\n")
    with pytest.raises(ParamsError, match="quote dates"):
        load_params(path)


def test_a_file_that_is_no_mapping_is_refused(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("- a\n")
    with pytest.raises(ParamsError, match="expected a mapping of sections, found list"):
        load_params(path)
