"""How a stage runs on the processes it was given: threads, world size, and batches that do not depend on either.

The global batch is a parameter; what one process does per step follows from it, so the same stage on one and on two
processes is the same artifact. `accelerate launch` can start fewer processes than its file says (MULTI_CPU without an
MPI host file runs one, silently): the world is counted here before anything is trained.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracemill.errors import StageError

logger = logging.getLogger(__name__)

ACCELERATE_CONFIG = "TRACEMILL_ACCELERATE_CONFIG"
"""Names the accelerate file under which a stage was launched, where there is one."""


def world_size(environment: Mapping[str, str] | None = None) -> int:
    """Processes that take part, as the launcher set them; 1 without a launcher."""
    found = (os.environ if environment is None else environment).get("WORLD_SIZE", "1")
    return int(found)


def rank() -> int:
    """This process's number among those that take part; 0 without a launcher."""
    return int(os.environ.get("RANK", "0"))


def check_world(environment: Mapping[str, str] | None = None) -> int:
    """The world size, which must be the one that the accelerate file asks for (StageError otherwise)."""
    given = os.environ if environment is None else environment
    found, config = world_size(given), given.get(ACCELERATE_CONFIG)
    if config:
        wanted = configured_processes(Path(config))
        if wanted != found:
            raise StageError(
                f"{config} asks for {wanted} processes, {found} run; on CPU use `distributed_type: MULTI_GPU` with "
                "`use_cpu: true` (MULTI_CPU needs an MPI host file and otherwise runs one process)"
            )
    logger.info("training on %d process(es)", found)
    return found


def configured_processes(config: Path) -> int:
    """`num_processes` of an accelerate file; 1 where it is not distributed."""
    from ruamel.yaml import YAML

    document = YAML(typ="safe").load(config.read_text(encoding="utf-8")) or {}
    if str(document.get("distributed_type", "NO")).upper() == "NO":
        return 1
    return int(document.get("num_processes", 1))


def split_batch(batch: int, device_batch: int, world: int) -> tuple[int, int]:
    """Rows per forward pass and accumulation steps, so that world x rows x steps = `batch` (else StageError)."""
    if batch % world:
        raise StageError(f"a batch of {batch} rows cannot be shared by {world} processes; choose a multiple of {world}")
    share = batch // world
    rows = max(size for size in range(1, min(device_batch, share) + 1) if share % size == 0)
    return rows, share // rows


def settle_precision(dtype: str) -> None:
    """Let a stage's `dtype` decide in what it computes, whatever the accelerate file says: where a stage runs must not
    change what it builds.
    """
    os.environ["ACCELERATE_MIXED_PRECISION"] = "bf16" if dtype == "bfloat16" else "no"


def train_in_float32(model: Any) -> None:
    """Hold what is trained in float32, whatever it is computed in: most steps of an optimiser are smaller than the step
    from one bfloat16 number to the next. Under FSDP accelerate does the same.
    """
    for weight in model.parameters():
        if weight.requires_grad:
            weight.data = weight.data.float()


def pin_threads(threads: int) -> None:
    """Use exactly `threads` threads in torch: another count gives other bytes."""
    import torch

    torch.set_num_threads(threads)
