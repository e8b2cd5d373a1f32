"""`tracemill check`: what can be found wrong before anything runs."""

import importlib.metadata
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tracemill.build.declare import Declaration
from tracemill.build.graph import load_graph
from tracemill.build.sync import REQUIREMENTS, DvcFiles, dvc_files
from tracemill.params import PARAMS, load_params

TRACKED = ("Snakefile", str(PARAMS), ".dvc/config", ".dvcignore")


def check_project() -> list[str]:
    """Check parameters and DVC files (ParamsError, SyncError), then return what else deserves a look, in words."""
    document = load_params()
    stages = load_graph(document)
    files = dvc_files(stages, document)
    files.check()
    return [*missing_sources(stages), *_untracked(stages, files), *_environment()]


def missing_sources(stages: list[Declaration]) -> Iterator[str]:
    """Inputs that neither exist nor are made by a rule."""
    made = {path for stage in stages for path in stage.outputs.values()}
    for path in sorted({path for stage in stages for path in stage.input_files} - made):
        if Path(path).exists():
            continue
        users = ", ".join(stage.address for stage in stages if path in stage.input_files)
        if Path(f"{path}.dvc").exists():
            yield f"{path}: not here (needed by {users}); DVC knows it: dvc pull {shlex.quote(f'{path}.dvc')}"
        else:
            yield f"{path}: no such file and no rule makes it (needed by {users}); check the path in {PARAMS}"


def _untracked(stages: list[Declaration], files: DvcFiles) -> Iterator[str]:
    """Inputs that git does not know: `dvc exp run --queue` and `--temp` would run without them (dvc#8854)."""
    made = {path for stage in stages for path in stage.outputs.values()}
    needed = {path for paths in files.dependencies.values() for path in paths} | {*files.texts, *TRACKED} - made
    inside = sorted(path for path in needed - made if not Path(path).is_absolute() and ".." not in Path(path).parts)
    known = _git("ls-files", "-z")
    if known is None:
        yield "this folder is no git repository; DVC's experiments need one: git init"
        return
    tracked = set(known.split("\0"))
    for path in inside:
        if Path(path).is_file() and path not in tracked:
            yield f"{path}: not tracked by git, so queued experiments run without it; git add {path}"


def _git(*arguments: str) -> str | None:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def _environment() -> Iterator[str]:
    """Installed versions that differ from the lock file."""
    if not REQUIREMENTS.is_file():
        return
    for name, version in re.findall(r"^([\w.-]+)==([^\s;]+)", REQUIREMENTS.read_text(encoding="utf-8"), re.MULTILINE):
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            yield f"{name}: not installed, {REQUIREMENTS} asks for {version}; make venv"
            continue
        if found.split("+")[0] != version.split("+")[0]:
            yield f"{name}: {found} is installed, {REQUIREMENTS} asks for {version}; make venv"
