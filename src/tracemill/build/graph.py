"""The workflow's declarations for processes that do not read the Snakefile, kept until rules or names change."""

import dataclasses
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tracemill.build import declare
from tracemill.build.declare import Declaration
from tracemill.build.project import Project, project_of
from tracemill.errors import SyncError
from tracemill.own_code import python_path

MEMORY = Path(".tracemill/graph.json")


def load_graph(document: dict[str, Any]) -> list[Declaration]:
    """Declarations of the rules as they are now; read through Snakemake when none of this state is remembered."""
    project = project_of(document)
    found = _recall(project)
    if found is None:
        environment = {**os.environ, "PYTHONPATH": python_path()}
        done = subprocess.run(
            [sys.executable, "-m", "tracemill.build.graph"],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
        found = _recall(project)
        if done.returncode or found is None:
            raise SyncError(f"the rules cannot be read (`snakemake --list` says more): {_words(done.stderr)}")
    return found


def _words(errors: str) -> str:
    """What a failed reading of the rules said: our own message, else the last line."""
    lines = errors.strip().splitlines()
    ours = errors.partition("tracemill: ")[2].strip()
    return ours or (lines[-1] if lines else "no declarations were left")


def remember(stages: list[Declaration], project: Project) -> None:
    """Keep the declarations for later processes."""
    text = json.dumps({"key": _key(project), "stages": [dataclasses.asdict(stage) for stage in stages]})
    MEMORY.parent.mkdir(parents=True, exist_ok=True)
    temporary = MEMORY.with_name(f"{MEMORY.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(MEMORY)


def outputs_of(address: str) -> list[str]:
    """Outputs of a stage as the build that planned it declared them."""
    kept = json.loads(MEMORY.read_text(encoding="utf-8"))["stages"]
    return [
        path
        for stage in (Declaration(**fields) for fields in kept)
        if stage.address == address
        for path in stage.outputs.values()
    ]


def _recall(project: Project) -> list[Declaration] | None:
    try:
        kept = json.loads(MEMORY.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError):
        return None
    return [Declaration(**fields) for fields in kept["stages"]] if kept.get("key") == _key(project) else None


def _key(project: Project) -> str:
    """Digest of all that the declarations are made from."""
    digest = hashlib.sha256(project.shape().encode())
    engine = [Path(declare.__file__), Path(declare.__file__).with_name("project.py")]
    for path in [Path("Snakefile"), *sorted(Path("rules").glob("*.smk")), *engine]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    digest.update("\0".join(path.name for path in sorted(Path("scripts").glob("*.py"))).encode())
    return digest.hexdigest()


def read_rules() -> None:
    """Read the Snakefile through Snakemake's own interface and remember what it declares."""
    from snakemake.api import OutputSettings, ResourceSettings, SnakemakeApi
    from snakemake.settings.enums import Quietness

    from tracemill.build.workflow import Build

    with SnakemakeApi(OutputSettings(quiet={Quietness.ALL})) as api:
        flow = api.workflow(resource_settings=ResourceSettings(cores=1), snakefile=Path("Snakefile"))._workflow
        build: Build = flow.globals["BUILD"]
        remember(build.stages, build.project)


if __name__ == "__main__":
    read_rules()
