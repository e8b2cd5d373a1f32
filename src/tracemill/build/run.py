"""The supervisor that runs a stage's script, under DVC or by hand.

    python -m tracemill.build.run scripts/filter_traces.py --snapshot sim-a

It checks params.yaml and the declaration, holds the stage's lock, starts the script (or `accelerate launch` with it),
ends all of its processes when DVC dies, and publishes the outputs by renaming them once the script has succeeded. Only
the supervisor ever writes the final names, so that an orphan cannot.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from tracemill.build import finished, locks, process
from tracemill.build.basis import Basis
from tracemill.build.declare import Declaration
from tracemill.build.graph import load_graph
from tracemill.build.journal import record
from tracemill.build.process import remove_tree
from tracemill.build.sync import DvcFiles, dvc_files
from tracemill.document import lookup
from tracemill.errors import InputError, StageError, SyncError, TracemillError
from tracemill.own_code import prefer_own_code, python_path
from tracemill.params import load_params
from tracemill.stage import TICKET

ACCELERATE = "TRACEMILL_ACCELERATE_CONFIG"
ACCELERATE_DEFAULT = "profiles/accelerate/cpu.yaml"
WORK = Path(".tracemill/work")
KEPT = "answers"  # paid for: never removed
PATIENCE = 15.0


def main(arguments: list[str]) -> int:
    """Run the stage that `arguments` (script and wildcards) name; returns its exit status."""
    document = load_params()
    stages = load_graph(document)
    stage = _chosen(stages, arguments)
    files = dvc_files(stages, document)
    files.check({stage.file, "versions.txt"})
    with locks.held(locks.stage_lock(stage.address), f"stage {stage.address}", PATIENCE) as lock:
        return _run(stage, document, files, lock)


def _chosen(stages: list[Declaration], arguments: list[str]) -> Declaration:
    if not arguments:
        raise StageError("usage: python -m tracemill.build.run scripts/RULE.py [--WILDCARD VALUE ...]")
    rule = Path(arguments[0]).stem
    wildcards = dict(zip((word.removeprefix("--") for word in arguments[1::2]), arguments[2::2], strict=False))
    for stage in stages:
        if stage.rule == rule and stage.wildcards == wildcards:
            return stage
    known = sorted(
        " ".join([s.script, *(f"--{k} {v}" for k, v in s.wildcards.items())]) for s in stages if s.rule == rule
    )
    raise SyncError(
        f"no stage {' '.join(arguments)}; there are {known or 'none of this rule'}; after a change: `make sync`"
    )


def _run(stage: Declaration, document: dict[str, Any], files: DvcFiles, lock: int) -> int:
    sections = {section: lookup(document, section) for section in stage.sections}
    basis = Basis(stage.address, sections, files.dependencies[stage.address])
    work = WORK / basis.identity(stage.command)
    work.mkdir(parents=True, exist_ok=True)
    finished.let_go(WORK)
    temporary = {name: _temporary(Path(path)) for name, path in stage.outputs.items()}
    under_dvc, event, outcome = "DVC_ROOT" in os.environ, "stage", 1
    started = time.monotonic()
    if under_dvc and finished.bring_back(work, temporary):
        status, event = 0, "brought back"
    else:
        status = _supervise(stage, _ticket(stage, sections, basis, temporary, work), lock)
    try:
        if status == 0:
            basis.require_unchanged()
            _require_all(stage, temporary)
            if under_dvc:
                finished.keep(work, temporary, str(Path(stage.file).with_name("dvc.lock")), stage.name)
            _publish(stage, temporary)
        outcome = status
    finally:
        for path in temporary.values():
            remove_tree(path)
        record(event, stage=stage.address, status=outcome, seconds=round(time.monotonic() - started, 3))
    if status == 0:
        _clear(work)
    return status


def _ticket(stage: Declaration, sections: dict[str, Any], basis: Basis, temporary: dict[str, Path], work: Path) -> Path:
    """Write what the script may know of its stage into its folder of work."""
    ticket = work / "ticket.json"
    fields = {
        "name": stage.address,
        "wildcards": stage.wildcards,
        "sections": sections,
        "work": str(work),
        "supervisor": f"{os.getpid()}@{socket.gethostname()}",
        "code": basis.dependencies,
        "named_inputs": stage.inputs,
        "named_outputs": {name: str(path) for name, path in temporary.items()},
    }
    ticket.write_text(json.dumps(fields), encoding="utf-8")
    return ticket


def _temporary(output: Path) -> Path:
    """A name beside the output; what a killed run left there is removed (its lock is ours now)."""
    output.parent.mkdir(parents=True, exist_ok=True)
    for left in output.parent.glob(f".tmp-*-{output.name}"):
        remove_tree(left)
    return output.with_name(f".tmp-{os.getpid()}-{output.name}")


def _supervise(stage: Declaration, ticket: Path, lock: int) -> int:
    """Start the script in a process group of its own and answer for it; returns its exit status."""
    process.adopt_orphans()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    if "DVC_ROOT" in os.environ:
        process.when_gone(process.masters(), _master_gone)
        if os.getppid() == 1:  # it died before it could be watched
            _master_gone()
    environment = {**os.environ, TICKET: str(ticket), "PYTHONPATH": python_path()}
    child = subprocess.Popen(_command(stage), env=environment, start_new_session=True, pass_fds=(lock,))
    try:
        return child.wait()
    finally:
        process.end_descendants()


def _command(stage: Declaration) -> list[str]:
    script = [stage.script, *(word for key, value in sorted(stage.wildcards.items()) for word in (f"--{key}", value))]
    if stage.launch != "accelerate launch":
        return [sys.executable, *script]
    config = os.environ.get(ACCELERATE, ACCELERATE_DEFAULT)
    if not Path(config).is_file():
        raise StageError(f"no accelerate config {config}; set {ACCELERATE} to one of profiles/accelerate/*.yaml")
    return [sys.executable, "-m", "accelerate.commands.launch", "--config_file", config, *script]


def _require_all(stage: Declaration, temporary: dict[str, Path]) -> None:
    missing = [name for name, path in temporary.items() if not path.exists()]
    if missing:
        raise StageError(f"stage {stage.address}: {stage.script} did not write its output {missing[0]!r}")


def _publish(stage: Declaration, temporary: dict[str, Path]) -> None:
    for name, path in temporary.items():
        target = Path(stage.outputs[name])
        remove_tree(target)
        path.replace(target)


def _clear(work: Path) -> None:
    for path in work.iterdir():
        if path.name not in (KEPT, finished.FINISHED):
            remove_tree(path)
    if not any(work.iterdir()):
        work.rmdir()


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def _master_gone() -> None:
    """DVC is dead: end everything below, then this process, whose exit frees the lock."""
    process.end_descendants(grace=1.0)
    os._exit(1)


if __name__ == "__main__":
    prefer_own_code("tracemill.build.run")
    try:
        sys.exit(main(sys.argv[1:]))
    except TracemillError as error:
        print(f"tracemill: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except OSError as error:  # a full or read-only disk
        print(f"tracemill: {error.filename or 'this folder'}: {error.strerror}; nothing was published", file=sys.stderr)
        sys.exit(InputError.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
