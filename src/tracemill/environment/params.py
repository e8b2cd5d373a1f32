"""Schema of the section `environment` of params.yaml."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class CatalogParams(_Section):
    """Where the products come from."""

    source: str = "arena"
    """`arena`: the built-in arena makes them; else the path of a catalogue file (JSONL, gzip, zstd; SN15's schema)."""


class ProblemsParams(_Section):
    """Where the problems come from."""

    source: str = "arena"
    """`arena`: the built-in arena makes them; else the path of a problem file (JSONL: ShoppingBench, SN15's suite)."""


class IndexParams(_Section):
    """The search index; other values than SN15's give other rankings."""

    k1: float = Field(default=0.9, ge=0.0)
    """BM25: how soon a repeated word stops adding (SN15: 0.9)."""
    b: float = Field(default=0.4, ge=0.0, le=1.0)
    """BM25: how much long documents are held back (SN15: 0.4)."""


class EpisodeParams(_Section):
    """Limits of one episode."""

    max_steps: int = Field(default=12, ge=1)
    """Most assistant turns; the next one is not asked for (outcome `step_limit`). SN15's template agent stops at 25."""
    max_calls: int = Field(default=8, ge=1)
    """Most tool calls in one turn; a turn with more is malformed and none of them runs."""
    observation_budget: int = Field(default=24_000, ge=1)
    """Characters of observation over the whole episode; once spent, calls still run but show a one-line notice."""


class ObservationParams(_Section):
    """How a tool's result is shown to a model: in training rows, rollouts, evaluation and RL alike."""

    format: Literal["compact", "json"] = "compact"
    """`compact`: one line a product; `json`: the result as the search server sends it."""
    results: int = Field(default=5, ge=1)
    """Most products shown of one result."""
    limit: int = Field(default=2_000, ge=40)
    """Most characters of one observation; whole results are left out to keep it."""
    title: int = Field(default=80, ge=8)
    """Most characters of a product title in the compact format."""


class PromptParams(_Section):
    """The system prompt."""

    style: Literal["short", "full"] = "short"
    """`short`: one sentence, for small models; `full`: the rules spelled out."""


class ScorerParams(_Section):
    """The production scorer."""

    title_model: str | None = None
    """Folder of a sentence-transformers model for title similarity; null leaves titles out, as production does without
    one."""
    title_threshold: float = Field(default=0.7, ge=-1.0, le=1.0)
    """Least cosine similarity of two titles that counts as a match (SN15: 0.7)."""


class PlayParams(_Section):
    """All that decides what an agent sees: the sections episode, observation and prompt together."""

    episode: EpisodeParams = EpisodeParams()
    observation: ObservationParams = ObservationParams()
    prompt: PromptParams = PromptParams()


class EnvironmentParams(_Section):
    """The section as a whole."""

    catalog: CatalogParams = CatalogParams()
    problems: ProblemsParams = ProblemsParams()
    index: IndexParams = IndexParams()
    episode: EpisodeParams
    observation: ObservationParams
    prompt: PromptParams
    scorer: ScorerParams
