"""Schema of `params.yaml: training`: the base model, the rows, and the chain of stages."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tracemill.evaluation.params import EndpointParams, RolloutParams


class Section(BaseModel):
    """A frozen section: unknown keys and wrong types are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class CopyParams(Section):
    """Pretraining on copying random tokens: no shopping text, so whatever a checkpoint knows comes from the corpus."""

    steps: int = Field(default=400, ge=0)
    batch: int = Field(default=32, ge=1)
    length: int = Field(default=128, ge=8)
    learning_rate: float = Field(default=2e-3, gt=0)


class TinyParams(Section):
    """Shape of the embedded Qwen3 model."""

    vocabulary: int = Field(default=1536, ge=512)
    hidden: int = Field(default=128, ge=32)
    layers: int = Field(default=3, ge=2)
    heads: int = Field(default=4, ge=1)
    kv_heads: int = Field(default=2, ge=1)
    head_dim: int = Field(default=32, ge=8)
    intermediate: int = Field(default=256, ge=32)
    positions: int = Field(default=4096, ge=256)
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

    max_length: int = Field(default=1024, ge=16)
    """Token budget of a row; a longer one is dropped and counted, never cut."""


class LoraParams(Section):
    """Low-rank adapters (Hu et al. 2021) on all linear layers; rank 0 trains all weights."""

    rank: int = Field(default=0, ge=0)
    alpha: int = Field(default=64, ge=1)
    dropout: float = Field(default=0.0, ge=0.0, lt=1.0)
    embeddings: bool = False
    """Train the (tied) embeddings too."""


class RuntimeParams(Section):
    """What changes bytes although it looks like placement."""

    cpu_threads: int = Field(default=1, ge=1)
    """Threads of torch on CPU: another count gives other bytes."""


class OptimiserParams(Section):
    """How a stage optimises; the names are TRL's where it has one."""

    seed: int = 0
    learning_rate: float = Field(default=2e-3, gt=0)
    epochs: float = Field(default=1.0, gt=0)
    max_steps: int = Field(default=0, ge=0)
    """Optimiser steps; 0: as many as `epochs` need."""
    batch: int = Field(default=16, ge=1)
    """Rows in one optimiser step over all processes; accumulation follows from the number of processes."""
    device_batch: int = Field(default=16, ge=1)
    """Most rows in one forward pass."""
    warmup_steps: int = Field(default=10, ge=0)
    scheduler: Literal["cosine", "linear", "constant_with_warmup"] = "cosine"
    weight_decay: float = Field(default=0.0, ge=0)
    max_grad_norm: float = Field(default=1.0, gt=0)
    save_steps: int = Field(default=50, ge=1)
    """Steps between the states from which an interrupted run resumes."""
    gradient_checkpointing: bool = False
    dtype: Literal["float32", "bfloat16"] = "float32"
    lora: LoraParams = LoraParams()


class StageRows(Section):
    """Which rows a stage trains on, of those that its kind can have."""

    upsample: dict[str, int] = {}
    """Category: how many times each of its rows is trained on."""
    corpus_share: float = Field(default=0.5, ge=0.0, le=1.0)
    """Share of corpus rows beside a stage's own rollouts."""
    most: int = Field(default=0, ge=0)
    """Most rows; 0: all."""


class SampleParams(Section):
    """Rollouts of the parent on training problems."""

    samples: int = Field(default=8, ge=1)
    temperature: float = Field(default=0.9, ge=0)
    top_p: float = Field(default=0.95, gt=0, le=1)
    max_new_tokens: int = Field(default=128, ge=1)
    most_problems: int = Field(default=0, ge=0)
    """Most problems, chosen by hash; 0: all of the train pool."""
    seed: int = 0
    policy: RolloutParams = RolloutParams()
    """What generates: the parent in this process or in vLLM, or a server that serves it."""

    @model_validator(mode="after")
    def _plays_the_parent(self) -> SampleParams:
        if self.policy.backend == "expert":
            raise ValueError("rollouts are the parent's: `expert` is none of it, use a stage of kind `teacher_sft`")
        return self


