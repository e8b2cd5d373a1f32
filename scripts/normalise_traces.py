"""Bring one raw snapshot into the canonical form: trajectories, rejects, problems and counts.

python scripts/normalise_traces.py --snapshot sim-a
"""

from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    """Write the four outputs of the snapshot named by the wildcard."""
    from tracemill.traces.params import NormaliseParams
    from tracemill.traces.snapshot import normalise_snapshot

    normalise_snapshot(
        stage.input("raw"),
        trajectories=stage.output("trajectories"),
        rejects=stage.output("rejects"),
        problems=stage.output("problems"),
        summary=stage.output("summary"),
        params=stage.params("traces.normalise", NormaliseParams),
        name=stage.wildcards["snapshot"],
    )


if __name__ == "__main__":
    run(main)
