"""Say how the snapshots differ, so that a change of the arena or of the judge is seen.

python scripts/measure_drift.py
"""

from tracemill.corpus.drift import Snapshot, measure_drift
from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    """Write one record for each snapshot, and a plot."""
    files = (stage.inputs(name) for name in ("traces", "problems", "kept", "dropped"))
    snapshots = [Snapshot(paths[0].parent.name, *paths) for paths in zip(*files, strict=True)]
    measure_drift(
        snapshots,
        stage.input("nodes"),
        stage.input("edges"),
        drift=stage.output("drift"),
        plot=stage.output("plot"),
    )


if __name__ == "__main__":
    run(main)
