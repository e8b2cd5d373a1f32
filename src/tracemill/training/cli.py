"""Commands of the training package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add this package's commands to the console command."""
    app.command("export")(export)
    app.command("export-model")(export_model)


def export(
    output: Annotated[Path, typer.Option(help="Folder to write; it must not exist yet.")] = Path("export/dataset"),
) -> None:
    """Write the train and eval pools as a Hugging Face dataset folder with its card."""
    from tracemill.environment.params import PlayParams
    from tracemill.params import load_params
    from tracemill.training.export import export_dataset

    sections = load_params()["environment"]
    play = PlayParams.model_validate({name: sections[name] for name in PlayParams.model_fields})
    rows = export_dataset(Path("data"), output, play)
    typer.echo(f"wrote {output}: {', '.join(f'{n} rows for {split}' for split, n in rows.items())}")


def export_model(
    checkpoint: Annotated[str, typer.Argument(help="Name of the training stage, such as sft.")],
    output: Annotated[Path | None, typer.Option(help="Folder to write; it must not exist yet.")] = None,
) -> None:
    """Copy a checkpoint with a card that shows lineage, parameters and scores: the folder is ready for upload."""
    from tracemill.training import lineage

    out = output or Path("export") / checkpoint
    lineage.export_model(Path("data"), checkpoint, out)
    typer.echo(f"wrote {out}")
