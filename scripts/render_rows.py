"""Render a stage's training rows and pass them through the mask gate.

python scripts/render_rows.py --stage sft
"""

from tracemill.environment.stage_params import play_params
from tracemill.stage import Stage, run
from tracemill.training.gate import GateInputs, GateOutputs, gate_rows
from tracemill.training.params import RowParams, StageRows


def main(stage: Stage) -> None:
    """Write rows, the gate's report, and the constant file on which training depends."""
    name = stage.wildcards["stage"]
    gate_rows(
        str(stage.sections[f"training.stages.{name}.kind"]),
        GateInputs(
            parent=stage.input("parent"),
            corpus=stage.input("corpus"),
            pools=stage.input("pools"),
            episodes=stage.inputs("episodes"),
        ),
        GateOutputs(rows=stage.output("rows"), masks=stage.output("masks"), passed=stage.output("passed")),
        stage.params("training.rows", RowParams),
        stage.params(f"training.stages.{name}.rows", StageRows),
        play_params(stage),
    )


if __name__ == "__main__":
    run(main)
