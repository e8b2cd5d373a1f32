"""Where catalogue, problems and simulated snapshots are written: the built-in arena's own, or what files hold."""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path
from typing import Any

import orjson

from tracemill.arena.params import CatalogParams, MinerParams, ProblemParams
from tracemill.environment.problem import Problem, read_problems, write_problems
from tracemill.environment.products import read_products
from tracemill.errors import InputError
from tracemill.snapshots import SnapshotParams

BUILT_IN = "arena"
LEVEL = 6
log = logging.getLogger(__name__)


def write_catalog(source: str, params: CatalogParams, out: Path) -> None:
    """Write the products of file `source` (the built-in ones where it is `arena`), sorted by id, as zstd JSONL.

    Raises InputError when the file is missing or an id occurs twice.
    """
    if source == BUILT_IN:
        from tracemill.arena.catalog import generate_catalog

        products = generate_catalog(params)
    else:
        products = sorted(read_products(_existing(source, "environment.catalog.source")), key=_product_id)
        _refuse_repeats(Counter(map(_product_id, products)), source, "product_id")
    _write_zstd((orjson.dumps(product) for product in products), out)
    log.info("%d products", len(products))


def write_problem_file(source: str, catalog: Path, params: ProblemParams, out: Path) -> None:
    """Write the problems of file `source` in its order, or the built-in ones over `catalog`.

    Raises InputError when the file is missing, holds no problem, or uses an id twice.
    """
    if source == BUILT_IN:
        from tracemill.arena.problems import generate_problems

        problems = generate_problems(list(read_products(catalog)), params)
    else:
        problems = list(read_problems(_existing(source, "environment.problems.source")))
        _refuse_repeats(Counter(problem.problem_id for problem in problems), source, "problem_id")
        if not problems:
            raise InputError(f"{source}: no problems, expected one JSON object a line")
    write_problems(problems, out)
    log.info("%d problems: %s", len(problems), dict(sorted(Counter(map(_category, problems)).items())))


def write_snapshot(
    name: str, snapshot: SnapshotParams, problems: Path, index: Path, params: MinerParams, out: Path
) -> None:
    """Simulate snapshot `name` over the problems and the index, and write its lines as zstd JSONL."""
    from tracemill.arena.simulate import simulate, write_lines
    from tracemill.environment.index import open_index

    if snapshot.episodes is None or snapshot.seed is None:
        raise InputError(f"snapshots.{name}: a sim: source needs `seed` and `episodes`, e.g. seed: 1, episodes: 600")
    played = simulate(list(read_problems(problems)), open_index(index), params, snapshot.seed, snapshot.episodes)
    _write_zstd(write_lines(played, params, snapshot.episodes), out)
    log.info("%s: %d episodes", name, snapshot.episodes)


def _existing(path: str, section: str) -> Path:
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file; set {section} in params.yaml to a file, or to `arena`")
    return Path(path)


def _refuse_repeats(counts: Counter[str], path: str, field: str) -> None:
    repeated = [value for value, count in counts.items() if count > 1]
    if repeated:
        raise InputError(f"{path}: {field} {repeated[0]!r} occurs {counts[repeated[0]]} times, expected once")


def _write_zstd(lines: Any, out: Path) -> None:
    import zstandard

    with out.open("wb") as file, zstandard.ZstdCompressor(level=LEVEL).stream_writer(file) as stream:
        for line in lines:
            stream.write(line + b"\n")


def _product_id(product: dict[str, Any]) -> str:
    return str(product.get("product", product)["product_id"])


def _category(problem: Problem) -> str:
    return problem.category
