import re

import pytest

from tracemill.build.project import project_of
from tracemill.errors import ParamsError

DOCUMENT = {
    "snapshots": {"sim-b": {"source": "sim:"}, "file-a": {"source": "raw/a.jsonl"}, "web": {"source": "https://h/x"}},
    "environment": {"catalog": {"source": "arena"}, "problems": {"source": "p.jsonl"}},
    "leakage": {"protected": {"files": ["suite.jsonl"]}},
    "training": {
        "stages": {
            "kto": {"kind": "kto", "parent": "sft", "train": {"learning_rate": 1.0}},
            "sft": {"kind": "sft", "parent": "base"},
        }
    },
}


def test_snapshots_are_told_apart_by_their_sources():
    project = project_of(DOCUMENT)
    assert project.snapshots == ["file-a", "sim-b", "web"]
    assert re.fullmatch(project.simulated, "sim-b")
    assert not re.fullmatch(project.simulated, "web")
    assert re.fullmatch(project.fetched, "web")
    assert project.source_file("file-a") == ["raw/a.jsonl"]
    assert project.source_file("web") == []


def test_checkpoints_follow_the_chain_of_parents():
    project = project_of(DOCUMENT)
    assert project.chain == ["sft", "kto"]
    assert project.checkpoints == ["expert", "base", "sft", "kto"]
    assert project.parent("kto") == "sft"
    assert re.fullmatch(project.of_kind("kto", "dr_grpo"), "kto")
    assert not re.fullmatch(project.of_kind("dr_grpo"), "kto")


def test_stages_keep_the_order_of_the_file_behind_their_parents():
    parents = {"late": "sft", "z_first": "sft", "a_second": "sft", "sft": "base", "apart": "base"}
    stages = {name: {"kind": "kto", "parent": parent} for name, parent in parents.items()}
    project = project_of({**DOCUMENT, "training": {"stages": stages}})
    assert project.chain == ["sft", "late", "z_first", "a_second", "apart"]
    swapped = {name: stages[name] for name in ("a_second", "z_first", "late", "sft", "apart")}
    assert project_of({**DOCUMENT, "training": {"stages": swapped}}).shape() != project.shape()


def test_files_are_inputs_and_the_arena_is_none():
    assert project_of(DOCUMENT).files == {"catalog": [], "problems": ["p.jsonl"], "protected": ["suite.jsonl"]}


def test_values_that_only_change_bytes_do_not_change_the_shape():
    other = {**DOCUMENT, "training": {"stages": {**DOCUMENT["training"]["stages"]}}}
    other["training"]["stages"]["kto"] = {**other["training"]["stages"]["kto"], "train": {"learning_rate": 2.0}}
    assert project_of(other).shape() == project_of(DOCUMENT).shape()


def test_the_order_of_snapshots_does_not_change_the_shape():
    other = {**DOCUMENT, "snapshots": dict(reversed(DOCUMENT["snapshots"].items()))}
    assert project_of(other).shape() == project_of(DOCUMENT).shape()


def test_stages_that_are_each_others_parents_are_refused():
    stages = {"a": {"kind": "sft", "parent": "b"}, "b": {"kind": "sft", "parent": "a"}}
    with pytest.raises(ParamsError, match="each other's parents"):
        _ = project_of({**DOCUMENT, "training": {"stages": stages}}).chain
