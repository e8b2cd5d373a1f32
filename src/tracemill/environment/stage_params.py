"""What an agent sees in a stage, from the sections that the stage's rule declares."""

from __future__ import annotations

from tracemill.environment.params import EpisodeParams, ObservationParams, PlayParams, PromptParams
from tracemill.stage import Stage


def play_params(stage: Stage) -> PlayParams:
    """The sections `environment.episode`, `.observation` and `.prompt`; StageError where one is not declared."""
    return PlayParams(
        episode=stage.params("environment.episode", EpisodeParams),
        observation=stage.params("environment.observation", ObservationParams),
        prompt=stage.params("environment.prompt", PromptParams),
    )
