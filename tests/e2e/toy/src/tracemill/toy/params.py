"""Schema of the toy's section."""

from pydantic import BaseModel, ConfigDict


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class CleanParams(_Section):
    minimum: int
    note: str


class MergeParams(_Section):
    header: str


class TrainingParams(_Section):
    learning_rate: float
    steps: int


class EvaluationParams(_Section):
    samples: int


class ToyParams(_Section):
    clean: CleanParams
    merge: MergeParams
    training: TrainingParams
    evaluation: EvaluationParams
