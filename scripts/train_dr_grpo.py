"""Train a stage's parent in the environment (Dr. GRPO with a teacher for each step).

python scripts/train_dr_grpo.py --stage dr_grpo
"""

from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    """Write the checkpoint and the training curve with its reward parts."""
    from tracemill.environment.params import ScorerParams
    from tracemill.environment.stage_params import play_params
    from tracemill.training.grpo import GrpoInputs, train_grpo
    from tracemill.training.params import GrpoParams, OptimiserParams, RuntimeParams
    from tracemill.training.sft import Run

    name = stage.wildcards["stage"]
    train_grpo(
        Run(
            name=name,
            kind="dr_grpo",
            parent=stage.input("parent"),
            rows=stage.input("rows"),
            model=stage.output("model"),
            curve=stage.output("plot"),
            work=stage.work,
        ),
        GrpoInputs(teacher=stage.input("teacher"), index=stage.input("index")),
        stage.params(f"training.stages.{name}.train", OptimiserParams),
        stage.params(f"training.stages.{name}.grpo", GrpoParams),
        (play_params(stage), stage.params("environment.scorer", ScorerParams)),
        stage.params("training.runtime", RuntimeParams).cpu_threads,
    )


if __name__ == "__main__":
    run(main)
