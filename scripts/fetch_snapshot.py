"""Fetch the raw traces of one snapshot from its source, whole or not at all.

python scripts/fetch_snapshot.py --snapshot may-race
"""

from pathlib import Path

from tracemill.snapshots import SnapshotParams
from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    """Write the bytes of the source; the digest of an unpinned remote one goes to snapshots/NAME/source.json."""
    from tracemill.traces.sources.fetch import fetch_snapshot
    from tracemill.traces.sources.params import FetchParams

    name = stage.wildcards["snapshot"]
    fetch_snapshot(
        stage.params(f"snapshots.{name}", SnapshotParams),
        stage.output("traces"),
        work=stage.work / "fetch",
        pin=Path("snapshots") / name / "source.json",
        params=stage.params("traces.fetch", FetchParams),
    )


if __name__ == "__main__":
    run(main)
