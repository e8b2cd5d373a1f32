"""Write a snapshot's lines.

python scripts/write_raw.py --snapshot sim-a
"""

from tracemill.snapshots import SnapshotParams
from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    params = stage.params(f"snapshots.{stage.wildcards['snapshot']}", SnapshotParams)
    lines = [f"{'x' * position}{params.seed}" for position in range(params.episodes or 0)]
    stage.output("raw").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    run(main)
