import json

import pytest
from tests.unit.training.conftest import chat

from tracemill.environment.tools import TOOLS
from tracemill.training.params import LoraParams, OptimiserParams

pytestmark = pytest.mark.torch

TRAIN = OptimiserParams(max_steps=4, batch=4, device_batch=4, save_steps=2, learning_rate=1e-2, warmup_steps=1)


@pytest.fixture(scope="module")
def rows(tmp_path_factory, tokenizer):
    from tracemill.training.masks import mask_rows
    from tracemill.training.rows import write_rows

    chats = [chat(f"r{i}", query=f"I need mug {i}.", result=f"{i}{i}{i} | mug " * (i % 3 + 1)) for i in range(12)]
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    write_rows(mask_rows(tokenizer, chats, TOOLS, 1024)[0], path)
    return path


def run(base, rows, folder, params=TRAIN):
    from tracemill.training.sft import Run, train_sft

    model, curve = folder / "model", folder / "plot_curve.csv"
    train_sft(Run("sft", "sft", base, rows, model, curve, folder / "work"), params, threads=1)
    return model


def weights(model):
    return (model / "model.safetensors").read_bytes()


@pytest.fixture(scope="module")
def undisturbed(base, rows, tmp_path_factory):
    return run(base, rows, tmp_path_factory.mktemp("first"))


def test_the_same_inputs_and_seed_give_the_same_bytes(undisturbed, base, rows, tmp_path):
    assert weights(run(base, rows, tmp_path)) == weights(undisturbed)


def test_the_launchers_file_does_not_decide_in_what_a_stage_computes(undisturbed, base, rows, tmp_path, monkeypatch):
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "bf16")  # as `accelerate launch` sets it from its file
    assert weights(run(base, rows, tmp_path)) == weights(undisturbed)


def test_a_killed_run_resumes_from_its_last_whole_state_to_the_same_bytes(undisturbed, base, rows, tmp_path):
    import shutil

    run(base, rows, tmp_path)
    states = tmp_path / "work" / "states"
    assert sorted(path.name for path in states.glob("checkpoint-*")) == ["checkpoint-2", "checkpoint-4"]
    (states / "checkpoint-4" / "tracemill.json").unlink()  # killed between the model and the state's last file
    (states / "checkpoint-4" / "optimizer.pt").unlink()
    shutil.rmtree(tmp_path / "model")
    assert weights(run(base, rows, tmp_path)) == weights(undisturbed)


def test_the_curve_has_a_line_a_step(undisturbed):
    lines = (undisturbed.parent / "plot_curve.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].split(",")[:2] == ["step", "loss"]
    assert [line.split(",")[0] for line in lines[1:]] == ["1", "2", "3", "4"]


def test_a_checkpoint_is_whole_and_says_where_it_comes_from(undisturbed):
    names = {path.name for path in undisturbed.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "chat_template.jinja", "README.md"} <= names
    assert not [name for name in names if name.endswith((".bin", ".pt", ".py"))]
    lineage = json.loads((undisturbed / "lineage.json").read_text(encoding="utf-8"))
    assert [record["stage"] for record in lineage] == ["base", "sft"]
    assert "base -> sft" in (undisturbed / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("embeddings", [False, True])
def test_a_lora_stage_is_published_as_base_plus_every_stage(base, rows, tmp_path, embeddings):
    import torch
    from transformers import AutoModelForCausalLM

    params = TRAIN.model_copy(update={"max_steps": 2, "lora": LoraParams(rank=4, alpha=8, embeddings=embeddings)})
    first = run(base, rows, tmp_path / "one", params)
    second = run(first, rows, tmp_path / "two", params)
    ids = torch.arange(40).unsqueeze(0)
    logits = []
    for folder in (base, first, second):
        model = AutoModelForCausalLM.from_pretrained(folder, use_safetensors=True).eval()
        with torch.no_grad():
            logits.append(model(ids).logits)
        assert not (folder / "adapter_config.json").exists()
    assert not torch.allclose(logits[0], logits[1])
    assert not torch.allclose(logits[1], logits[2])
    # the second stage moved little from the first: what the first learned is still there
    assert (logits[2] - logits[1]).abs().mean() < (logits[2] - logits[0]).abs().mean() * 2


def test_the_tokenizer_of_a_checkpoint_reads_as_it_was_trained(undisturbed, tokenizer):
    from tracemill.training.checkpoint import load_tokenizer

    loaded = load_tokenizer(undisturbed)
    text = "<|im_start|>user\nI need 123456 at 1250.<|im_end|>\n"
    assert loaded(text)["input_ids"] == tokenizer(text)["input_ids"]
    assert loaded.chat_template == tokenizer.chat_template
