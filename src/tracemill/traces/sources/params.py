"""Schema of the section `traces.fetch` of params.yaml."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class FetchParams(BaseModel):
    """How remote snapshots are fetched; none of it changes their bytes, all of it bounds what a server can do to us."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    max_gigabytes: float = Field(gt=0.0)
    """Largest snapshot accepted."""
    timeout_seconds: float = Field(gt=0.0)
    """Longest silence of a server before the attempt counts as interrupted."""
    attempts: int = Field(ge=1)
    """Attempts in a row that may bring no new byte before the fetch is given up."""
