"""Supervised fine-tuning on rows that the mask gate let through, with TRL's SFTTrainer.

Rows come tokenised, with labels; nothing is rendered, masked or cut again here. Batches hold rows of like length
(grouping), and the run resumes from its last whole state with the same bytes as an undisturbed run (CPU, one process).
"""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from tracemill.environment.problem import digest
from tracemill.errors import InputError
from tracemill.training import launch, resume
from tracemill.training.checkpoint import (
    file_digest,
    folder_digest,
    load_model,
    load_tokenizer,
    lora_config,
    publish,
    write_curve,
)
from tracemill.training.lineage import read_lineage, stage_record, write_lineage
from tracemill.training.params import OptimiserParams
from tracemill.training.sharding import is_sharded, precise

logger = logging.getLogger(__name__)

WINDOW = 16
"""Batches whose rows are sorted by length together."""

CURVE = ("loss", "learning_rate", "mean_token_accuracy", "entropy")


class Run(msgspec.Struct, frozen=True):
    """Where a training stage reads and writes."""

    name: str
    kind: str
    parent: Path
    rows: Path
    model: Path
    curve: Path
    work: Path


def start(params: OptimiserParams, threads: int) -> int:
    """Pin threads, precision and seeds, and return the number of processes, which is checked."""
    from transformers import set_seed

    launch.pin_threads(threads)
    launch.settle_precision(params.dtype)
    set_seed(params.seed)
    return launch.check_world()


def finish(
    trainer: Any,
    tokenizer: Any,
    run: Run,
    params: OptimiserParams,
    settings: dict[str, Any],
    threads: int,
    columns: tuple[str, ...],
) -> None:
    """Train from the last whole state of this configuration, if any; then write the curve and the checkpoint.

    `settings` are all parameters of the stage, as its record and the name of its configuration hold them.
    """
    parts = {"kind": run.kind, "params": settings, "threads": threads, "sharded": is_sharded()}
    record = stage_record(run.name, run.kind, settings, folder_digest(run.parent), file_digest(run.rows))
    configuration = digest([parts, record])
    states = run.work / "states"
    main = trainer.is_world_process_zero()
    if main:
        resume.remove_incomplete(states, configuration)
    trainer.accelerator.wait_for_everyone()
    state = resume.last_complete(states, configuration)
    if state is not None:
        logger.info("resuming from %s", state.name)
    launch.train_in_float32(trainer.model)
    trainer.add_callback(resume.marker_callback(configuration))
    with suppress(resume.Finished):
        trainer.train(resume_from_checkpoint=str(state) if state else None)
    model = whole_model(trainer, run.parent, params)
    if main:
        write_curve(trainer.state.log_history, run.curve, columns)
        publish(model, tokenizer, run.model, params.dtype)
        write_lineage(run.model, [*read_lineage(run.parent), record])


def whole_model(trainer: Any, parent: Path, params: OptimiserParams) -> Any:
    """The trained model with all of its weights; under FSDP, where no process holds them, put together on the first.

    Every process must call this. Processes other than the first get None under FSDP.
    """
    if not trainer.is_fsdp_enabled:
        return trainer.accelerator.unwrap_model(trainer.model)
    weights = trainer.accelerator.get_state_dict(trainer.model)
    if not trainer.is_world_process_zero():
        return None
    model, adapter = load_model(parent), lora_config(params.lora)
    if adapter is not None:
        from peft import get_peft_model

        model = get_peft_model(model, adapter)
    model.load_state_dict(weights)
    return model


def trainer_arguments(params: OptimiserParams, work: Path, world: int) -> dict[str, Any]:
    """Options that all of TRL's trainers share."""
    import torch

    rows, accumulation = launch.split_batch(params.batch, params.device_batch, world)
    cuda = torch.cuda.is_available()
    return {
        "output_dir": str(work / "states"),
        "learning_rate": params.learning_rate,
        "num_train_epochs": params.epochs,
        "max_steps": params.max_steps or -1,
        "per_device_train_batch_size": rows,
        "gradient_accumulation_steps": accumulation,
        "warmup_steps": params.warmup_steps,
        "lr_scheduler_type": params.scheduler,
        "weight_decay": params.weight_decay,
        "max_grad_norm": params.max_grad_norm,
        "save_strategy": "steps",
        "save_steps": params.save_steps,
        "save_total_limit": 2,
        "logging_steps": 1,
        "gradient_checkpointing": params.gradient_checkpointing,
        "bf16": params.dtype == "bfloat16",
        "use_cpu": not cuda,
        "seed": params.seed,
        "data_seed": params.seed,
        "report_to": [],
        "disable_tqdm": True,
        "dataloader_pin_memory": cuda,
    }


def train_sft(run: Run, params: OptimiserParams, threads: int) -> None:
    """Train the parent on rows (parquet with `input_ids` and `labels`) and publish a whole checkpoint."""
    from datasets import Dataset

    world = start(params, threads)
    dataset = Dataset.from_parquet(str(run.rows), cache_dir=str(run.work / "arrow"), columns=["input_ids", "labels"])
    if len(dataset) == 0:
        raise InputError(f"{run.rows}: no rows, expected at least one; look at the mask gate's report")
    lengths = [len(ids) for ids in dataset["input_ids"]]
    dataset = dataset.select(batch_order(lengths, params.batch, step_count(len(dataset), params), params.seed))
    model, tokenizer = load_model(run.parent, params.dtype), load_tokenizer(run.parent)
    trainer = make_trainer(model, tokenizer, dataset, trainer_arguments(params, run.work, world), params)
    finish(trainer, tokenizer, run, params, params.model_dump(mode="json"), threads, CURVE)


def step_count(rows: int, params: OptimiserParams) -> int:
    """Optimiser steps of a run over so many rows."""
    return params.max_steps or max(1, math.ceil(rows * params.epochs / params.batch))


def batch_order(lengths: Sequence[int], batch: int, steps: int, seed: int) -> list[int]:
    """Positions of rows for `steps` batches, epoch by epoch: rows of like length share a batch, batches come shuffled.

    transformers' own grouping goes from the longest row of 50 batches to the shortest, so that a run ends on short rows
    alone and forgets what only long ones teach.
    """
    rng = random.Random(seed)
    window = WINDOW * batch
    order: list[int] = []
    while len(order) < steps * batch:
        epoch = list(range(len(lengths)))
        rng.shuffle(epoch)
        parts = [epoch[at : at + window] for at in range(0, len(epoch), window)]
        ranked = [position for part in parts for position in sorted(part, key=lambda i: (lengths[i], i))]
        batches = [ranked[at : at + batch] for at in range(0, len(ranked), batch)]
        short = batches.pop() if len(batches[-1]) < batch else []
        rng.shuffle(batches)
        order += [position for rows in batches for position in rows] + short
    return order[: steps * batch]


def make_trainer(model: Any, tokenizer: Any, dataset: Any, arguments: dict[str, Any], params: OptimiserParams) -> Any:
    """TRL's trainer over pre-tokenised rows: no packing, no cutting, no second preparation."""
    from trl import SFTConfig, SFTTrainer

    config = SFTConfig(
        **{**arguments, "num_train_epochs": 1.0, "max_steps": len(dataset) // params.batch},
        max_length=None,
        packing=False,
        train_sampling_strategy="sequential",
        dataset_kwargs={"skip_prepare_dataset": True},
        dataloader_num_workers=0,
    )
    return precise(SFTTrainer)(
        model=model,
        args=config,
        train_dataset=dataset,
        processing_class=tokenizer,
        peft_config=lora_config(params.lora),
    )
