"""KTO on trajectories that succeeded and trajectories that did not, with TRL's KTOTrainer.

Rows come from the mask gate. TRL would count a tool's observations as part of the completion; here the labels of the
gate decide, in the loss and in the KL term alike. The KL term pairs each completion with its neighbour's prompt, so the
order is part of the data: seeded, and no two neighbours share a problem. Nothing is cut: the gate kept the budget.
"""

from __future__ import annotations

import hashlib
import logging
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tracemill.errors import StageError
from tracemill.training import launch
from tracemill.training.checkpoint import load_model, load_tokenizer, lora_config
from tracemill.training.masks import IGNORED
from tracemill.training.params import KtoParams, OptimiserParams
from tracemill.training.sft import Run, finish, start, trainer_arguments
from tracemill.training.sharding import is_sharded, precise

logger = logging.getLogger(__name__)

CURVE = ("loss", "learning_rate", "kl", "rewards/chosen", "rewards/rejected", "rewards/margins")


def arrange(problems: Sequence[str], batch: int, seed: int) -> list[int]:
    """An order of rows (by position) in which no batch holds two rows of one problem; rows that do not fit stay out.

    In a batch, row i is paired with row i - 1 and the first with the last. Rows are dealt problem by problem in seeded
    order, one of each problem a round.
    """
    dealt: dict[str, list[int]] = defaultdict(list)
    for position, problem in enumerate(problems):
        dealt[problem].append(position)
    order = sorted(dealt, key=lambda problem: hashlib.sha256(f"{seed}/{problem}".encode()).digest())
    rounds = max((len(rows) for rows in dealt.values()), default=0)
    queue = [dealt[p][turn] for turn in range(rounds) for p in order if turn < len(dealt[p])]
    batches: list[list[int]] = [[]]
    for position in queue:
        home = next((b for b in batches if len(b) < batch and all(problems[i] != problems[position] for i in b)), None)
        if home is None:
            home = []
            batches.append(home)
        home.append(position)
    full = [b for b in batches if len(b) == batch]
    return [position for chosen in full for position in chosen]


def weights(desirable: int, undesirable: int) -> tuple[float, float]:
    """Loss weights under which both kinds weigh the same in sum; the more frequent kind has weight 1."""
    if not desirable or not undesirable:
        raise StageError(
            f"kto: {desirable} desirable and {undesirable} undesirable rows, expected both; sample more rollouts"
        )
    if desirable >= undesirable:
        return 1.0, desirable / undesirable
    return undesirable / desirable, 1.0


def split_row(ids: Sequence[int], labels: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """Prompt ids, completion ids, and the completion's mask: 1 where the assistant wrote."""
    first = next(i for i, label in enumerate(labels) if label != IGNORED)
    return list(ids[:first]), list(ids[first:]), [int(label != IGNORED) for label in labels[first:]]


def kto_dataset(rows: Path, batch: int, seed: int, cache: Path) -> Any:
    """The arranged rows with the columns that the trainer reads, mismatched completions for the KL term included.

    `cache` is a folder that all processes share: the trainer keeps the reference's log-probabilities beside its data.
    """
    from datasets import Dataset

    columns = ["problem_id", "input_ids", "labels", "desirable"]
    table = Dataset.from_parquet(str(rows), cache_dir=str(cache), columns=columns)
    order = arrange(table["problem_id"], batch, seed)
    logger.info("%d of %d rows fill batches of %d", len(order), len(table), batch)
    if not order:
        raise StageError(f"{rows}: no batch of {batch} rows of different problems; lower training.stages.*.train.batch")
    return table.select(order).map(
        paired,
        batched=True,
        batch_size=batch,
        remove_columns=columns,
        load_from_cache_file=False,
        cache_file_name=str(cache / f"pairs-{launch.rank()}.arrow"),  # no process replaces what another reads
    )


def paired(batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Columns of one batch; each row's completion for the KL term is the one before it, the first row's the last."""
    rows = [split_row(ids, labels) for ids, labels in zip(batch["input_ids"], batch["labels"], strict=True)]
    prompts, completions, marks = (list(column) for column in zip(*rows, strict=True))
    return {
        "prompt_ids": prompts,
        "completion_ids": completions,
        "completion_marks": marks,
        "label": batch["desirable"],
        "KL_completion_ids": [completions[-1], *completions[:-1]],
        "KL_completion_marks": [marks[-1], *marks[:-1]],
    }


def train_kto(run: Run, params: OptimiserParams, kto: KtoParams, threads: int) -> None:
    """Train the parent on desirable and undesirable rows and publish a whole checkpoint."""
    from trl import KTOConfig

    world = start(params, threads)
    arguments = trainer_arguments(params, run.work, world)
    batch = arguments["per_device_train_batch_size"]
    if batch < 2:
        raise StageError("kto: one row a forward pass, expected 2 or more; the KL term pairs the rows of a batch")
    dataset = kto_dataset(run.rows, batch, params.seed, run.work / "arrow")
    wanted = sum(dataset["label"])
    desirable, undesirable = weights(wanted, len(dataset) - wanted)
    config = KTOConfig(
        **arguments,
        beta=kto.beta,
        desirable_weight=desirable,
        undesirable_weight=undesirable,
        # Under FSDP the policy is on no device before training begins: TRL could not run it ahead as its own reference.
        precompute_ref_log_probs=not is_sharded(),
        max_length=None,
        train_sampling_strategy="sequential",
        remove_unused_columns=False,
    )
    model, tokenizer = load_model(run.parent, params.dtype), load_tokenizer(run.parent)
    trainer = masked_trainer(model, tokenizer, dataset, config, params)
    settings = {"train": params.model_dump(mode="json"), "kto": kto.model_dump(mode="json")}
    finish(trainer, tokenizer, run, params, settings, threads, CURVE)


def masked_trainer(model: Any, tokenizer: Any, dataset: Any, config: Any, params: OptimiserParams) -> Any:
    """TRL's KTOTrainer over prepared rows, with the gate's labels as completion mask."""
    from trl import KTOTrainer
    from trl.trainer.kto_trainer import DataCollatorForUnpairedPreference

    class MaskedCollator(DataCollatorForUnpairedPreference):  # type: ignore[misc]
        """Replaces the mask of whole completions by the assistant's own tokens."""

        def torch_call(self, examples: list[dict[str, Any]]) -> dict[str, Any]:
            output = super().torch_call(examples)
            for prefix in ("", "KL_"):
                mask = output[f"{prefix}completion_mask"]
                for row, example in enumerate(examples):
                    marks = mask.new_tensor(example[f"{prefix}completion_marks"])
                    start_at = len(example["prompt_ids"])
                    mask[row, start_at : start_at + len(marks)] = marks
            return dict(output)

    class MaskedKTOTrainer(precise(KTOTrainer)):  # type: ignore[misc]
        """Takes the rows as they are."""

        def _prepare_dataset(self, dataset: Any, *_: Any, **__: Any) -> Any:
            return dataset

    return MaskedKTOTrainer(
        model=model,
        args=config,
        train_dataset=dataset,
        processing_class=tokenizer,
        data_collator=MaskedCollator(pad_token_id=tokenizer.pad_token_id, max_length=None),
        peft_config=lora_config(params.lora),
    )
