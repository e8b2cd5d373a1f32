"""The console command with the build engine's commands alone."""

import sys

import typer

from tracemill.build.cli import register
from tracemill.errors import TracemillError

app = typer.Typer()
register(app)

if __name__ == "__main__":
    try:
        app()
    except TracemillError as error:
        print(f"tracemill: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
