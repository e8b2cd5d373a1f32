"""Let one checkpoint (or the scripted expert) play the evaluation suites.

python scripts/play_suites.py --checkpoint sft
"""

from tracemill.environment.params import EpisodeParams, ObservationParams, PlayParams, PromptParams, ScorerParams
from tracemill.evaluation.evaluate import Inputs, Settings, play_checkpoint
from tracemill.evaluation.params import RolloutParams, SamplingParams, SuiteParams
from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    """Write the episodes, and what they are about."""
    name = stage.wildcards["checkpoint"]
    rollouts = stage.params("evaluation.rollouts", RolloutParams)
    play_checkpoint(
        name,
        Inputs(
            model=None if name == "expert" else stage.input("model"),
            problems=stage.input("problems"),
            protected=stage.inputs("protected"),
            pools=stage.input("pools"),
            index=stage.input("index"),
        ),
        stage.output("episodes"),
        stage.output("played"),
        stage.params("evaluation.suites", SuiteParams),
        Settings(
            rollouts=rollouts.model_copy(update={"backend": "expert"}) if name == "expert" else rollouts,
            sampling=stage.params("evaluation.sampling", SamplingParams),
            play=PlayParams(
                episode=stage.params("environment.episode", EpisodeParams),
                observation=stage.params("environment.observation", ObservationParams),
                prompt=stage.params("environment.prompt", PromptParams),
            ),
            scorer=stage.params("environment.scorer", ScorerParams),
        ),
        stage.work,
    )


if __name__ == "__main__":
    run(main)