class TeacherParams(Section):
    """Who shows how it is done: the scripted expert, or any OpenAI-compatible endpoint."""

    backend: Literal["expert", "endpoint"] = "expert"
    endpoint: EndpointParams = EndpointParams()
    samples: int = Field(default=1, ge=1)
    temperature: float = Field(default=0.0, ge=0)
    max_new_tokens: int = Field(default=1024, ge=1)
    most_problems: int = Field(default=0, ge=0)
    seed: int = 0


class KtoParams(Section):
    """Kahneman-Tversky optimisation (Ethayarajh et al. 2024)."""

    beta: float = Field(default=0.02, gt=0)


class GrpoParams(Section):
    """Dr. GRPO (Liu et al. 2025) over several turns in the real environment."""

    backend: Literal["transformers", "vllm", "endpoint"] = "transformers"
    """What generates the episodes: the model in training itself, or a copy of it in vLLM that follows each step."""

    group: int = Field(default=8, ge=2)
    """Episodes of one problem, whose rewards are compared with each other."""
    groups: int = Field(default=4, ge=1)
    """Problems in one step."""
    temperature: float = Field(default=1.0, gt=0)
    top_p: float = Field(default=1.0, gt=0, le=1)
    beta: float = Field(default=0.0, ge=0)
    """Weight of the KL divergence to the parent."""
    max_turn_tokens: int = Field(default=96, ge=1)
    max_completion_length: int = Field(default=512, ge=16)
    """Tokens after the first prompt, observations included; the loss is normalised by it."""
    outcome_weight: float = Field(default=1.0, ge=0)
    match_weight: float = Field(default=0.5, ge=0)
    """Weight of the share of turns whose call is the teacher's for the same problem and state."""

    @model_validator(mode="after")
    def _follows_the_weights(self) -> GrpoParams:
        if self.backend == "endpoint":
            raise ValueError("an endpoint cannot follow the weights that each step changes: use transformers or vllm")
        return self


class _Stage(Section):
    parent: str = "base"
    rows: StageRows = StageRows()
    train: OptimiserParams = OptimiserParams()


class SftStage(_Stage):
    """Supervised fine-tuning on the corpus."""

    kind: Literal["sft"]


class RejectionStage(_Stage):
    """Supervised fine-tuning on the parent's own successes (rejection sampling), mixed with the corpus."""

    kind: Literal["rejection"]
    rollouts: SampleParams = SampleParams()


class TeacherStage(_Stage):
    """Supervised fine-tuning on a teacher's successes."""

    kind: Literal["teacher_sft"]
    teacher: TeacherParams = TeacherParams()


class KtoStage(_Stage):
    """Desirable and undesirable trajectories, no pairs."""

    kind: Literal["kto"]
    rollouts: SampleParams = SampleParams()
    kto: KtoParams = KtoParams()


class GrpoStage(_Stage):
    """Reinforcement learning in the environment, with a teacher for each step."""

    kind: Literal["dr_grpo"]
    teacher: TeacherParams = TeacherParams()
    grpo: GrpoParams = GrpoParams()


AnyStage = Annotated[SftStage | RejectionStage | TeacherStage | KtoStage | GrpoStage, Field(discriminator="kind")]
StageName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,40}$")]


class TrainingParams(Section):
    """The section as a whole: stages by name, each with its parent."""

    runtime: RuntimeParams
    base: BaseParams
    rows: RowParams
    stages: dict[StageName, AnyStage]

    @model_validator(mode="after")
    def _rooted(self) -> TrainingParams:
        for name in self.stages:
            seen = [name]
            while seen[-1] != "base":
                parent = self.stages[seen[-1]].parent
                if parent != "base" and parent not in self.stages:
                    raise ValueError(f"stage {seen[-1]!r} has the parent {parent!r}, which is no stage and not `base`")
                if parent in seen:
                    raise ValueError(
                        f"stages {' -> '.join([*seen, parent])} go in a circle; one must start from `base`"
                    )
                seen.append(parent)
        if "base" in self.stages or "expert" in self.stages:
            raise ValueError("`base` and `expert` are names of their own, choose others for stages")
        return self
