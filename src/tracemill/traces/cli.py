"""Commands of the traces package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

_DETAIL = 160
"""Characters of a reject's detail that are shown."""


def register(app: typer.Typer) -> None:
    """Add this package's commands to the console command."""
    app.command("normalise")(normalise)


def normalise(
    raw: Annotated[Path, typer.Argument(help="Raw traces: JSON lines, plain, gzip or zstd; the format is found out.")],
    output: Annotated[Path, typer.Option(help="Parquet table of trajectories to write.")],
    rejects: Annotated[Path, typer.Option(help="Parquet table of rejected lines to write.")],
    max_broken_share: Annotated[float, typer.Option(help="Refuse the file when more of its lines are damaged.")] = 1.0,
    max_line_megabytes: Annotated[float, typer.Option(help="Longest line.")] = 64.0,
    max_inflation: Annotated[float, typer.Option(help="Largest ratio of decompressed to compressed bytes.")] = 300.0,
) -> None:
    """Bring one raw file into the canonical form, outside of a build; both tables appear whole or not at all."""
    from tracemill.errors import InputError
    from tracemill.traces.params import NormaliseParams
    from tracemill.traces.snapshot import normalise_snapshot

    if not raw.is_file():
        raise InputError(f"{raw}: no such file, expected raw traces; check the path")
    if len({path.resolve() for path in (raw, output, rejects)}) < 3:
        raise InputError(
            f"{raw}: traces, --output and --rejects must be three files; nothing is written over the traces"
        )
    params = NormaliseParams(
        max_line_megabytes=max_line_megabytes, max_inflation=max_inflation, max_broken_share=max_broken_share
    )
    partial = {path: path.with_name(f".{path.name}.partial") for path in (output, rejects)}
    for path in partial.values():
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        counts = normalise_snapshot(
            raw, trajectories=partial[output], rejects=partial[rejects], problems=None, summary=None, params=params
        )
        for path, temporary in partial.items():
            temporary.replace(path)
    finally:
        for temporary in partial.values():
            temporary.unlink(missing_ok=True)
    typer.echo(f"{counts['in']} lines: {counts['kept']} trajectories, {counts['in'] - counts['kept']} rejected")
    for line in _reasons(rejects):
        typer.echo(line)


def _reasons(rejects: Path) -> Iterator[str]:
    """A line for each reason in a table of rejected lines, the most frequent first, with its first line in the file."""
    import polars as pl

    from tracemill.terminal import printable

    first = (pl.len(), pl.col("line").first(), pl.col("detail").first())
    found = pl.read_parquet(rejects).group_by("reason", maintain_order=True).agg(*first)
    for reason, count, line, detail in found.sort("len", descending=True, maintain_order=True).rows():
        yield printable(f"  {reason}: {count}, the first in line {line}: {detail[:_DETAIL]}")
