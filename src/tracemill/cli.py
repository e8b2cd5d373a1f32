"""The console command `tracemill`: each package adds its own commands, heavy imports wait until one is called."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from typing import Annotated

import typer

from tracemill.errors import InputError, TracemillError
from tracemill.own_code import prefer_own_code
from tracemill.terminal import printable

COMMAND_MODULES = (
    "tracemill.build.cli",
    "tracemill.traces.cli",
    "tracemill.corpus.cli",
    "tracemill.leakage.cli",
    "tracemill.environment.cli",
    "tracemill.training.cli",
    "tracemill.evaluation.cli",
    "tracemill.report.cli",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tracemill {importlib.metadata.version('tracemill')}")
        raise typer.Exit


app = typer.Typer(
    name="tracemill",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Turn the traces of agent arenas into trained agents, reproducibly."""


for _module in COMMAND_MODULES:
    importlib.import_module(_module).register(app)


def main() -> None:
    """Run the command line; an expected error is one line on standard error and a documented exit code."""
    prefer_own_code("tracemill.cli")
    try:
        app()
    except TracemillError as error:
        # what was found may be quoted in it, and comes from strangers
        print("\n".join(map(printable, f"tracemill: {error}".split("\n"))), file=sys.stderr)
        sys.exit(error.exit_code)
    except OSError as error:  # a folder that cannot be written, a full disk
        print(f"tracemill: {f'{error.filename}: {error.strerror}' if error.filename else error}", file=sys.stderr)
        sys.exit(InputError.exit_code)


if __name__ == "__main__":
    main()
