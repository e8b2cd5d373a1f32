"""Schema of the section `traces` of params.yaml."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from tracemill.traces.sources.params import FetchParams


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class NormaliseParams(_Section):
    """Limits within which a snapshot is read."""

    max_line_megabytes: float = Field(gt=0.0)
    """Longest line; a longer one fails the snapshot."""
    max_inflation: float = Field(gt=1.0)
    """Largest ratio of decompressed to compressed bytes."""
    max_broken_share: float = Field(ge=0.0, le=1.0)
    """Share of lines that may be damaged (not: of no use) before the snapshot as a whole is refused."""


class TracesParams(_Section):
    """All of `traces`."""

    fetch: FetchParams
    normalise: NormaliseParams
