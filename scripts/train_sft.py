"""Fine-tune a stage's parent on the rows that its gate let through.

python scripts/train_sft.py --stage sft
"""

from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    """Write the checkpoint, merged into its parent, and the training curve."""
    from tracemill.training.params import OptimiserParams, RuntimeParams
    from tracemill.training.sft import Run, train_sft

    name = stage.wildcards["stage"]
    train_sft(
        Run(
            name=name,
            kind="sft",
            parent=stage.input("parent"),
            rows=stage.input("rows"),
            model=stage.output("model"),
            curve=stage.output("plot"),
            work=stage.work,
        ),
        stage.params(f"training.stages.{name}.train", OptimiserParams),
        stage.params("training.runtime", RuntimeParams).cpu_threads,
    )


if __name__ == "__main__":
    run(main)
