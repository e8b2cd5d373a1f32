"""Schema of the section `corpus` of params.yaml."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class GateParams(_Section):
    """Row gates, in the order in which they are asked."""

    min_reasoning_coefficient: float = Field(ge=0.0, le=1.0)
    """Rows whose judge gave less are dropped; SN15's coefficient is 0.3 at the worst and 1.0 from q = 0.8
    on."""
    unjudged: Literal["keep", "drop"]
    """What becomes of a row that no judge has seen; it is a state of its own, never a zero."""
    token_budget: int = Field(gt=0)
    """Longest row in tokens; the mask gate counts exactly, this gate estimates."""
    bytes_per_token: float = Field(gt=0.0)
    """UTF-8 bytes of message text that make one token, for the estimate."""


class AxisParams(_Section):
    """Who wrote the calls: the model (A) or code around it (B)."""

    min_completion_tokens: int = Field(ge=1)
    """Fewest completion tokens of a proxy call that counts as the model emitting a turn."""
    min_supported_share: float = Field(ge=0.0, le=1.0)
    """Share of acting turns that need such a call before them."""
    max_think_template_share: float = Field(ge=0.0, le=1.0)
    """Without a proxy log: largest share of thoughts that repeat one template before a row counts as B."""
    admit_unknown: bool
    """Whether rows whose axis cannot be decided may become SFT rows."""


class DedupParams(_Section):
    """Exact and near duplicates among rows of one problem."""

    near_similarity: float = Field(gt=0.0, le=1.0)
    """Rows with the same actions are duplicates when their thoughts' normalised Indel similarity is at least this."""


class RankingParams(_Section):
    """Structural ranking and the cap per problem."""

    cap_per_problem: int = Field(ge=1)
    """Most SFT rows of one leak-guard problem."""
    cap_undesirable_per_problem: int = Field(ge=0)
    """Most unsuccessful rows of one problem that keep their messages for preference training."""


class CorpusParams(_Section):
    """The section as a whole."""

    gates: GateParams
    axis: AxisParams
    dedup: DedupParams
    ranking: RankingParams
