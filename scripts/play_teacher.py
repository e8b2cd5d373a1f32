"""Let a teacher play training problems: the scripted expert, or an endpoint.

python scripts/play_teacher.py --stage teacher_sft
"""

from tracemill.environment.params import ScorerParams
from tracemill.environment.stage_params import play_params
from tracemill.stage import Stage, run
from tracemill.training.episodes import EpisodeInputs, play_teacher, write_episodes
from tracemill.training.params import TeacherParams


def main(stage: Stage) -> None:
    """Write the episodes and their yield by category."""
    records = play_teacher(
        EpisodeInputs(problems=stage.input("problems"), pools=stage.input("pools"), index=stage.input("index")),
        stage.params(f"training.stages.{stage.wildcards['stage']}.teacher", TeacherParams),
        play_params(stage),
        stage.params("environment.scorer", ScorerParams),
        stage.work,
    )
    write_episodes(records, stage.output("episodes"), stage.output("summary"))


if __name__ == "__main__":
    run(main)
