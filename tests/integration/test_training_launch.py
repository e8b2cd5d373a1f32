"""The same stage on one and on two processes, launched as the build launches it (gloo on CPU)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.training.conftest import base, chat, products, tokenizer  # noqa: F401

from tracemill.environment.tools import TOOLS

pytestmark = [pytest.mark.torch, pytest.mark.slow]

SCRIPT = """
import sys
from pathlib import Path
from tracemill.training.params import OptimiserParams
from tracemill.training.sft import Run, train_sft

base, rows, out = map(Path, sys.argv[1:])
params = OptimiserParams(max_steps=3, batch=4, device_batch=4, save_steps=2, warmup_steps=1)
train_sft(Run("sft", "sft", base, rows, out / "model", out / "plot_curve.csv", out / "work"), params, threads=1)
"""
TWO = "distributed_type: {kind}\nuse_cpu: true\nnum_processes: 2\nnum_machines: 1\nmixed_precision: 'no'\n"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def launched(base, tokenizer, tmp_path):  # noqa: F811
    from tracemill.training.masks import mask_rows
    from tracemill.training.rows import write_rows

    rows, _ = mask_rows(tokenizer, [chat(f"r{i}", query=f"I need mug {i}.") for i in range(12)], TOOLS, 1024)
    write_rows(rows, tmp_path / "rows.parquet")
    (tmp_path / "stage.py").write_text(SCRIPT, encoding="utf-8")

    def launch(name, config=None):
        out = tmp_path / name
        out.mkdir()
        command = [sys.executable]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")}
        if config is not None:
            path = tmp_path / f"{name}.yaml"
            path.write_text(config, encoding="utf-8")
            command += ["-m", "accelerate.commands.launch", "--config_file", str(path)]
            environment["TRACEMILL_ACCELERATE_CONFIG"] = str(path)
        arguments = [str(tmp_path / "stage.py"), str(base), str(tmp_path / "rows.parquet"), str(out)]
        done = subprocess.run([*command, *arguments], env=environment, capture_output=True, text=True, timeout=500)
        return done, out

    return launch


def test_two_processes_train_the_same_global_batches_as_one(launched):
    from transformers import AutoModelForCausalLM

    models = []
    for name, config in (("one", None), ("two", TWO.format(kind="MULTI_GPU"))):
        done, out = launched(name, config)
        assert done.returncode == 0, done.stderr[-2000:]
        assert len((out / "plot_curve.csv").read_text(encoding="utf-8").splitlines()) == 4
        models.append(AutoModelForCausalLM.from_pretrained(out / "model", use_safetensors=True))
    largest = max(
        (a - b).abs().max().item() for a, b in zip(models[0].parameters(), models[1].parameters(), strict=True)
    )
    assert largest < 1e-3


def test_a_launch_that_starts_fewer_processes_than_asked_for_fails(launched):
    done, out = launched("cpu", TWO.format(kind="MULTI_CPU"))
    assert done.returncode != 0
    assert "asks for 2 processes, 1 run" in done.stderr
    assert not (out / "model").exists()
