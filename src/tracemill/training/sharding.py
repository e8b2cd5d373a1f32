"""Training whose weights are shared out among processes (FSDP2): what the libraries leave to their caller."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


def is_sharded(environment: Mapping[str, str] | None = None) -> bool:
    """Whether the launcher asked for FSDP."""
    given = os.environ if environment is None else environment
    return given.get("ACCELERATE_USE_FSDP", "false").lower() == "true"


def precise(trainer: type) -> type:
    """The trainer class, with FSDP2 computing in bfloat16 but adding up gradients and log-probabilities in float32.

    accelerate would take bfloat16 for all of it: the log-probability of a row of hundreds of tokens is then off by
    whole nats, and KTO's loss is made of differences of such sums.
    """

    class Precise(trainer):  # type: ignore[misc]
        """Settles the precision before anything is sharded."""

        def create_accelerator_and_postprocess(self) -> None:
            super().create_accelerator_and_postprocess()
            plugin = getattr(self.accelerator.state, "fsdp_plugin", None)
            if plugin is not None and plugin.fsdp_version == 2 and plugin.mixed_precision_policy is not None:
                import torch
                from torch.distributed.fsdp import MixedPrecisionPolicy

                plugin.mixed_precision_policy = MixedPrecisionPolicy(
                    param_dtype=plugin.mixed_precision_policy.param_dtype,
                    reduce_dtype=torch.float32,
                    output_dtype=torch.float32,
                )

    return Precise


@contextmanager
def whole_weights(model: Any) -> Iterator[None]:
    """Keep the weights of a sharded model whole on every process; nothing changes for another model.

    Each process plays episodes of its own lengths: a forward pass that gathers its weights would wait for passes of
    other processes that never come. All processes must enter and leave.
    """
    from torch.distributed.fsdp import FSDPModule

    parts = [part for part in model.modules() if isinstance(part, FSDPModule)]
    for part in parts:
        part.set_reshard_after_forward(False, recurse=False)
        part.unshard()
    try:
        yield
    finally:
        for part in parts:
            part.reshard()
            part.set_reshard_after_forward(part is not model, recurse=False)
