"""A Qwen3-shaped model of about 0.6B random weights through a few SFT and Dr. GRPO steps on one GPU.

    python benchmarks/gpu_smoke.py                      # needs a CUDA device
    python benchmarks/gpu_smoke.py --shape tiny --cpu   # the same code in seconds, to see that it runs

Prints tokens/s, MFU (6 x parameters x tokens/s over `--peak`, dense bf16 TFLOP/s), seconds a step of Dr. GRPO, and peak
memory. A step is what more steps add to a run: loading and publishing are not counted. Rows, problems and teacher are
the built-in arena's; weights are random, so rewards say nothing.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SHAPES: dict[str, dict[str, Any]] = {
    "0.6b": {
        "vocab_size": 151_936,
        "hidden_size": 1024,
        "intermediate_size": 3072,
        "num_hidden_layers": 28,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "head_dim": 128,
    },
    "tiny": {
        "vocab_size": 1536,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 32,
    },
}


def make_scene(folder: Path) -> Any:
    """Write an index and a teacher's episodes to `folder`; return the tokenizer."""
    from tracemill.arena.catalog import generate_catalog
    from tracemill.arena.params import CatalogParams, ProblemParams
    from tracemill.arena.problems import generate_problems
    from tracemill.environment.index import build_index, open_index
    from tracemill.environment.params import PlayParams
    from tracemill.evaluation.backends import expert_policy
    from tracemill.evaluation.collect import Arena, collect, make_jobs
    from tracemill.evaluation.policies import Sampling
    from tracemill.evaluation.records import write_records
    from tracemill.training.texts import added_tokens, tokenizer_texts
    from tracemill.training.tokenizer import train_tokenizer

    products = generate_catalog(CatalogParams(products=600, shops=60))
    build_index(products, folder / "index")
    problems = generate_problems(products, ProblemParams(problems=60))
    arena = Arena(open_index(folder / "index"), PlayParams())
    write_records(collect(expert_policy(), make_jobs(problems, 1, Sampling()), arena), folder / "teacher.jsonl.zst")
    return train_tokenizer(tokenizer_texts(products, 0), added_tokens(), 1536)


def make_base(shape: str, tokenizer: Any, out: Path) -> int:
    """Write a checkpoint of random weights; return the number of parameters."""
    from transformers import Qwen3Config, Qwen3ForCausalLM, set_seed

    from tracemill.training.checkpoint import publish

    set_seed(0)
    config = Qwen3Config(
        **SHAPES[shape],
        max_position_embeddings=16_384,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = Qwen3ForCausalLM(config)
    publish(model, tokenizer, out)
    return sum(p.numel() for p in model.parameters())


def make_rows(tokenizer: Any, teacher: Path, length: int, out: Path) -> int:
    """Write training rows of about `length` tokens each, several episodes joined; return the tokens of one epoch."""
    from tracemill.environment.params import PlayParams
    from tracemill.environment.tools import TOOLS
    from tracemill.evaluation.records import read_records
    from tracemill.training.masks import Row, mask_rows
    from tracemill.training.rows import chat_of, write_rows

    chats = [
        chat_of(r.key, "teacher", r.key, r.problem.category, r.messages, PlayParams(), True)
        for r in read_records(teacher)
    ]
    rows, _ = mask_rows(tokenizer, chats, TOOLS, 16_384)
    joined: list[Row] = []
    ids: list[int] = []
    labels: list[int] = []
    for row in rows * max(1, 8 * length // max(sum(len(r.input_ids) for r in rows), 1) + 1):
        ids, labels = ids + row.input_ids, labels + row.labels
        if len(ids) >= length:
            joined.append(
                Row(
                    name=str(len(joined)),
                    source="teacher",
                    problem_id=str(len(joined)),
                    category="product",
                    input_ids=ids[:length],
                    labels=labels[:length],
                )
            )
            ids, labels = [], []
    write_rows(joined, out)
    return len(joined)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=sorted(SHAPES), default="0.6b")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--length", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--peak", type=float, default=989.0, help="dense bf16 TFLOP/s of the device (H100, H200: 989)")
    given = parser.parse_args()
    import torch

    if not given.cpu and not torch.cuda.is_available():
        print("gpu_smoke: no CUDA device; run it on a machine with one, or with --shape tiny --cpu", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(Path(folder), given, torch.cuda.is_available() and not given.cpu), indent=1))
    return 0


def measure(folder: Path, given: Any, cuda: bool) -> dict[str, Any]:

    from tracemill.environment.params import PlayParams, ScorerParams
    from tracemill.training.grpo import GrpoInputs, train_grpo
    from tracemill.training.params import GrpoParams, OptimiserParams
    from tracemill.training.sft import Run, train_sft

    tokenizer = make_scene(folder)
    parameters = make_base(given.shape, tokenizer, folder / "base")
    length = given.length if cuda else min(given.length, 256)
    make_rows(tokenizer, folder / "teacher.jsonl.zst", length, folder / "rows.parquet")
    params = OptimiserParams(
        batch=8,
        device_batch=4,
        save_steps=10**6,
        learning_rate=1e-5,
        gradient_checkpointing=cuda,
        dtype="bfloat16" if cuda else "float32",
    )

    def run(kind: str) -> Run:
        out = Path(tempfile.mkdtemp(dir=folder))
        return Run(kind, kind, folder / "base", folder / "rows.parquet", out / "model", out / "curve.csv", out / "work")

    def sft(steps: int) -> None:
        train_sft(run("sft"), params.model_copy(update={"max_steps": steps}), threads=1)

    def dr_grpo(steps: int) -> None:
        train_grpo(
            run("dr_grpo"),
            GrpoInputs(teacher=folder / "teacher.jsonl.zst", index=folder / "index"),
            params.model_copy(update={"max_steps": steps}),
            GrpoParams(group=4, groups=2, max_turn_tokens=32, max_completion_length=128),
            (PlayParams(), ScorerParams()),
            threads=1,
        )

    seconds, whole = seconds_per_step(sft, given.steps)
    speed = params.batch * length / seconds
    grpo_seconds, grpo_whole = seconds_per_step(dr_grpo, 2)
    return {
        "parameters": parameters,
        "sft_tokens_per_second": speed,
        "sft_mfu": 6 * parameters * speed / (given.peak * 1e12),
        "sft_seconds_with_start_up": whole,
        "dr_grpo_seconds_per_step": grpo_seconds,
        "dr_grpo_seconds_with_start_up": grpo_whole,
        "peak_memory_gib": peak_memory(cuda),
    }


def seconds_per_step(train: Callable[[int], None], steps: int) -> tuple[float, float]:
    """Seconds of a step, and of a whole run: what `steps` more steps take, once all is warm."""
    train(1)
    started = time.monotonic()
    train(1)
    one = time.monotonic() - started
    started = time.monotonic()
    train(1 + steps)
    whole = time.monotonic() - started
    return max(whole - one, 1e-9) / steps, whole


def peak_memory(cuda: bool) -> float:
    """GiB that torch allocated on the device; on CPU what the process held."""
    import torch

    if cuda:
        return torch.cuda.max_memory_allocated() / 2**30
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    sys.exit(main())
