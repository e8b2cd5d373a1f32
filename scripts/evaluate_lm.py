"""Run the lm-eval tasks of params.yaml on one checkpoint.

python scripts/evaluate_lm.py --checkpoint sft
"""

from tracemill.environment.params import EpisodeParams, ObservationParams, PlayParams, PromptParams, ScorerParams
from tracemill.evaluation.evaluate import Settings
from tracemill.evaluation.lm_eval_run import LmInputs, run_lm_eval
from tracemill.evaluation.params import LmEvalParams, RolloutParams, SamplingParams
from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    """Write the results of every task with its version, counts and digests."""
    run_lm_eval(
        stage.wildcards["checkpoint"],
        LmInputs(
            model=stage.input("model"),
            episodes=stage.input("episodes"),
            problems=stage.input("problems"),
            pools=stage.input("pools"),
            index=stage.input("index"),
        ),
        Settings(
            rollouts=stage.params("evaluation.rollouts", RolloutParams),
            sampling=stage.params("evaluation.sampling", SamplingParams),
            play=PlayParams(
                episode=stage.params("environment.episode", EpisodeParams),
                observation=stage.params("environment.observation", ObservationParams),
                prompt=stage.params("environment.prompt", PromptParams),
            ),
            scorer=stage.params("environment.scorer", ScorerParams),
        ),
        stage.params("evaluation.lm_eval", LmEvalParams),
        results=stage.output("results"),
        metrics=stage.output("metrics"),
    )


if __name__ == "__main__":
    run(main)
