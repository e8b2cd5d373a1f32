"""Checkpoints in bfloat16, whose numbers lie further apart than most updates reach."""

import pytest
from tests.unit.training.conftest import base, products, rows_file, tokenizer  # noqa: F401

from tracemill.training.params import LoraParams, OptimiserParams

pytestmark = pytest.mark.torch


def read(folder):
    from safetensors.torch import load_file

    return {name: weight.float() for name, weight in load_file(folder / "model.safetensors").items()}


def kept(found, whole, start):
    """The share of the update from `start` to `whole` that is in `found`: 1 where it was kept on the mean."""
    update = {name: whole[name] - start[name] for name in start}
    inside = sum(((found[name] - start[name]) * update[name]).sum() for name in start)
    return float(inside / sum((part**2).sum() for part in update.values()))


@pytest.fixture
def narrow(base, tokenizer, tmp_path):  # noqa: F811
    """The base as a bfloat16 checkpoint."""
    from tracemill.training.checkpoint import load_model, publish

    publish(load_model(base), tokenizer, tmp_path / "narrow", "bfloat16")
    return tmp_path / "narrow"


def test_an_adapter_smaller_than_a_step_of_bfloat16_is_kept_on_the_mean(narrow, tokenizer, tmp_path):  # noqa: F811
    import torch
    from peft import get_peft_model

    from tracemill.training.checkpoint import load_model, lora_config, publish

    def adapted():
        torch.manual_seed(0)
        model = get_peft_model(load_model(narrow, "bfloat16"), lora_config(LoraParams(rank=4, alpha=8)))
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.data = 2e-5 * torch.randn_like(weight)
        return model

    publish(adapted().float(), tokenizer, tmp_path / "whole")
    publish(adapted(), tokenizer, tmp_path / "merged", "bfloat16")
    publish(adapted(), tokenizer, tmp_path / "again", "bfloat16")
    start, whole, found = read(narrow), read(tmp_path / "whole"), read(tmp_path / "merged")
    nearest = {name: weight.bfloat16().float() for name, weight in whole.items()}
    assert kept(nearest, whole, start) < 0.5
    assert kept(found, whole, start) == pytest.approx(1.0, abs=0.2)
    assert torch.equal(found["model.embed_tokens.weight"], start["model.embed_tokens.weight"])
    merged, again = (tmp_path / name / "model.safetensors" for name in ("merged", "again"))
    assert merged.read_bytes() == again.read_bytes()


def test_training_all_weights_in_bfloat16_loses_no_small_step(narrow, tokenizer, tmp_path):  # noqa: F811
    from tracemill.training.sft import Run, train_sft

    rows = rows_file(tokenizer, tmp_path / "rows.parquet")
    found = {}
    for dtype in ("float32", "bfloat16"):
        params = OptimiserParams(max_steps=20, batch=4, device_batch=4, learning_rate=1e-6, warmup_steps=0, dtype=dtype)
        folder = tmp_path / dtype
        train_sft(
            Run("sft", "sft", narrow, rows, folder, tmp_path / f"{dtype}.csv", tmp_path / f"work-{dtype}"), params, 1
        )
        found[dtype] = read(folder)
    assert kept(found["bfloat16"], found["float32"], read(narrow)) == pytest.approx(1.0, abs=0.3)
