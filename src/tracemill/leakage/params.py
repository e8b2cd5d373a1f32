"""Schema of the section `leakage` of params.yaml."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class SimilarityParams(_Section):
    """When two requests count as the same in other words; part of the split's version."""

    numerator: int = Field(default=3, ge=1)
    """Token Dice is compared with numerator / denominator in integers: a real pair sits exactly at 0.600."""
    denominator: int = Field(default=5, ge=1)
    all_pairs: int = Field(default=32, ge=2)
    """Groups of problems with one text or one product are linked pairwise up to this many, above it through one
    member; a text that is like more others than this keeps only the links that hold its cluster together."""

    @model_validator(mode="after")
    def _ratio(self) -> SimilarityParams:
        if self.numerator > self.denominator:
            raise ValueError(
                f"numerator {self.numerator} above denominator {self.denominator}: nothing is that similar"
            )
        return self


class ProtectedParams(_Section):
    """Benchmarks that must stay out of training with everything that resembles them."""

    files: tuple[str, ...] = ()
    """Problem files (JSONL with `query`, and `reward` where known), relative to the project."""


class PoolParams(_Section):
    """Which clusters are held out. Raising a threshold later only holds out more; lowering one, or another seed, is a
    new split."""

    seed: int = Field(default=23, ge=0)
    never_touch: float = Field(default=0.05, ge=0.0, le=1.0)
    """Clusters whose smallest hash is below this go to `never_touch`."""
    eval: float = Field(default=0.15, ge=0.0, le=1.0)
    """Clusters whose smallest hash is below this, and not below the other, go to `eval`."""
    wanted_never_touch: float = Field(default=0.05, ge=0.0, le=1.0)
    """Share of rows that the thresholds were calibrated to; shares.json says what calibration would give now."""
    wanted_eval: float = Field(default=0.10, ge=0.0, le=1.0)
    ledger: Literal["check", "hold"] = "check"
    """`check`: the audit fails when a problem of the ledger, or one that links to it, would enter train, or leave
    never_touch for eval. `hold`: such clusters stay where the ledger has them."""

    @model_validator(mode="after")
    def _ordered(self) -> PoolParams:
        if self.eval < self.never_touch:
            raise ValueError(
                f"eval {self.eval} is below never_touch {self.never_touch}; it is the upper end of both pools"
            )
        return self


class AuditParams(_Section):
    """When the audit fails beyond a leak."""

    largest_share: float = Field(default=0.25, gt=0.0, le=1.0)
    """Largest share of the corpus rows that one cluster may hold."""
    evidence: int = Field(default=20, ge=1)
    """Most lines of evidence per finding."""


class LeakageParams(_Section):
    """The section as a whole."""

    similarity: SimilarityParams
    protected: ProtectedParams
    pools: PoolParams
    audit: AuditParams
