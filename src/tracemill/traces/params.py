"""Schema of the section `traces` of params.yaml."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class FetchParams(_Section):
    """How remote snapshots are fetched; none of it changes their bytes, all of it bounds what a server can do to us."""

    max_gigabytes: float = Field(gt=0.0)
    """Largest snapshot accepted."""
    timeout_seconds: float = Field(gt=0.0)
    """Longest silence of a server before the attempt counts as interrupted."""
    attempts: int = Field(ge=1)
    """Attempts in a row that may bring no new byte before the fetch is given up."""


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
