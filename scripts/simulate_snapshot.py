"""Let the arena's miners play the problems and write their envelopes as a snapshot.

python scripts/simulate_snapshot.py --snapshot sim-a
"""

from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    """SN15 envelopes, one a line, zstd."""
    from tracemill.arena.params import MinerParams
    from tracemill.arena.snapshot_file import write_snapshot
    from tracemill.snapshots import SnapshotParams

    name = stage.wildcards["snapshot"]
    write_snapshot(
        name,
        stage.params(f"snapshots.{name}", SnapshotParams),
        stage.input("problems"),
        stage.input("index"),
        stage.params("arena.miners", MinerParams),
        stage.output("traces"),
    )


if __name__ == "__main__":
    run(main)
