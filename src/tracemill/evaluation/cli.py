"""Commands of the evaluation package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracemill.errors import InputError

EVALUATION = Path("data/evaluation")


def register(app: typer.Typer) -> None:
    """Add this package's commands to the console command."""
    app.command("serve-model")(serve_model)
    app.command("open-sealed")(open_sealed)
    app.command("compare-checkpoints")(compare_checkpoints)


def serve_model(
    model: Annotated[Path, typer.Argument(help="Folder of a checkpoint, such as data/models/sft.")],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; the API is at http://HOST:PORT/v1.", min=1, max=65535)] = 8000,
    name: Annotated[str, typer.Option(help="Model name of the API; the folder's name where empty.")] = "",
    threads: Annotated[int, typer.Option(min=1, help="CPU threads.")] = 1,
    batch: Annotated[int, typer.Option(min=1, help="Most requests answered from one batch.")] = 64,
    max_context: Annotated[int, typer.Option(min=64, help="Most tokens of prompt and answer together.")] = 32_768,
) -> None:
    """Serve a checkpoint over the OpenAI protocol, with the template of training and rollouts."""
    if not (model / "config.json").is_file():  # anything else would be asked for at the hub
        raise InputError(f"{model}: no checkpoint; expected a folder with config.json, such as data/models/sft")

    import torch

    from tracemill.evaluation.serve import serve
    from tracemill.evaluation.transformers_policy import load_policy
    from tracemill.training.checkpoint import folder_digest

    torch.set_num_threads(threads)
    policy = load_policy(model, max_context=max_context)
    serve(policy, name or model.resolve().name, host, port, batch, folder_digest(model))


def open_sealed(
    reason: Annotated[str, typer.Option(help="Why the sealed problems are opened; committed with the result.")],
    checkpoint: Annotated[str, typer.Option(help="Checkpoint to play, such as dr_grpo, or `expert`.")],
) -> None:
    """Play the pool that nobody touches, once, and enter it in the committed book data/ledger/openings.jsonl."""
    from tracemill.evaluation.opening import open_pool, result_line

    path, result = open_pool(Path(), checkpoint, reason)
    typer.echo(result_line(result))
    typer.echo(f"entered in {path.parent / 'openings.jsonl'}; result in {path}; commit both")


def compare_checkpoints(
    a: Annotated[str, typer.Argument(help="Checkpoint, or path of an episodes.jsonl.zst.")],
    b: Annotated[str, typer.Argument(help="Checkpoint, or path of an episodes.jsonl.zst.")],
    suite: Annotated[str, typer.Option(help="Suite whose shared problems are compared.")] = "eval",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare two checkpoints on the problems that both played: exact McNemar and a paired bootstrap."""
    import msgspec

    from tracemill.evaluation import compare
    from tracemill.evaluation.records import read_records

    test = compare.compare_checkpoints(read_records(_episodes(a)), read_records(_episodes(b)), suite)
    typer.echo(msgspec.json.encode(test).decode() if as_json else compare.describe(a, b, test))


def _episodes(name: str) -> Path:
    path, played = Path(name), EVALUATION / name / "episodes.jsonl.zst"
    if path.is_file():
        return path
    if not played.is_file():
        known = sorted(found.parent.name for found in EVALUATION.glob("*/episodes.jsonl.zst"))
        raise InputError(f"{name}: no episodes were played; there are those of {', '.join(known) or 'no checkpoint'}")
    return played
