"""Schema of `params.yaml: training`: the base model, the rows, and the chain of stages."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Section(BaseModel):
    """A frozen section: unknown keys and wrong types are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class CopyParams(Section):
    """Pretraining on copying random tokens: it holds no shopping text, so whatever a checkpoint knows comes from the corpus."""

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
