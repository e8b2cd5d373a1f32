"""Checkpoints as artifacts: whole, in safetensors, loadable by `AutoModelForCausalLM.from_pretrained` alone.

A stage with LoRA is merged into its parent before it is published, so that a checkpoint is base + every stage so far
and never an adapter that needs its parents. The folder carries its tokenizer, the stock chat template and a model card.
"""

from __future__ import annotations

import csv
import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tracemill.errors import InputError
from tracemill.training.params import LoraParams

logger = logging.getLogger(__name__)


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer of a checkpoint folder."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)


def load_model(folder: Path, dtype: str = "float32") -> Any:
    """The model of a checkpoint folder; InputError where there is none. No remote code, safetensors only."""
    import torch
    from transformers import AutoModelForCausalLM

    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: no config.json, expected a whole checkpoint; build the parent stage first")
    return AutoModelForCausalLM.from_pretrained(
        str(folder),
        dtype=getattr(torch, dtype),
        local_files_only=True,
        trust_remote_code=False,
        use_safetensors=True,
    )


def lora_config(params: LoraParams) -> Any:
    """The adapter that a stage trains; None where it trains all weights."""
    if params.rank == 0:
        return None
    from peft import LoraConfig

    tied = {"modules_to_save": ["embed_tokens"], "ensure_weight_tying": True} if params.embeddings else {}
    return LoraConfig(
        r=params.rank,
        lora_alpha=params.alpha,
        lora_dropout=params.dropout,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
        **tied,
    )


def publish(model: Any, tokenizer: Any, out: Path, dtype: str = "float32") -> None:
    """Merge what is still an adapter and write the whole checkpoint to `out`, its weights in `dtype`."""
    if dtype != "float32":
        model = model.cpu().float()
    if hasattr(model, "merge_and_unload"):
        model = model.merge_and_unload()
    if dtype != "float32":
        round_evenly(model)
    model.save_pretrained(str(out), max_shard_size="4GB")
    tokenizer.save_pretrained(str(out))


def round_evenly(model: Any, seed: int = 0) -> None:
    """Round float32 weights to bfloat16, up or down by a draw that keeps their mean (stochastic rounding).

    The parent's weights are bfloat16 numbers, and most updates of a stage are smaller than half of the step to the next
    one: rounding to the nearest would give the parent back. Weights that are bfloat16 numbers stay as they are.
    """
    import torch

    generator = torch.Generator().manual_seed(seed)
    for weight in model.parameters():
        bits = weight.data.contiguous().view(torch.int32)
        draws = torch.randint(0, 1 << 16, bits.shape, generator=generator, dtype=torch.int32)
        weight.data = (bits + draws).bitwise_and(-(1 << 16)).view(torch.float32).bfloat16()


def file_digest(path: Path) -> str:
    """SHA-256 (hex) of a file."""
    with path.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def folder_digest(folder: Path) -> str:
    """SHA-256 (hex) over names and bytes of the files of a checkpoint, README aside."""
    total = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "README.md"):
        total.update(f"{path.relative_to(folder)}\0".encode())
        total.update(file_digest(path).encode())
    return total.hexdigest()


def write_curve(history: Sequence[dict[str, Any]], out: Path, columns: Sequence[str] = ("loss",)) -> None:
    """The training curve: one line a logged step, `step` first; a value that was not logged stays empty."""
    with out.open("w", encoding="utf-8", newline="") as sink:
        writer = csv.writer(sink, lineterminator="\n")
        writer.writerow(["step", *columns])
        for entry in history:
            if any(column in entry for column in columns):
                writer.writerow([entry["step"], *(_number(entry.get(column)) for column in columns)])


def _number(value: Any) -> str:
    return "" if value is None else f"{float(value):.6g}"
