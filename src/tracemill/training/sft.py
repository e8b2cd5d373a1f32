"""Supervised fine-tuning on rows that the mask gate let through, with TRL's SFTTrainer.

Rows come tokenised, with labels; nothing is rendered, masked or cut again here. Batches hold rows of like length
(grouping), and the run resumes from its last whole state with the same bytes as an undisturbed run (CPU, one process).
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

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
from tracemill.training.params import OptimiserParams

logger = logging.getLogger(__name__)

CURVE = ("loss", "learning_rate", "mean_token_accuracy", "entropy")


def trainer_arguments(params: OptimiserParams, seed: int, work: Path, world: int) -> dict[str, Any]:
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
        "seed": seed,
        "data_seed": seed,
        "report_to": [],
        "disable_tqdm": True,
        "dataloader_pin_memory": cuda,
    }


def train_sft(
    parent: Path, rows: Path, out: Path, curve: Path, params: OptimiserParams, *, seed: int, threads: int, work: Path
) -> None:
    """Train `parent` on `rows` (parquet with `input_ids` and `labels`) and publish a whole checkpoint to `out`."""
    from datasets import Dataset
    from transformers import set_seed

    launch.pin_threads(threads)
    world = launch.check_world()
    dataset = Dataset.from_parquet(str(rows), cache_dir=str(work / "arrow"), columns=["input_ids", "labels"])
    if len(dataset) == 0:
        raise InputError(f"{rows}: no rows, expected at least one; look at the mask gate's report")
    set_seed(seed)
    model, tokenizer = load_model(parent, params.dtype), load_tokenizer(parent)
    configuration = resume.configuration_digest(
        params.model_dump(), seed, threads, folder_digest(parent), file_digest(rows)
    )
    trainer = make_trainer(model, tokenizer, dataset, trainer_arguments(params, seed, work, world), params)
    trainer.add_callback(resume.marker_callback(configuration))
    state = resume.last_complete(work / "states", configuration)
    if state is not None:
        logger.info("resuming from %s", state.name)
    trainer.train(resume_from_checkpoint=str(state) if state else None)
    if trainer.is_world_process_zero():
        write_curve(trainer.state.log_history, curve, CURVE)
        publish(trainer.accelerator.unwrap_model(trainer.model), tokenizer, out)


def make_trainer(model: Any, tokenizer: Any, dataset: Any, arguments: dict[str, Any], params: OptimiserParams) -> Any:
    """TRL's trainer over pre-tokenised rows: no packing, no cutting, no second preparation."""
    from trl import SFTConfig, SFTTrainer

    config = SFTConfig(
        **arguments,
        max_length=None,
        packing=False,
        train_sampling_strategy="group_by_length",
        dataset_kwargs={"skip_prepare_dataset": True},
        dataloader_num_workers=0,
    )
    return SFTTrainer(
        model=model,
        args=config,
        train_dataset=dataset,
        processing_class=tokenizer,
        peft_config=lora_config(params.lora),
    )
