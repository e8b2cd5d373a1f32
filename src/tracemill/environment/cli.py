"""Commands of the environment package."""

from __future__ import annotations

import typer

from tracemill.environment.score_cli import register_score
from tracemill.environment.search_cli import register_search


def register(app: typer.Typer) -> None:
    """Add this package's commands to the console command."""
    register_score(app)
    register_search(app)
