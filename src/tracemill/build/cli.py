"""Commands of the build package: write and check the DVC files, say what is stale and why."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tracemill.build.sync import DvcFiles


def sync(check: Annotated[bool, typer.Option(help="Write nothing; fail when a file differs.")] = False) -> None:
    """Write dvc.yaml, snapshots/*/dvc.yaml and versions.txt from the rules, the imports and the lock file."""
    files = _generated()
    if check:
        files.check()
        return
    for path in files.write():
        typer.echo(f"{'wrote' if Path(path).exists() else 'removed'} {path}")


def why(stage: Annotated[str, typer.Argument(help="A stage, as DVC names it; all when left out.")] = "") -> None:
    """Say which stages are stale and for which reason; nothing runs."""
    from tracemill.build.status import require_stage, stale_stages

    reasons = stale_stages()
    chosen = {address: lines for address, lines in sorted(reasons.items()) if stage in ("", address, _rule(address))}
    if stage and not chosen:
        require_stage(stage)
    for address, lines in chosen.items():
        typer.echo(f"{address} is stale: {'; '.join(lines)}")
    if not chosen:
        _generated().check()  # of old DVC files it would not be true
        typer.echo(f"{stage or 'everything'} is up to date")


def check(quick: Annotated[bool, typer.Option(help="Parameters and DVC files alone.")] = False) -> None:
    """Check params.yaml, the DVC files, the inputs that git must know, and the installed versions; nothing runs."""
    from tracemill.build.check import check_project
    from tracemill.errors import TracemillError

    remarks = check_project()
    for remark in [] if quick else remarks:
        typer.echo(remark, err=True)
    if remarks and not quick:
        raise TracemillError(f"{len(remarks)} of the checks failed, see above")
    typer.echo("parameters and DVC files are in order")


def show(artifact: Annotated[str, typer.Argument(help="Path of an output, e.g. data/corpus/corpus.parquet.")]) -> None:
    """Show an artifact's digest, size, rows, parameters, commit and lineage."""
    from tracemill.build.show import describe

    for line in describe(artifact):
        typer.echo(line)


def workspace(
    folder: Annotated[Path, typer.Argument(help="A new folder.")],
    profile: Annotated[list[str] | None, typer.Option(help="A set of keys from params.yaml: profiles.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="KEY=VALUE, for example training.rows.max_length=512.")
    ] = None,
) -> None:
    """Copy the project into another folder with other parameters, ready for `snakemake` there."""
    from tracemill.build.workspace import make_workspace

    make_workspace(folder, profile or [], set_ or [])
    typer.echo(f"{folder} is ready: cd {shlex.quote(str(folder))} && snakemake --cores all")


def _generated() -> DvcFiles:
    from tracemill.build.graph import load_graph
    from tracemill.build.sync import dvc_files
    from tracemill.params import load_params

    document = load_params()
    return dvc_files(load_graph(document), document)


def _rule(address: str) -> str:
    return address.rpartition(":")[2]


def register(app: typer.Typer) -> None:
    """Add this package's commands to the console command."""
    app.command()(sync)
    app.command()(why)
    app.command()(check)
    app.command()(show)
    app.command()(workspace)
