"""Commands of the report package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add this package's commands to the console command."""
    app.command("builds")(builds)


def builds(
    output: Annotated[Path, typer.Option(help="The page to write.")] = Path("logs/builds.html"),
) -> None:
    """Write a page of the last builds: why each stage ran, and how long it took."""
    from tracemill.report.builds import write_page

    write_page(output)
    typer.echo(f"wrote {output}")
