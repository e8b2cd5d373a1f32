"""Link the problems of all snapshots, the environment and the protected benchmarks into leak clusters, with evidence.

python scripts/cluster_leaks.py
"""

from tracemill.leakage.clusters import cluster_leaks
from tracemill.leakage.params import ProtectedParams, SimilarityParams
from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    """Write the graph's nodes and edges and a report on the clusters."""
    stage.params("leakage.protected", ProtectedParams)
    cluster_leaks(
        stage.inputs("problems"),
        stage.inputs("environment"),
        stage.inputs("protected"),
        nodes_path=stage.output("nodes"),
        edges_path=stage.output("edges"),
        report_path=stage.output("clusters"),
        params=stage.params("leakage.similarity", SimilarityParams),
    )


if __name__ == "__main__":
    run(main)
