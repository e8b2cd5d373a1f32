"""What DVC calls stale, and why, in words. DVC is asked once for all stages; nothing else decides."""

import difflib
import json
import re
from collections.abc import Iterator
from typing import Any

from tracemill.build.dvc_files import params_read_once
from tracemill.build.rwlock import drop_dead_holders
from tracemill.errors import BusyError, InputError, StageError

Reasons = dict[str, list[str]]
MISSING = object()


def stale_stages() -> Reasons:
    """Reasons by stage address for every stale stage; BusyError while another DVC process holds one."""
    from dvc.exceptions import DvcException
    from dvc.lock import LockError
    from dvc.repo import Repo

    _quiet()
    try:
        with Repo() as repo, params_read_once():
            drop_dead_holders(repo)
            status = repo.status()
            stages = {stage.addressing: stage for stage in repo.index.stages} if status else {}
    except LockError as error:
        raise BusyError(f"DVC is at work in this project: {holders(str(error))}; wait for it or end it") from error
    except DvcException as error:
        said = " ".join(str(error).split())
        raise StageError(f"DVC cannot tell what is stale: {said}{_remedy(said)}") from error
    return {address: list(_reasons(entries, stages.get(address))) for address, entries in status.items()}


def require_stage(name: str) -> None:
    """Raise InputError, with the nearest names, unless `name` is a stage's address, or its name without the file."""
    from dvc.repo import Repo

    with Repo() as repo, params_read_once():
        known = {
            part for stage in repo.index.stages for part in (stage.addressing, stage.addressing.rpartition(":")[2])
        }
    if name not in known:
        near = sorted(one for one in known if name in one) or difflib.get_close_matches(name, sorted(known), n=8)
        advice = f"did you mean {', '.join(near[:8])}?" if near else "`dvc stage list --all` lists them"
        raise InputError(f"no stage is called {name!r}; {advice}")


def _remedy(message: str) -> str:
    if "is not a git repository" in message:
        return "; make it one (`git init`), or tell DVC to do without: `dvc config core.no_scm true`"
    if "dvc.lock" in message:
        return "; restore that file (`git checkout`), or delete it: what the cache holds is not built again"
    return ""


def holders(message: str) -> str:
    """The processes that DVC's lock error names, on one line."""
    named = re.findall(r"\(PID (\d+)\): (.*)", message)
    return ", ".join(f"process {pid} ({command[:100]})" for pid, command in named) or _lock_holder()


def _lock_holder() -> str:
    from pathlib import Path

    try:
        pid = Path(".dvc/tmp/lock").read_text(encoding="utf-8").strip().split()[0]
    except (OSError, IndexError):
        return "another process holds its lock"
    return f"process {pid} holds its lock"


def _quiet() -> None:
    import logging

    logging.getLogger("dvc").setLevel(logging.ERROR)


def _reasons(entries: list[Any], stage: Any) -> Iterator[str]:
    deps = {
        path: kind
        for entry in entries
        if isinstance(entry, dict)
        for path, kind in entry.get("changed deps", {}).items()
    }
    outs = {
        path: kind
        for entry in entries
        if isinstance(entry, dict)
        for path, kind in entry.get("changed outs", {}).items()
    }
    if stage is not None and all(not out.hash_info for out in stage.outs):
        yield "never built"
        return
    if any(entry == "changed command" for entry in entries):
        yield "command changed"
    parameters = _parameters(stage)
    for path, kind in deps.items():
        if isinstance(kind, dict):
            for section in kind:
                yield from parameters.get(section, [f"parameter {section} changed"])
        else:
            yield f"{_what(path)} {path} {_dependency_words(kind)}"
    for path, kind in outs.items():
        yield f"output {path} {_output_words(kind)}"


def _what(path: str) -> str:
    if path.startswith("scripts/"):
        return "script"
    return "module" if path.startswith("src/") else "input"


def _dependency_words(kind: str) -> str:
    return {"modified": "changed", "deleted": "is missing", "new": "is new"}.get(kind, kind)


def _output_words(kind: str) -> str:
    words = {
        "modified": "was changed by hand or is of another build",
        "deleted": "is missing",
        "not in cache": "is not in the cache",
    }
    return words.get(kind, kind)


def _parameters(stage: Any) -> dict[str, list[str]]:
    """Changed values by section, from what dvc.lock recorded to what params.yaml says."""
    from dvc.dependency import ParamsDependency

    found: dict[str, list[str]] = {}
    for dep in stage.deps if stage is not None else []:
        if isinstance(dep, ParamsDependency):
            recorded = dep.hash_info.value if dep.hash_info else {}
            current = dep.read_params()
            for section in dep.params:
                before, after = (recorded or {}).get(section, MISSING), current.get(section, MISSING)
                found[section] = [f"parameter {line}" for line in _changes(section, before, after)]
    return {section: lines for section, lines in found.items() if lines}


def _changes(name: str, before: Any, after: Any) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            yield from _changes(f"{name}.{key}", before.get(key, MISSING), after.get(key, MISSING))
    elif before is MISSING or after is MISSING or before != after:
        yield f"{name}: {_value(before)} -> {_value(after)}"


def _value(value: Any) -> str:
    return "(none)" if value is MISSING else json.dumps(value, default=str)[:60]
