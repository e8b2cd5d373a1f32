"""`tracemill score` and `tracemill check-problems`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from tracemill.environment.grading import Grade
    from tracemill.environment.problem_book import ProblemBook
    from tracemill.environment.scorer import ProductLookup
    from tracemill.environment.titles import Titles

ProblemsOption = Annotated[Path, typer.Option("--problems", help="Problems with rewards, one JSON object a line.")]
CatalogOption = Annotated[
    str, typer.Option("--catalog", help="Catalogue file (.jsonl, .gz, .zst), index folder, or http:// address.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object a line instead of text.")]
TitlesOption = Annotated[
    str | None, typer.Option("--titles", help="Folder of a sentence-transformers model for title similarity.")
]


def score(
    traces: Annotated[list[Path], typer.Argument(help="Trajectory files of any known format.")],
    problems: ProblemsOption,
    catalog: CatalogOption,
    as_json: JsonOption = False,
    titles: TitlesOption = None,
) -> None:
    """Score trajectories as SN15's validators do, and say for each failed axis what was wanted and what was found."""
    from tracemill.environment.params import ScorerParams
    from tracemill.environment.problem import read_problems
    from tracemill.environment.problem_book import ProblemBook
    from tracemill.environment.titles import load_titles

    model = load_titles(ScorerParams(title_model=titles))
    book = ProblemBook(read_problems(_file(problems)))
    lookup = open_products(catalog)
    successes = total = 0
    for entry in _scored([_file(path) for path in traces], book, lookup, model):
        total += 1
        successes += entry["success"]
        typer.echo(_line(entry) if as_json else _text(entry))
    if not as_json:
        typer.echo(f"{successes} of {total} successful")


def check_problems(problems: ProblemsOption, catalog: CatalogOption, as_json: JsonOption = False) -> None:
    """Prove that every problem can be solved: recommending the products that its reward names must be a success."""
    from tracemill.environment.grading import gold_dialogue, grade_dialogue
    from tracemill.environment.problem import read_problems
    from tracemill.errors import GateError

    lookup = open_products(catalog)
    unsolvable = total = 0
    for problem in read_problems(_file(problems)):
        grade = grade_dialogue(problem, gold_dialogue(problem), lookup)
        total += 1
        unsolvable += not grade.success
        if as_json or not grade.success:
            entry = _entry(grade, problem.problem_id, problem.category)
            typer.echo(_line(entry) if as_json else _text(entry))
    if not as_json:
        typer.echo(f"{total - unsolvable} of {total} problems are solvable in {catalog}")
    if unsolvable:
        raise GateError(
            f"{unsolvable} of {total} problems of {problems} cannot be solved in {catalog}; see the axes above"
        )


def open_products(catalog: str) -> ProductLookup:
    """Products of a catalogue file, an index folder or a search server. Raises InputError where there is none."""
    if catalog.startswith(("http://", "https://")):
        from tracemill.environment.backend import HttpCatalog
        from tracemill.environment.grading import RememberingLookup

        return RememberingLookup(HttpCatalog(catalog))
    path = Path(catalog)
    if path.is_dir():
        from tracemill.environment.index import open_index

        return open_index(path)
    from tracemill.environment.grading import ProductTable
    from tracemill.environment.products import check_product, read_products

    return ProductTable(check_product(row, catalog) for row in read_products(_file(path)))


def _file(path: Path) -> Path:
    from tracemill.errors import InputError

    if not path.is_file():
        raise InputError(f"{path}: no such file")
    return path


def _scored(
    paths: list[Path], book: ProblemBook, lookup: ProductLookup, titles: Titles | None
) -> Iterator[dict[str, Any]]:
    from tracemill.environment.explain import explain_format
    from tracemill.environment.grading import Grade, grade_dialogue
    from tracemill.traces.raw_dialogues import read_dialogues

    for path in paths:
        for raw in read_dialogues(path):
            problem = book.find(raw.problem_id, raw.query)
            if raw.error is not None:
                grade = Grade(raw.problem_id or "", False, None, [], raw.error)
            elif problem is None:
                grade = Grade(raw.problem_id or "", False, None, [], "no problem with this id and query")
            else:
                grade = grade_dialogue(problem, raw.dialogue, lookup, titles)
            entry = _entry(grade, grade.problem_id, problem.category if problem is not None else None)
            if grade.score is not None and grade.score["format"] < 1:
                entry["failed"] = [*entry["failed"], *explain_format(raw.dialogue)]
            yield {"file": path.name, "line": raw.line, **entry}


def _entry(grade: Grade, problem_id: str, category: str | None) -> dict[str, Any]:
    from tracemill.environment.control_tokens import neutralise_value

    entry: dict[str, Any] = {"problem_id": problem_id, "category": category, "success": grade.success}
    entry.update(grade.score or {})
    entry["failed"] = grade.failures
    if grade.error is not None:
        entry["error"] = grade.error
    cleaned: dict[str, Any] = neutralise_value(entry)
    return cleaned


def _line(entry: dict[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=True, allow_nan=True)


def _text(entry: dict[str, Any]) -> str:
    """A few lines for people; texts of strangers are shown as JSON in ASCII, so that no terminal obeys them."""
    where = f"{json.dumps(entry['file'])[1:-1]}:{entry['line']}  " if "file" in entry else ""
    verdict = "success" if entry["success"] else "failure"
    marks = [f"{key} {entry[key]:.4g}" for key in ("rule", "shop", "budget", "gt", "format", "length") if key in entry]
    name = json.dumps(entry["problem_id"])[1:-1]
    lines = [f"{where}{name or '(unknown problem)'}  {verdict}  {'  '.join(marks)}".rstrip()]
    for failure in entry["failed"]:
        place = failure.get("slot", failure.get("step"))
        slot = "" if place is None else f"[{place}]"
        why = f" ({json.dumps(failure['why'])[1:-1]})" if "why" in failure else ""
        shown = f"wanted {json.dumps(failure['wanted'])}, found {json.dumps(failure['found'])}"
        lines.append(f"    {failure['axis']}{slot}: {shown}{why}")
    if "error" in entry:
        lines.append(f"    error: {json.dumps(entry['error'])[1:-1]}")
    return "\n".join(lines)


def register_score(app: typer.Typer) -> None:
    """Add `score` and `check-problems` to the console command."""
    app.command("score")(score)
    app.command("check-problems")(check_problems)
