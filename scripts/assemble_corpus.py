"""Put all snapshots' kept rows together: duplicates out, ranked, capped per problem, with their messages.

python scripts/assemble_corpus.py
"""

from tracemill.corpus.assemble import assemble_corpus
from tracemill.corpus.params import AxisParams, DedupParams, RankingParams
from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    """Write the corpus, the table of all rows with their roles, and counts."""
    assemble_corpus(
        stage.inputs("kept"),
        stage.inputs("trajectories"),
        corpus=stage.output("corpus"),
        table=stage.output("table"),
        summary=stage.output("summary"),
        axis=stage.params("corpus.axis", AxisParams),
        dedup=stage.params("corpus.dedup", DedupParams),
        ranking=stage.params("corpus.ranking", RankingParams),
    )


if __name__ == "__main__":
    run(main)
