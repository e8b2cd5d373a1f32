"""Train a stage's parent on desirable and undesirable trajectories (KTO).

python scripts/train_kto.py --stage kto
"""

from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    """Write the checkpoint and the training curve."""
    from tracemill.training.kto import train_kto
    from tracemill.training.params import KtoParams, OptimiserParams, RuntimeParams
    from tracemill.training.sft import Run

    name = stage.wildcards["stage"]
    train_kto(
        Run(
            name=name,
            kind="kto",
            parent=stage.input("parent"),
            rows=stage.input("rows"),
            model=stage.output("model"),
            curve=stage.output("plot"),
            work=stage.work,
        ),
        stage.params(f"training.stages.{name}.train", OptimiserParams),
        stage.params(f"training.stages.{name}.kto", KtoParams),
        stage.params("training.runtime", RuntimeParams).cpu_threads,
    )


if __name__ == "__main__":
    run(main)
