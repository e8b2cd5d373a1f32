"""A complete copy of the project in another folder with other parameters: a build of its own, nothing shared."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from tracemill.document import lookup, read_yaml
from tracemill.errors import InputError, ParamsError
from tracemill.params import PARAMS, load_params


def make_workspace(target: Path, profiles: list[str], settings: list[str]) -> None:
    """Copy the files that git knows or would know, lay `profiles` and `settings` (a.b=c) over params.yaml, and sync.

    Nothing is left behind where that fails: ParamsError for a wrong profile or setting, InputError for all else.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target}: not an empty folder; name a new one or remove it")
    names = _project_files(Path.cwd())
    try:
        _fill(target, names, profiles, settings)
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise


def _fill(target: Path, names: list[str], profiles: list[str], settings: list[str]) -> None:
    for name in names:
        if Path(name).name != "dvc.lock" and Path(name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(name, target / name, follow_symlinks=False)
    overlay(target / PARAMS, profiles, settings)
    load_params(target / PARAMS)
    _run(target, "git", "init", "--quiet", "--initial-branch=main")
    _run(target, sys.executable, "-m", "tracemill.cli", "sync")
    _run(target, "git", "add", "--all")
    author = ("-c", "user.name=tracemill", "-c", "user.email=workspace@tracemill.invalid")
    _run(target, "git", *author, "commit", "--quiet", "-m", "A copy with parameters of its own")


def overlay(path: Path, profiles: list[str], settings: list[str]) -> None:
    """Set dotted keys in a params.yaml, comments kept; a profile is such a set of keys by name."""
    document = read_yaml(path)
    changes: dict[str, Any] = {}
    for profile in profiles:
        known = document.get("profiles") or {}
        if profile not in known:
            raise ParamsError(f"{path}: profiles: no profile {profile!r}; there are {', '.join(known) or 'none'}")
        changes |= known[profile]
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ParamsError(f"--set {setting}: expected KEY=VALUE, for example corpus.gates.token_budget=4096")
        changes[key] = YAML(typ="safe", pure=True).load(value)
    _apply(path, changes)


def _apply(path: Path, changes: Mapping[str, Any]) -> None:
    yaml = YAML(typ="rt")
    yaml.width = 4096
    document = yaml.load(path.read_text(encoding="utf-8"))
    for key, value in changes.items():
        parent, _, name = key.rpartition(".")
        try:
            section = lookup(document, parent) if parent else document
        except KeyError as error:
            raise ParamsError(f"{path}: {key}: there is no section {parent!r}") from error
        section[name] = value
    with path.open("w", encoding="utf-8") as out:
        yaml.dump(document, out)


def _project_files(source: Path) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=source,
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        raise InputError(f"{source}: not a git project: {listed.stderr.decode('utf-8', 'replace').strip()}")
    return sorted(set(listed.stdout.decode("utf-8", "surrogateescape").split("\0")) - {""})


def _run(folder: Path, *command: str) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment["PYTHONPATH"] = str((folder / "src").resolve())
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InputError(f"{folder}: `{' '.join(command[:4])}` failed: {(done.stderr or done.stdout).strip()[-1500:]}")
