"""`tracemill show`: the record of one artifact, read from DVC's lock files: content, origin, parameters, commit."""

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracemill.document import read_yaml
from tracemill.errors import InputError


@dataclass(frozen=True)
class Made:
    """An output as a lock file records it, and the stage that made it."""

    path: str
    digest: str
    bytes: int
    files: int | None
    lock: str
    stage: str
    entry: dict[str, Any]


def recorded(root: Path = Path()) -> dict[str, Made]:
    """Every output that a lock file records, by path."""
    found: dict[str, Made] = {}
    for lock in sorted([*root.glob("dvc.lock"), *root.glob("snapshots/*/dvc.lock")]):
        declared = _declared(lock.with_name("dvc.yaml"))
        for name, entry in (read_yaml(lock).get("stages") or {}).items():
            for out in entry.get("outs", []) if name in declared else []:
                sizes = (out.get("size", 0), out.get("nfiles"))
                found[out["path"]] = Made(out["path"], out.get("md5", ""), *sizes, str(lock), name, entry)
    return found


def _declared(file: Path) -> set[str]:
    """Names of the stages in a DVC file as `make sync` writes it: lock files keep those that are gone."""
    return set(re.findall(r"^  (\S+):$", file.read_text(encoding="utf-8"), re.MULTILINE)) if file.is_file() else set()


def describe(path: str) -> Iterator[str]:
    """Lines that describe an artifact, or the folder that it is a part of; InputError when no lock file records it."""
    made = recorded()
    place = Path(os.path.relpath(path))
    wanted = next((one.as_posix() for one in (place, *place.parents) if one.as_posix() in made), None)
    if wanted is None:
        near = sorted(known for known in made if place.name in known)[:5]
        raise InputError(
            f"{path}: no lock file records it; recorded are {', '.join(near) or 'other paths'} (dvc dag --outs)"
        )
    artifact = made[wanted]
    yield f"artifact   {artifact.path}"
    yield f"digest     md5 {artifact.digest}"
    yield f"size       {artifact.bytes} bytes" + (f" in {artifact.files} files" if artifact.files else "")
    rows = _rows(Path(wanted))
    if rows is not None:
        yield f"rows       {rows}"
    yield f"made by    {artifact.stage} ({artifact.lock})"
    yield f"command    {artifact.entry['cmd']}"
    for file, values in artifact.entry.get("params", {}).items():
        for name, value in values.items():
            yield f"parameter  {name} = {value} ({file})"
    yield f"commit     {_commit(artifact)}"
    yield "lineage"
    yield from _lineage(artifact, made, 1, set())


def _lineage(artifact: Made, made: dict[str, Made], depth: int, seen: set[str]) -> Iterator[str]:
    for dep in artifact.entry.get("deps", []):
        path = dep["path"]
        if path.startswith(("src/", "scripts/")):
            continue
        origin = made.get(path)
        again = " (above)" if path in seen else ""
        yield f"{'  ' * depth}{path} {dep.get('md5', '')[:12]}{f' from {origin.stage}' if origin else ''}{again}"
        if origin is not None and not again:
            seen.add(path)
            yield from _lineage(origin, made, depth + 1, seen)


def _rows(path: Path) -> int | None:
    if path.suffix == ".parquet" and path.is_file():
        import pyarrow.parquet as pq

        return int(pq.read_metadata(path).num_rows)
    if path.suffix in (".jsonl", ".csv") and path.is_file():
        with path.open("rb") as lines:
            return sum(1 for _ in lines) - (path.suffix == ".csv")
    return None


def _commit(artifact: Made) -> str:
    """The commit that brought this digest into the lock file."""
    command = ["git", "log", "--format=%h %s", f"-S{artifact.digest}", "--", artifact.lock]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    commits = done.stdout.splitlines()
    return commits[-1] if commits else "not committed yet"
