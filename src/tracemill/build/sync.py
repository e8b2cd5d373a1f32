"""DVC files written from the rules: `make sync` writes them, every build checks them.

One file for the global stages and a small one for each snapshot. The texts are a pure function of the declarations, the
import graph and the locked versions, so that equal rules give equal bytes and a drift is a difference of text.
"""

import difflib
import importlib.metadata
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracemill.build.declare import Declaration
from tracemill.build.modules import LEARNING, ImportGraph
from tracemill.document import render_yaml
from tracemill.errors import SyncError

VERSIONS = Path("versions.txt")
REQUIREMENTS = Path("requirements.lock")
ENGINE = Path("requirements-vllm.lock")
HEADER = "# Written by `make sync` from rules/*.smk; edit the rules, not this file.\n"
SNAPSHOTS = Path("snapshots")


@dataclass(frozen=True)
class DvcFiles:
    """Texts of all generated files by path, and the dependencies of each stage by address."""

    texts: dict[str, str]
    dependencies: dict[str, list[str]]

    def drift(self, only: Iterable[str] | None = None) -> str:
        """Unified difference between the files as they are and as they should be; empty when they agree."""
        paths = sorted(set(self.texts) | _present()) if only is None else sorted(only)
        return "".join(line for path in paths for line in _difference(path, _read(path), self.texts.get(path, "")))

    def check(self, only: Iterable[str] | None = None) -> None:
        """Raise SyncError with the difference and the remedy unless the files say what the rules say."""
        drift = self.drift(only)
        if drift:
            lines = drift.splitlines()
            more = [f"... {len(lines) - 30} more lines"] if len(lines) > 30 else []
            shown = "\n".join([*lines[:30], *more])
            raise SyncError(f"the DVC files have drifted from the rules and the code; run `make sync`:\n{shown}")

    def write(self) -> list[str]:
        """Write what differs, remove the files of snapshots that are gone; returns the paths that changed."""
        changed = [path for path, text in sorted(self.texts.items()) if _read(path) != text]
        for path in changed:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(self.texts[path], encoding="utf-8")
        gone = sorted(_present() - set(self.texts))
        for path in gone:
            Path(path).unlink()
            Path(path).with_name("dvc.lock").unlink(missing_ok=True)
            if not any(Path(path).parent.iterdir()):
                Path(path).parent.rmdir()
        return changed + gone


def dvc_files(stages: list[Declaration], document: dict[str, Any]) -> DvcFiles:
    """All generated files of a workflow."""
    graph = ImportGraph()
    folders = {path: stage.file for stage in stages for path in stage.outputs.values()}
    code = {script: graph.code_of(Path(script)) for script in {stage.script for stage in stages}}
    files: dict[str, dict[str, Any]] = {"dvc.yaml": {}}
    dependencies: dict[str, list[str]] = {}
    for stage in stages:
        _require_sections(stage, document)
        gathers = stage.file == "dvc.yaml" and any(
            folders.get(path, stage.file) != stage.file for path in stage.input_files
        )
        needs = [str(VERSIONS)] if code[stage.script].learns else []
        dependencies[stage.address] = sorted({*stage.input_files, *code[stage.script].files, *needs})
        files.setdefault(stage.file, {})[stage.name] = _entry(stage, dependencies[stage.address], gathers)
    texts = {path: HEADER + render_yaml({"stages": entries}) for path, entries in files.items()}
    return DvcFiles({**texts, str(VERSIONS): _versions()}, dependencies)


def _entry(stage: Declaration, deps: list[str], gathers: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {"cmd": stage.command}
    if stage.file != "dvc.yaml":
        entry["wdir"] = "../.."
    entry["deps"] = deps
    params = [*stage.sections, *(["snapshots"] if gathers else [])]  # a new snapshot must make the gatherers stale
    if params:
        entry["params"] = sorted(set(params))
    for kind, paths in _outputs(stage).items():
        if paths:
            entry[kind] = paths
    return entry


def _outputs(stage: Declaration) -> dict[str, list[Any]]:
    """Outputs by DVC's kind, decided by name: `metrics*` are metrics, `plot*` are plots; all of them are cached."""
    kinds: dict[str, list[Any]] = {"outs": [], "metrics": [], "plots": []}
    for name, path in stage.outputs.items():
        kind = "metrics" if name.startswith("metrics") else "plots" if name.startswith("plot") else "outs"
        kinds[kind].append(path)
    drawn = [{path: dict(zip("xy", stage.axes, strict=True))} for path in sorted(kinds["plots"]) if stage.axes]
    return {kind: sorted(paths) for kind, paths in kinds.items()} | ({"plots": drawn} if drawn else {})


def _require_sections(stage: Declaration, document: dict[str, Any]) -> None:
    from tracemill.document import lookup

    for section in stage.sections:
        try:
            lookup(document, section)
        except KeyError as error:
            raise SyncError(
                f"rule {stage.rule}: params.yaml has no section {section!r}; add it or fix `params:`"
            ) from error


def _versions() -> str:
    """Versions of the learning libraries without local suffix: +cpu and +cu128 are one version."""
    locked = _locked_versions(REQUIREMENTS)
    found = {name: locked.get(name) or importlib.metadata.version(name) for name in map(_distribution, LEARNING)}
    found |= {name: version for name, version in _locked_versions(ENGINE).items() if name == "vllm"}
    return "".join(f"{name}=={version.split('+')[0]}\n" for name, version in sorted(found.items()))


def _locked_versions(lock: Path) -> dict[str, str]:
    if not lock.is_file():
        return {}
    pattern = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)
    return {_distribution(name): version for name, version in pattern.findall(lock.read_text(encoding="utf-8"))}


def _distribution(name: str) -> str:
    return name.lower().replace("_", "-")


def _present() -> set[str]:
    return {path.as_posix() for path in SNAPSHOTS.glob("*/dvc.yaml")} | {"dvc.yaml"}


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def _difference(path: str, found: str, expected: str) -> list[str]:
    if found == expected:
        return []
    return list(
        difflib.unified_diff(
            found.splitlines(keepends=True), expected.splitlines(keepends=True), path, f"{path} (from the rules)", n=1
        )
    )
