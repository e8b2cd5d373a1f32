"""Commands of the corpus package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add this package's commands to the console command."""
    app.command("explain")(explain)


def explain(trajectory_id: Annotated[str, typer.Argument(help="Id of a trajectory, or its first characters.")]) -> None:
    """Show one trajectory turn by turn, with the gates it passed or failed and its axis evidence."""
    import polars as pl

    from tracemill.corpus.explain import explain_trajectory, find_trajectory
    from tracemill.corpus.params import CorpusParams
    from tracemill.params import load_params

    params = CorpusParams.model_validate(load_params()["corpus"])
    row = find_trajectory(sorted(Path("data/traces").glob("*/trajectories.parquet")), trajectory_id)
    role = None
    table = Path("data/corpus/table.parquet")
    if table.is_file():
        found = pl.scan_parquet(table).filter(pl.col("trajectory_id") == row["trajectory_id"]).collect()
        role = found.row(0, named=True) if found.height else None
    for line in explain_trajectory(row, role, params.gates, params.axis):
        typer.echo(line)
