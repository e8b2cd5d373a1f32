import json

import pytest

from tracemill.errors import InputError
from tracemill.training.lineage import export_model, read_lineage, stage_record, write_lineage

SUCCESS = {"value": 0.5, "n": 4, "low": 0.15, "high": 0.85}
NOTHING = {"value": None, "n": 0, "low": 0.0, "high": 1.0}


@pytest.fixture
def data(tmp_path):
    model = tmp_path / "data" / "models" / "sft"
    model.mkdir(parents=True)
    (model / "config.json").write_text("{}", encoding="utf-8")
    base = stage_record("base", "tiny", {"seed": 0}, None, None)
    write_lineage(model, [base, stage_record("sft", "sft", {"learning_rate": 0.003}, "ab" * 32, "cd" * 32)])
    folder = tmp_path / "data" / "evaluation" / "sft"
    folder.mkdir(parents=True)
    by_category = {"shop": {"success": SUCCESS}, "voucher": {"success": NOTHING}}
    facts = {"whole": 9, "limited": True, "contaminated": False}
    touched = {"whole": 4, "limited": False, "contaminated": True, "success": SUCCESS}
    suites = {"suites": {"eval": {**facts, "success": SUCCESS, "by_category": by_category}, "protected_full": touched}}
    (folder / "summary.json").write_text(json.dumps(suites), encoding="utf-8")
    return tmp_path / "data"


def test_an_exported_model_carries_lineage_parameters_and_scores(data, tmp_path):
    export_model(data, "sft", tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "base -> sft" in card
    assert "| sft | sft | abababababababab | cdcdcdcdcdcdcdcd |" in card
    assert "| eval | all | 4 | 50.0% | 15.0 to 85.0% | limited: of 9 problems |" in card
    assert "| eval | shop | 4 | 50.0% | 15.0 to 85.0% | limited: of 9 problems |" in card
    assert "| protected_full | all | 4 | 50.0% | 15.0 to 85.0% | contaminated: training clusters touch it |" in card
    assert "base_model" not in card
    assert "| eval | voucher" not in card
    assert '"learning_rate": 0.003' in card
    assert [record["stage"] for record in read_lineage(tmp_path / "out")] == ["base", "sft"]


def test_a_model_from_the_hub_is_named_as_the_base_and_its_licence_goes_along(data, tmp_path):
    base = data / "models" / "base"
    base.mkdir()
    (base / "LICENSE").write_text("Apache License", encoding="utf-8")
    record = stage_record("base", "pretrained", {"model": "Qwen/Qwen3-4B", "revision": "1" * 40}, None, None)
    write_lineage(data / "models" / "sft", [record, stage_record("sft", "sft", {}, "ab" * 32, "cd" * 32)])
    export_model(data, "sft", tmp_path / "out")
    head = (tmp_path / "out" / "README.md").read_text(encoding="utf-8").split("---")[1]
    assert "base_model: Qwen/Qwen3-4B\nbase_model_relation: finetune\n" in head
    assert (tmp_path / "out" / "LICENSE").read_text(encoding="utf-8") == "Apache License"


def test_an_export_never_overwrites_and_needs_a_built_checkpoint(data, tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match="exists already"):
        export_model(data, "sft", tmp_path / "out")
    with pytest.raises(InputError, match="build it first"):
        export_model(data, "kto", tmp_path / "other")
