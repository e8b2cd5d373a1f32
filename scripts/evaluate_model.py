"""Say what the episodes of one checkpoint show.

python scripts/evaluate_model.py --checkpoint sft
"""

from tracemill.evaluation.measure import Outputs, measure_checkpoint
from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    """Write the few numbers of `dvc metrics show`, the summary with n and intervals, and pass@k."""
    outputs = Outputs(stage.output("metrics"), stage.output("summary"), stage.output("plot"))
    measure_checkpoint(stage.input("episodes"), stage.input("played"), outputs)


if __name__ == "__main__":
    run(main)
