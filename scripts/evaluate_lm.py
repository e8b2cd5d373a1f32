"""Run the lm-eval tasks of params.yaml on one checkpoint.

python scripts/evaluate_lm.py --checkpoint sft
"""

from tracemill.evaluation.evaluate import stage_settings
from tracemill.evaluation.lm_eval_run import LmInputs, run_lm_eval
from tracemill.evaluation.params import LmEvalParams
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
        stage_settings(stage),
        stage.params("evaluation.lm_eval", LmEvalParams),
        results=stage.output("results"),
        metrics=stage.output("metrics"),
    )


if __name__ == "__main__":
    run(main)
