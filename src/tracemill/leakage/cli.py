"""Commands of the leakage package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from tracemill.leakage.sources import Entry


class SeveralProtected(TyperCommand):
    """Lets `--protected` take all files up to the next option, once corpus files stand before it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat `--protected` before each further file that follows one."""
        return super().parse_args(ctx, spread_protected(args))


def spread_protected(args: list[str]) -> list[str]:
    """`a --protected b c` as `a --protected b --protected c`; `--protected b a` stays, since `a` must be the corpus."""
    takes_value = ("--protected", "--show", "--threshold")
    spread: list[str] = []
    corpus_seen = greedy = False
    previous = ""
    for arg in args:
        option = arg.startswith("-")
        if greedy and not option and previous != "--protected":
            spread.append("--protected")
        elif not option and previous not in takes_value:
            corpus_seen = True
        greedy = (greedy and not option) or (arg == "--protected" and corpus_seen)
        spread.append(arg)
        previous = arg
    return spread


def register(app: typer.Typer) -> None:
    """Add this package's commands to the console command."""
    app.command("leaks", cls=SeveralProtected)(leaks)
    app.command("ledger")(ledger)


def leaks(
    files: Annotated[list[Path], typer.Argument(help="Corpus: problem files, released rows or trajectories.")],
    protected: Annotated[
        list[Path] | None, typer.Option(metavar="FILE...", help="Benchmark to compare with; one file or several.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
    show: Annotated[int, typer.Option(min=0, help="Pairs of each kind in the text output.")] = 20,
    threshold: Annotated[str, typer.Option(help="Least token Dice of a link, as a ratio of integers.")] = "3/5",
) -> None:
    """Say what in a corpus leaks into a benchmark: verbatim, by shared products, and in other words."""
    from tracemill.leakage.leaks import as_json, as_text, find_leaks_between
    from tracemill.leakage.params import SimilarityParams

    try:
        numerator, denominator = (int(part) for part in threshold.split("/"))
        params = SimilarityParams(numerator=numerator, denominator=denominator)
    except ValueError as error:
        raise typer.BadParameter(f"{threshold!r}, expected a ratio up to one such as 3/5") from error
    corpus = [entry for path in files for entry in _entries(path)]
    guarded = [entry for path in protected or [] for entry in _entries(path)]
    found = find_leaks_between(corpus, guarded, params)
    typer.echo(as_json(found).decode() if json else as_text(found, bool(protected), show))


def _entries(path: Path) -> list[Entry]:
    from tracemill.leakage.sources import read_entries

    entries, silent = read_entries(path)
    if silent:
        typer.echo(f"{path}: {len(silent)} lines hold no problem, the first is line {silent[0]}", err=True)
    return entries


def ledger(
    nodes: Annotated[Path, typer.Option(help="Leak graph of the present build.")] = Path("data/leakage/nodes.parquet"),
    pools: Annotated[Path, typer.Option(help="Split of the present build.")] = Path("data/leakage/pools.parquet"),
    output: Annotated[Path, typer.Option(help="Ledger to extend.")] = Path("data/ledger/held_out.jsonl"),
) -> None:
    """Enter every held-out problem of the present split into the ledger; entries are only added. Commit the file."""
    from tracemill.errors import InputError
    from tracemill.leakage.ledger import held_out, merge_ledger, read_ledger, write_ledger

    for path in (nodes, pools):
        if not path.is_file():
            raise InputError(f"{path}: no such file; build the split first with `snakemake --cores all leakage`")
    old = read_ledger(output) if output.is_file() else []
    merged = merge_ledger(old, held_out(nodes, pools))
    write_ledger(merged, output)
    typer.echo(f"{output}: {len(merged)} held-out problems, {len(merged) - len(old)} new; commit it")
