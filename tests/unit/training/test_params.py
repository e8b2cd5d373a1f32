import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from tracemill.training.params import BaseParams, TrainingParams

ROOT = Path(__file__).resolve().parents[3]
SECTIONS = {"runtime": {}, "base": {}, "rows": {}}


def training(**stages):
    return TrainingParams.model_validate_json(json.dumps({**SECTIONS, "stages": stages}))


def test_a_stage_may_be_left_out_reordered_or_added_under_a_new_name():
    found = training(first={"kind": "sft"}, rl={"kind": "dr_grpo", "parent": "first"})
    assert found.stages["rl"].parent == "first"
    assert found.stages["first"].parent == "base"


def test_a_parent_that_is_no_stage_is_refused():
    with pytest.raises(ValidationError, match="which is no stage"):
        training(a={"kind": "sft", "parent": "b"})


def test_parents_in_a_circle_are_refused():
    with pytest.raises(ValidationError, match="go in a circle"):
        training(a={"kind": "sft", "parent": "b"}, b={"kind": "sft", "parent": "a"})


@pytest.mark.parametrize("name", ["base", "expert"])
def test_names_of_other_checkpoints_are_refused(name):
    with pytest.raises(ValidationError):
        training(**{name: {"kind": "sft"}})


def test_a_key_that_belongs_to_another_kind_is_refused():
    with pytest.raises(ValidationError, match="beta"):
        training(a={"kind": "sft", "beta": 0.1})


def test_an_endpoint_cannot_generate_for_reinforcement_learning():
    with pytest.raises(ValidationError, match="an endpoint cannot follow the weights"):
        training(rl={"kind": "dr_grpo", "grpo": {"backend": "endpoint"}})


def test_rollouts_are_played_by_the_parent_or_by_a_server_that_is_named():
    with pytest.raises(ValidationError, match="rollouts are the parent's"):
        training(a={"kind": "rejection", "rollouts": {"policy": {"backend": "expert"}}})
    with pytest.raises(ValidationError, match=r"needs endpoint\.url and endpoint\.model"):
        training(a={"kind": "kto", "rollouts": {"policy": {"backend": "endpoint"}}})


def test_a_pretrained_base_needs_a_pinned_revision():
    with pytest.raises(ValidationError, match="40 hex digits"):
        BaseParams(kind="pretrained", model="Qwen/Qwen3-4B", revision="main")
    assert BaseParams(kind="pretrained", model="Qwen/Qwen3-4B", revision="0" * 40).kind == "pretrained"


def test_the_default_file_declares_the_chain_of_the_recipe():
    from tracemill.document import read_yaml

    document = read_yaml(ROOT / "params.yaml")
    stages = TrainingParams.model_validate_json(json.dumps(document["training"])).stages
    parents = {name: stage.parent for name, stage in stages.items()}
    assert parents == {
        "sft": "base",
        "rejection": "sft",
        "teacher_sft": "rejection",
        "kto": "teacher_sft",
        "dr_grpo": "teacher_sft",
    }
