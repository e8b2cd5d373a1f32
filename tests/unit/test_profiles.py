"""Every profile of the shipped params.yaml, laid over its default, is a valid params.yaml."""

import shutil
from functools import cache
from pathlib import Path

import pytest

from tracemill.build.project import project_of
from tracemill.build.workspace import overlay
from tracemill.document import lookup, read_yaml
from tracemill.params import load_params
from tracemill.snapshots import local_path
from tracemill.traces.sources.hub import parse_hub

ROOT = Path(__file__).resolve().parents[2]
PROFILES = sorted(read_yaml(ROOT / "params.yaml")["profiles"])


@pytest.fixture(scope="module")
def default():
    return load_params(ROOT / "params.yaml")


@pytest.fixture(scope="module")
def laid(tmp_path_factory):
    path = tmp_path_factory.mktemp("profiles") / "params.yaml"

    @cache
    def lay(profile):
        shutil.copy(ROOT / "params.yaml", path)
        overlay(path, [profile], [])
        return load_params(path)

    return lay


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_over_the_default_passes_the_schema(laid, profile):
    assert project_of(laid(profile)).chain


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_changes_what_exists_and_adds_no_section(laid, default, profile):
    changed = laid(profile)
    for dotted in default["profiles"][profile]:
        lookup(default, dotted)  # raises KeyError where the default has no such key
    assert changed.keys() == default.keys()


def test_the_real_profile_builds_the_same_chain_on_fewer_steps(laid, default):
    real = laid("real")
    assert project_of(real).chain == project_of(default).chain
    assert project_of(real).snapshots == ["real-a", "real-b"]
    steps = {name: stage["train"]["max_steps"] for name, stage in real["training"]["stages"].items()}
    assert all(0 < steps[name] < stage["train"]["max_steps"] for name, stage in default["training"]["stages"].items())


def test_the_paper_profile_has_the_values_of_the_paper(laid):
    paper = laid("paper")
    base, stages = paper["training"]["base"], paper["training"]["stages"]
    assert (base["kind"], base["model"]) == ("pretrained", "Qwen/Qwen3-4B")
    assert len(base["revision"]) == 40
    assert paper["training"]["rows"]["max_length"] == paper["corpus"]["gates"]["token_budget"] == 14336
    rollouts = stages["rejection"]["rollouts"]
    assert (rollouts["samples"], rollouts["temperature"], rollouts["top_p"]) == (8, 0.9, 0.95)
    assert stages["sft"]["train"]["epochs"] == 1.0
    assert stages["sft"]["train"]["lora"]["rank"] > 0
    assert stages["kto"]["kto"]["beta"] == 0.02
    assert stages["rejection"]["rows"]["corpus_share"] == 0.5
    assert stages["teacher_sft"]["teacher"]["most_problems"] == 498
    assert paper["environment"]["observation"]["format"] == "json"
    assert paper["environment"]["prompt"]["style"] == "full"
    assert paper["evaluation"]["sampling"]["samples"] == 8


def test_the_snapshots_of_the_paper_profile_are_pinned(laid):
    sources = [snapshot["source"] for snapshot in laid("paper")["snapshots"].values()]
    remote = [source for source in sources if local_path(source) is None]
    assert remote
    assert all(parse_hub(source).fixed for source in remote)
