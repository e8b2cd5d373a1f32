"""Writes the problems: the built-in ones over the catalogue, or those of a file."""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path

from tracemill.arena.files import BUILT_IN, existing, refuse_repeats
from tracemill.arena.params import ProblemParams
from tracemill.arena.problems import generate_problems
from tracemill.environment.problem import read_problems, write_problems
from tracemill.environment.products import read_products
from tracemill.errors import InputError

log = logging.getLogger(__name__)


def write_problem_file(source: str, catalog: Path, params: ProblemParams, out: Path) -> None:
    """Write the problems of file `source` in its order, or (where it is `arena`) the built-in ones over `catalog`.

    Raises InputError when the file is missing, holds no problem, or uses an id twice.
    """
    if source == BUILT_IN:
        problems = generate_problems(list(read_products(catalog)), params)
    else:
        problems = list(read_problems(existing(source, "environment.problems.source")))
        refuse_repeats((problem.problem_id for problem in problems), source, "problem_id")
        if not problems:
            raise InputError(f"{source}: no problems, expected one JSON object a line")
    write_problems(problems, out)
    counts = Counter(problem.category for problem in problems)
    log.info("%d problems: %s", len(problems), dict(sorted(counts.items())))
