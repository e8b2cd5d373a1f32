"""Ask one snapshot's trajectories the row gates, and decide who wrote their calls.

python scripts/filter_traces.py --snapshot sim-a
"""

from tracemill.corpus.filter import filter_snapshot
from tracemill.corpus.params import AxisParams, GateParams
from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    """Write the kept and the dropped rows, and their counts."""
    filter_snapshot(
        stage.input("trajectories"),
        stage.input("scores"),
        kept=stage.output("kept"),
        dropped=stage.output("dropped"),
        summary=stage.output("summary"),
        gates=stage.params("corpus.gates", GateParams),
        axis=stage.params("corpus.axis", AxisParams),
    )


if __name__ == "__main__":
    run(main)
