"""`make gpu-smoke` runs end to end where there is no GPU, in the smallest shape."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[2]


def test_the_smoke_run_trains_both_ways_and_prints_its_figures():
    command = [sys.executable, "benchmarks/gpu_smoke.py", "--shape", "tiny", "--cpu", "--steps", "2"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    figures = json.loads(done.stdout[done.stdout.rindex("\n{\n") :])
    positive = ("sft_tokens_per_second", "sft_mfu", "dr_grpo_seconds_per_step", "peak_memory_gib")
    assert all(figures[name] > 0 for name in positive)
    assert figures["parameters"] == 172_480
