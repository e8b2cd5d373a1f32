"""What the rules may know of params.yaml: names that shape the graph, never values that only change bytes."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracemill.document import lookup
from tracemill.errors import ParamsError
from tracemill.params import PARAMS, load_params
from tracemill.snapshots import SIMULATED, local_path

NO_NAME = "(?!)"  # a wildcard constraint that nothing matches


@dataclass(frozen=True)
class Project:
    """Snapshots, training stages and input files as params.yaml names them; equal shapes give equal graphs."""

    sources: dict[str, str]
    stages: dict[str, dict[str, Any]]
    files: dict[str, list[str]]

    @property
    def snapshots(self) -> list[str]:
        """Names of all snapshots, sorted: their order in the file decides nothing."""
        return sorted(self.sources)

    @property
    def simulated(self) -> str:
        """Wildcard constraint: snapshots that the built-in arena writes."""
        return _one_of(name for name in self.snapshots if self.sources[name].startswith(SIMULATED))

    @property
    def fetched(self) -> str:
        """Wildcard constraint: snapshots that come from elsewhere."""
        return _one_of(name for name in self.snapshots if not self.sources[name].startswith(SIMULATED))

    def source_file(self, snapshot: str) -> list[str]:
        """The local file a snapshot is read from, as a list of one, or of none for a remote source."""
        path = local_path(self.sources[snapshot])
        return [] if path is None else [path]

    def of_kind(self, *kinds: str) -> str:
        """Wildcard constraint: training stages of these kinds."""
        return _one_of(name for name in sorted(self.stages) if self.stages[name].get("kind", name) in kinds)

    def parent(self, stage: str) -> str:
        """The checkpoint that a training stage starts from."""
        return str(self.stages[stage].get("parent", "base"))

    def episodes_of(self, stage: str) -> list[str]:
        """Played episodes that a training stage uses: its parent's rollouts, a teacher's, or none."""
        kinds = {"rejection": "rollouts", "kto": "rollouts", "teacher_sft": "teacher", "dr_grpo": "teacher"}
        name = kinds.get(str(self.stages[stage].get("kind")))
        return [f"data/training/{stage}/{name}.jsonl.zst"] if name else []

    @property
    def rolled_out(self) -> list[str]:
        """Training stages before which the parent plays training problems."""
        return [name for name in self.chain if any("rollouts" in path for path in self.episodes_of(name))]

    @property
    def chain(self) -> list[str]:
        """Training stages in the order of params.yaml, each behind its parent; new order alone draws no page anew."""
        ordered: list[str] = []
        waiting = list(self.stages)
        while waiting:
            ready = next((name for name in waiting if self.parent(name) not in waiting), None)
            if ready is None:
                raise ParamsError(f"{PARAMS}: training.stages: {', '.join(waiting)} are each other's parents")
            ordered.append(ready)
            waiting.remove(ready)
        return ordered

    @property
    def checkpoints(self) -> list[str]:
        """What is evaluated: the scripted expert, the base model and the result of every training stage."""
        return ["expert", "base", *self.chain]

    def model_of(self, checkpoint: str) -> list[str]:
        """The folder of a checkpoint, as a list of one, or of none for the scripted expert."""
        return [] if checkpoint == "expert" else [f"data/models/{checkpoint}"]

    @property
    def domains(self) -> dict[str, list[str]]:
        """Every value that a wildcard of the rules can take."""
        return {"snapshot": self.snapshots, "stage": sorted(self.stages), "checkpoint": self.checkpoints}

    def shape(self) -> str:
        """Canonical text of everything that the rules can see."""
        return json.dumps([self.sources, list(self.stages.items()), self.files], sort_keys=True)


FILES = {
    "catalog": "environment.catalog.source",
    "problems": "environment.problems.source",
    "protected": "leakage.protected.files",
}


def load_project(path: Path = PARAMS) -> Project:
    """The project of a checked params.yaml; ParamsError for the first mistake."""
    return project_of(load_params(path))


def project_of(document: dict[str, Any]) -> Project:
    """The shape of a loaded params.yaml."""
    stages = document.get("training", {}).get("stages", {})
    return Project(
        sources={name: fields["source"] for name, fields in document["snapshots"].items()},
        stages={
            name: {key: fields[key] for key in ("kind", "parent") if key in fields} for name, fields in stages.items()
        },
        files={name: _paths(document, dotted) for name, dotted in FILES.items()},
    )


def _paths(document: dict[str, Any], dotted: str) -> list[str]:
    try:
        value = lookup(document, dotted)
    except KeyError:
        return []
    values = value if isinstance(value, list) else [value]
    return [str(one) for one in values if one and one != "arena"]


def _one_of(names: Any) -> str:
    return "|".join(re.escape(name) for name in names) or NO_NAME
