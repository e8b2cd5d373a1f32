"""Schema of the section `report` of params.yaml."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ReportParams(BaseModel):
    """What goes on the page."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    title: str
    max_trajectories: int = Field(ge=0)
    """Most trajectories in the page's browser; evaluation episodes first, then corpus rows."""
    max_message_characters: int = Field(ge=100)
    """Longer messages are cut on the page, and say so."""
    evidence_examples: int = Field(ge=0)
    """Leak edges of each kind that are shown with their evidence."""
