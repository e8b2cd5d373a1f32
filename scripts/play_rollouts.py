"""Let a stage's parent play training problems, several samples each.

python scripts/play_rollouts.py --stage rejection
"""

from tracemill.environment.params import ScorerParams
from tracemill.environment.stage_params import play_params
from tracemill.stage import Stage, run
from tracemill.training.episodes import EpisodeInputs, play_rollouts, write_episodes
from tracemill.training.params import SampleParams


def main(stage: Stage) -> None:
    """Write the episodes and their yield by category."""
    records = play_rollouts(
        EpisodeInputs(problems=stage.input("problems"), pools=stage.input("pools"), index=stage.input("index")),
        stage.input("parent"),
        stage.params(f"training.stages.{stage.wildcards['stage']}.rollouts", SampleParams),
        play_params(stage),
        stage.params("environment.scorer", ScorerParams),
        stage.work,
    )
    write_episodes(records, stage.output("episodes"), stage.output("summary"))


if __name__ == "__main__":
    run(main)
