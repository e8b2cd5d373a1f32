"""Score a snapshot's trajectories with the production scorer.

python scripts/score_traces.py --snapshot sim-a
"""

from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    """One row of scores for each trajectory."""
    from tracemill.environment.index import open_index
    from tracemill.environment.params import ScorerParams
    from tracemill.environment.problem import read_problems
    from tracemill.environment.problem_book import ProblemBook
    from tracemill.environment.titles import load_titles
    from tracemill.traces.score import score_table

    score_table(
        stage.input("trajectories"),
        ProblemBook(read_problems(stage.input("problems"))),
        open_index(stage.input("index")),
        stage.output("scores"),
        load_titles(stage.params("environment.scorer", ScorerParams)),
    )


if __name__ == "__main__":
    run(main)
