"""Stages as the rules declare them, read from Snakemake's own workflow object: there is no second table."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracemill.build.project import Project
from tracemill.errors import SyncError

STAMPS = ".snakemake/stages"
STAMP = "stamp"


@dataclass(frozen=True)
class Declaration:
    """One stage: a rule with its wildcards filled in; paths are relative to the project's folder.

    `axes` are the columns, x and y, that DVC draws of the stage's plot.
    """

    rule: str
    wildcards: dict[str, str]
    inputs: dict[str, list[str]]
    outputs: dict[str, str]
    directories: list[str]
    sections: list[str]
    launch: str
    axes: list[str] = field(default_factory=list)

    @property
    def script(self) -> str:
        """Path of the script that does the work."""
        return f"scripts/{self.rule}.py"

    @property
    def file(self) -> str:
        """The DVC file that holds the stage: one small file for each snapshot keeps every job fast."""
        snapshot = self.wildcards.get("snapshot")
        return f"snapshots/{snapshot}/dvc.yaml" if snapshot else "dvc.yaml"

    @property
    def name(self) -> str:
        """The stage's name inside its DVC file."""
        values = [value for key, value in sorted(self.wildcards.items()) if key != "snapshot"]
        return "-".join([self.rule, *values])

    @property
    def address(self) -> str:
        """The stage's name on DVC's command line and in its status."""
        return self.name if self.file == "dvc.yaml" else f"{self.file}:{self.name}"

    @property
    def stamp(self) -> str:
        """The file through which Snakemake learns that the stage is stale."""
        return str(Path(STAMPS, self.file).with_name(self.name))

    @property
    def command(self) -> str:
        """The command that DVC runs and hashes; where it runs is no part of it."""
        options = [f"--{key} {value}" for key, value in sorted(self.wildcards.items())]
        return " ".join(["python -m tracemill.build.run", self.script, *options])

    @property
    def input_files(self) -> list[str]:
        """All data inputs in the order of the rule."""
        return [path for paths in self.inputs.values() for path in paths]


def stamp_pattern(rule: str, wildcards: set[str]) -> str:
    """The stamp of a rule before its wildcards are filled in."""
    folder = f"{STAMPS}/snapshots/{{snapshot}}" if "snapshot" in wildcards else STAMPS
    return "/".join([folder, "-".join([rule, *(f"{{{key}}}" for key in sorted(wildcards - {"snapshot"}))])])


def is_stage(rule: Any) -> bool:
    """Whether a rule makes something; the others only name targets."""
    return len(rule.output) > 0


def declarations(workflow: Any, project: Project) -> list[Declaration]:
    """Every stage of the workflow, sorted by address; SyncError names a rule that breaks the house rules."""
    stages = [stage for rule in workflow.rules if is_stage(rule) for stage in _instances(rule, project)]
    return sorted(stages, key=lambda stage: (stage.file, stage.name))


def _instances(rule: Any, project: Project) -> Iterator[Declaration]:
    from snakemake.iocontainers import Wildcards

    names = sorted(rule.wildcard_names)
    unknown = [name for name in names if name not in project.domains]
    if unknown:
        raise SyncError(f"rule {rule.name}: unknown wildcard {unknown[0]!r}; known: {', '.join(project.domains)}")
    for values in itertools.product(*(project.domains[name] for name in names)):
        wildcards = dict(zip(names, values, strict=True))
        filled = Wildcards(fromdict=wildcards)
        outputs, _ = rule.expand_output(filled)
        if rule.is_producer(outputs[0]):
            yield _declaration(rule, wildcards, filled, outputs)


def _declaration(rule: Any, wildcards: dict[str, str], filled: Any, outputs: Any) -> Declaration:
    inputs, *_ = rule.expand_input(filled)
    named = _named(rule, inputs, "input")
    named.pop(STAMP, None)
    params, _ = dict(rule.params.items()), None
    section = params.get("section", [])
    sections = [section] if isinstance(section, str) else list(section)
    _refuse_traps(rule, inputs, outputs)
    return Declaration(
        rule=rule.name,
        wildcards=wildcards,
        inputs=named,
        outputs={name: paths[0] for name, paths in _named(rule, outputs, "output").items()},
        directories=[str(path) for path in outputs if path.is_directory],
        sections=sorted(one.format(**wildcards) for one in sections),
        launch=str(params.get("launch", "")),
        axes=[str(name) for name in params.get("axes", [])],
    )


def _named(rule: Any, files: Any, kind: str) -> dict[str, list[str]]:
    spans = list(files._get_names())
    named = {
        name: [str(path) for path in files[start : end if end is not None else start + 1]]
        for name, (start, end) in spans
    }
    if sum(len(paths) for paths in named.values()) != len(files):
        raise SyncError(f"rule {rule.name}: every {kind} needs a name, found {[str(path) for path in files]}")
    return named


def _refuse_traps(rule: Any, inputs: Any, outputs: Any) -> None:
    """Refuse what makes the two engines disagree."""
    from snakemake.io import is_flagged

    if any(path.is_ancient for path in inputs):
        raise SyncError(f"rule {rule.name}: ancient() on an input hides stale stages further down; remove it")
    if any(path.is_temp or is_flagged(path, "protected") for path in outputs):
        raise SyncError(f"rule {rule.name}: temp() and protected() outputs are not DVC's to restore; remove the flag")
    if not Path(f"scripts/{rule.name}.py").is_file():
        raise SyncError(f"rule {rule.name}: no script scripts/{rule.name}.py; a rule and its script share one name")
