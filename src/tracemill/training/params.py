"""Schema of `params.yaml: training`: the base model, the rows, and the chain of stages."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Section(BaseModel):
    """A frozen section: unknown keys and wrong types are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class CopyParams(Section):
    """Pretraining on copying random tokens: no shopping text, so whatever a checkpoint knows comes from the corpus."""

    steps: int = Field(400, ge=0)
    batch: int = Field(32, ge=1)
    length: int = Field(128, ge=8)
    learning_rate: float = Field(2e-3, gt=0)


class TinyParams(Section):
    """Shape of the embedded Qwen3 model."""

    vocabulary: int = Field(1536, ge=512)
    hidden: int = Field(128, ge=32)
    layers: int = Field(3, ge=2)
    heads: int = Field(4, ge=1)
    kv_heads: int = Field(2, ge=1)
    head_dim: int = Field(32, ge=8)
    intermediate: int = Field(256, ge=32)
    positions: int = Field(4096, ge=256)
    offsets: list[int] = [1, 0, 2, 3]
    """Tokens back that each head of layer 0 looks at when training begins."""
    pretraining: CopyParams = CopyParams()


class BaseParams(Section):
    """`tiny` builds a model here; `pretrained` fetches one from the Hugging Face hub at a pinned revision."""

    kind: Literal["tiny", "pretrained"] = "tiny"
    seed: int = 0
    tiny: TinyParams = TinyParams()
    model: str = ""
    revision: str = ""

    @model_validator(mode="after")
    def _pinned(self) -> BaseParams:
        if self.kind == "pretrained" and not (self.model and len(self.revision) == 40):
            raise ValueError("kind `pretrained` needs `model` and a `revision` of 40 hex digits")
        return self


class RowParams(Section):
    """What becomes of every row before it is trained on."""

    max_length: int = Field(1024, ge=16)
    """Token budget of a row; a longer one is dropped and counted, never cut."""


class LoraParams(Section):
    """Low-rank adapters (Hu et al. 2021) on all linear layers; rank 0 trains all weights."""

    rank: int = Field(0, ge=0)
    alpha: int = Field(64, ge=1)
    dropout: float = Field(0.0, ge=0.0, lt=1.0)
    embeddings: bool = False
    """Train the (tied) embeddings too."""


class OptimiserParams(Section):
    """How a stage optimises; the names are TRL's where it has one."""

    learning_rate: float = Field(2e-3, gt=0)
    epochs: float = Field(1.0, gt=0)
    max_steps: int = Field(0, ge=0)
    """Optimiser steps; 0: as many as `epochs` need."""
    batch: int = Field(16, ge=1)
    """Rows in one optimiser step over all processes; accumulation follows from the number of processes."""
    device_batch: int = Field(16, ge=1)
    """Most rows in one forward pass."""
    warmup_steps: int = Field(10, ge=0)
    scheduler: Literal["cosine", "linear", "constant_with_warmup"] = "cosine"
    weight_decay: float = Field(0.0, ge=0)
    max_grad_norm: float = Field(1.0, gt=0)
    save_steps: int = Field(50, ge=1)
    """Steps between the states from which an interrupted run resumes."""
    gradient_checkpointing: bool = False
    dtype: Literal["float32", "bfloat16"] = "float32"
    lora: LoraParams = LoraParams()
