"""Write the problems: the built-in ones over the catalogue, or a file's.

python scripts/build_problems.py
"""

from tracemill.stage import Stage, run


def main(stage: Stage) -> None:
    """Problems with their rewards, one a line."""
    from tracemill.arena.params import ProblemParams
    from tracemill.arena.problem_file import write_problem_file
    from tracemill.environment.params import ProblemsParams

    source = stage.params("environment.problems", ProblemsParams).source
    params = stage.params("arena.problems", ProblemParams)
    write_problem_file(source, stage.input("catalog"), params, stage.output("problems"))


if __name__ == "__main__":
    run(main)
