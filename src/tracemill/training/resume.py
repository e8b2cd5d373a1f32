"""States from which an interrupted run goes on: only whole ones, only of the same configuration.

transformers takes the highest-numbered checkpoint whether or not it was written to its end. Here a marker is written
last, by rename, with the digest of the configuration and the files' sizes; a state without it, with another digest, or
with a file that is missing or of another length is never picked.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from tracemill.environment.problem import digest

MARKER = "tracemill.json"
_NAME = re.compile(r"checkpoint-(\d+)")


class Finished(Exception):
    """Raised where a run resumes from the state of its last step: transformers would train one step more."""


def states(folder: Path) -> list[tuple[int, Path]]:
    """The states in `folder`, whole or not, lowest step first."""
    if not folder.is_dir():
        return []
    found = [(_NAME.fullmatch(path.name), path) for path in folder.iterdir()]
    return sorted((int(match[1]), path) for match, path in found if match)


def mark_complete(state: Path, configuration: str) -> None:
    """Declare a state whole; call it after its last file."""
    parts = sorted(path for path in state.rglob("*") if path.is_file() and path.name != MARKER)
    files = {path.relative_to(state).as_posix(): path.stat().st_size for path in parts}
    partial = state / f".{MARKER}"
    partial.write_text(json.dumps({"configuration": configuration, "files": files}, indent=1), encoding="utf-8")
    partial.rename(state / MARKER)


def is_complete(state: Path, configuration: str) -> bool:
    """Whether the state was written to its end under this configuration."""
    try:
        record = json.loads((state / MARKER).read_text(encoding="utf-8"))
        sizes = {name: (state / name).stat().st_size for name in record["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return bool(record["configuration"] == configuration and sizes == record["files"])


def last_complete(folder: Path, configuration: str) -> Path | None:
    """The latest whole state of this configuration; None where there is none."""
    whole = [state for _, state in states(folder) if is_complete(state, configuration)]
    return whole[-1] if whole else None


def remove_incomplete(folder: Path, configuration: str) -> None:
    """Remove every state that a run of this configuration must not go on from; one process alone calls this."""
    for _, state in states(folder):
        if not is_complete(state, configuration):
            shutil.rmtree(state)


def configuration_digest(*parts: Any) -> str:
    """Digest of what a run is made of: parameters, and digests of its rows and its parent."""
    return digest(list(parts))


def marker_callback(configuration: str) -> Any:
    """A trainer callback that marks each state once everything in it is written; raises Finished (above)."""
    from transformers import TrainerCallback

    class MarkState(TrainerCallback):  # type: ignore[misc]
        """Marks the state that was just saved (the main process alone), and ends where nothing is left to train."""

        def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if state.global_step >= state.max_steps:
                raise Finished

        def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            import torch

            if torch.distributed.is_available() and torch.distributed.is_initialized():
                torch.distributed.barrier()  # every process writes a part of the state
            if state.is_world_process_zero:
                mark_complete(Path(args.output_dir) / f"checkpoint-{state.global_step}", configuration)

    return MarkState()
