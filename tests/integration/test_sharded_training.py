"""Training shared out among two processes as on several GPUs: torch's own FSDP2 and DDP, over gloo on CPU."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.training.conftest import base, products, rows_file, scene, tokenizer  # noqa: F401

pytestmark = [pytest.mark.torch, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[2]

STAGES = """
import os
import shutil
import sys
from pathlib import Path

import torch
from accelerate.state import AcceleratorState, DistributedType, PartialState

from tracemill.environment.params import PlayParams, ScorerParams
from tracemill.training import grpo, sharding
from tracemill.training.kto import train_kto
from tracemill.training.params import GrpoParams, KtoParams, LoraParams, OptimiserParams
from tracemill.training.sft import Run, train_sft

base, rows, scene, out = map(Path, sys.argv[1:])
rank = int(os.environ["RANK"])
if sharding.is_sharded():  # accelerate shards on GPUs alone, and asks only these two whether there are any
    torch.distributed.init_process_group("gloo")
    PartialState._prepare_backend = lambda *_, **__: ("gloo", DistributedType.MULTI_GPU)
    PartialState.set_device = lambda self: setattr(self, "device", torch.device("cpu"))
grpo._outcome = lambda episode, scene: float(len(str(episode.messages)) % 7)  # a random model solves nothing
grpo.hallucinated_ids = lambda messages: ["1234"] * (4 * rank)


def stage(name, kind, **changes):
    params = OptimiserParams(max_steps=3, batch=4, device_batch=2, save_steps=2, warmup_steps=1, **changes)
    run = Run(name, kind, base, rows, out / name, out / f"{name}.csv", out / f"{name}-work")
    if kind == "sft":
        train_sft(run, params, threads=1)
    elif kind == "kto":
        train_kto(run, params, KtoParams(), threads=1)
    else:  # episodes of other lengths on the other process
        length = GrpoParams(group=2, groups=2, max_turn_tokens=8 + 6 * rank, max_completion_length=64, beta=0.01)
        inputs = grpo.GrpoInputs(teacher=scene / "teacher.jsonl.zst", index=scene / "index")
        grpo.train_grpo(run, inputs, params, length, (PlayParams(), ScorerParams()), threads=1)
    assert (AcceleratorState().distributed_type == DistributedType.FSDP) == sharding.is_sharded()


lora = LoraParams(rank=4, alpha=8)
for kind in ("sft", "kto", "dr_grpo"):
    stage(kind, kind)
    stage(f"{kind}-lora", kind, lora=lora)
stage("kto-bf16", "kto", lora=lora, dtype="bfloat16", gradient_checkpointing=True)
torch.distributed.barrier()
if rank == 0:
    (out / "sft-lora").rename(out / "sft-lora-whole")
    shutil.rmtree(out / "sft-lora-work" / "states" / "checkpoint-3")
torch.distributed.barrier()
stage("sft-lora", "sft", lora=lora)
"""


def launch(config, base, rows, scene, out):  # noqa: F811
    out.mkdir(exist_ok=True)
    script = out / "stages.py"
    script.write_text(STAGES, encoding="utf-8")
    (out / "accelerate.yaml").write_text(config, encoding="utf-8")
    command = [sys.executable, "-m", "accelerate.commands.launch", "--main_process_port", "0"]
    command += ["--config_file", str(out / "accelerate.yaml"), str(script), *map(str, (base, rows, scene, out))]
    variables = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")}
    variables["TRACEMILL_ACCELERATE_CONFIG"] = str(out / "accelerate.yaml")
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-4000:]
    return out


def largest_difference(a, b):
    from safetensors.torch import load_file

    first, second = load_file(a / "model.safetensors"), load_file(b / "model.safetensors")
    assert first.keys() == second.keys()
    return max((first[name].float() - second[name].float()).abs().max().item() for name in first)


@pytest.fixture(scope="module")
def trained(base, tokenizer, scene, tmp_path_factory):  # noqa: F811
    """What two processes make of each kind of stage: with the shipped FSDP file, and each with all of the weights."""
    folder = tmp_path_factory.mktemp("sharded")
    rows = rows_file(tokenizer, folder / "rows.parquet")
    sharded = (ROOT / "profiles/accelerate/fsdp.yaml").read_text(encoding="utf-8")
    whole = "distributed_type: MULTI_GPU\nuse_cpu: true\nnum_processes: 2\nnum_machines: 1\nmixed_precision: 'no'\n"
    fsdp = launch(sharded.replace("num_processes: 8", "num_processes: 2"), base, rows, scene, folder / "fsdp")
    shutil.copytree(fsdp / "sft-work", folder / "ddp" / "sft-work")  # begun sharded, begun again unsharded
    return fsdp, launch(whole, base, rows, scene, folder / "ddp")


@pytest.mark.parametrize("kind", ["sft", "kto", "dr_grpo"])
@pytest.mark.parametrize("adapter", ["", "-lora"])
def test_sharded_weights_train_to_the_same_checkpoint(trained, base, kind, adapter):  # noqa: F811
    fsdp, ddp = (folder / f"{kind}{adapter}" for folder in trained)
    assert {path.name for path in fsdp.iterdir()} == {path.name for path in ddp.iterdir()}
    assert largest_difference(fsdp, ddp) < 1e-5 < largest_difference(fsdp, base)


def test_the_curve_of_dr_grpo_tells_of_the_episodes_of_all_processes(trained):
    for folder in trained:
        header, *lines = [line.split(",") for line in (folder / "dr_grpo.csv").read_text(encoding="utf-8").splitlines()]
        assert [dict(zip(header, line, strict=True))["hallucinated_ids"] for line in lines] == ["2"] * 3


def test_log_probabilities_of_sharded_weights_in_bfloat16_are_added_in_float32(trained):
    rows = [(folder / "kto-bf16.csv").read_text(encoding="utf-8").splitlines()[-1].split(",") for folder in trained]
    loss = [float(row[1]) for row in rows]
    assert loss[0] == pytest.approx(loss[1], abs=1e-4)


def test_a_killed_run_of_sharded_weights_resumes_to_the_same_bytes(trained):
    for folder in trained:
        states = folder / "sft-lora-work" / "states"
        assert (states / "checkpoint-3" / "tracemill.json").is_file()
        assert largest_difference(folder / "sft-lora", folder / "sft-lora-whole") == 0.0
