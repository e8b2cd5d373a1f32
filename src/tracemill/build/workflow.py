"""What the Snakefile asks of the engine: stamps for its rules, one build at a time, DVC's answer before the plan."""

import os
import shlex
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from tracemill.build import locks
from tracemill.build.check import missing_sources
from tracemill.build.declare import STAMP, Declaration, declarations, is_stage, stamp_pattern
from tracemill.build.graph import remember
from tracemill.build.journal import record
from tracemill.build.project import Project, project_of
from tracemill.build.stamps import project_status
from tracemill.build.status import Reasons, stale_stages
from tracemill.build.sync import dvc_files
from tracemill.errors import BusyError, InputError, TracemillError
from tracemill.params import load_params

SCHEDULER = "TRACEMILL_SCHEDULER"
JOB = f"{shlex.quote(sys.executable)} -m tracemill.build.job {{input.{STAMP}}} {{log}} {{threads}}"
PATIENCE = 4.0  # seconds that a build waits for another one that is just planning or dying


class Build:
    """One reading of the Snakefile."""

    def __init__(self, workflow: Any) -> None:
        self.workflow = workflow
        self.stages: list[Declaration] = []
        self.started = time.monotonic()
        self.mode = _mode(workflow)
        self.lock: int | None = None
        self.document = _or_exit(load_params)
        self.project: Project = project_of(self.document)

    def everything(self, file: str = "") -> Callable[[Any], list[str]]:
        """Input function of a target: all outputs of the rules in one file, or of all rules."""
        return lambda wildcards: [
            path
            for stage in self.stages
            if not file or self.workflow.get_rule(stage.rule).snakefile == file
            for path in stage.outputs.values()
        ]

    def rule_files(self) -> list[str]:
        """Files to include, sorted."""
        return [str(path.resolve()) for path in sorted(Path("rules").glob("*.smk"))]

    def begin(self) -> None:
        """After the last rule: add the stamps; as the main process also check, lock, ask DVC and project its answer."""
        _or_exit(self._begin)

    def _begin(self) -> None:
        for rule in self.workflow.rules:
            if is_stage(rule):
                rule.input_modifier = rule.input_modifier or rule.output_modifier  # unset where a rule has no input
                rule.set_input(**{STAMP: stamp_pattern(rule.name, set(rule.wildcard_names))})
        if self.mode == "job":
            return
        self.stages = declarations(self.workflow, self.project)
        if self.mode != "look":
            remember(self.stages, self.project)
            dvc_files(self.stages, self.document).check()
            for missing in missing_sources(self.stages):
                raise InputError(missing)
            self._plan()

    def _plan(self) -> None:
        if self.mode == "build":
            self.lock = locks.acquire(locks.BUILD, "this project's build", PATIENCE)
            os.environ[SCHEDULER] = f"{os.getpid()}@{socket.gethostname()}"
            record("build", reasons=self._ask(PATIENCE))
            return
        try:
            with locks.held(locks.BUILD, "this project's build", 0.0):
                self._ask(0.0)
        except BusyError as error:
            print(f"tracemill: {error}; the plan below is of the last build's start", file=sys.stderr)

    def _ask(self, patience: float) -> Reasons:
        """Ask DVC, print its reasons, and let Snakemake see its answer."""
        reasons = _patiently(stale_stages, patience)
        project_status(self.stages, reasons)
        _print(reasons)
        return reasons

    def end(self, outcome: str) -> None:
        """Note the end of a build; the kernel frees its lock."""
        if self.mode == "build":
            record("end", outcome=outcome, seconds=round(time.monotonic() - self.started, 3))


def _patiently(ask: Callable[[], Reasons], patience: float) -> Reasons:
    """DVC's answer; a process that is just dying after a kill gets a moment to let go."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return ask()
        except BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def _mode(workflow: Any) -> str:
    """`build`, `plan` (dry runs and everything that only looks), `look` (no status needed), `job` (a scheduled one)."""
    if not workflow.is_main_process:
        return "job"
    program = Path(sys.argv[0])
    if program.name != "snakemake" and program.parent.name != "snakemake":  # read through the interface
        return "look"
    from snakemake.cli import get_argument_parser

    chosen, _ = get_argument_parser().parse_known_args(sys.argv[1:])
    if any(getattr(chosen, name, None) for name in LOOKS):
        return "look"
    return "plan" if any(getattr(chosen, name, None) for name in PLANS) else "build"


LOOKS = ("unlock", "lint", "list_rules", "list_target_rules", "print_compilation", "cleanup_metadata", "version")
PLANS = ("dryrun", "dag", "rulegraph", "filegraph", "d3dag", "summary", "detailed_summary", "report", "list_changes")


def _print(reasons: Reasons) -> None:
    for address, lines in sorted(reasons.items()):
        shown = "; ".join(lines[:4]) + (f"; and {len(lines) - 4} more" if len(lines) > 4 else "")
        print(f"tracemill: {address} is stale: {shown}", file=sys.stderr)


def _or_exit(action: Callable[[], Any]) -> Any:
    try:
        return action()
    except TracemillError as error:
        _exit(error)
    except OSError as error:  # a full or read-only disk
        _exit(InputError(f"{error.filename or 'this folder'}: {error.strerror}; make room or make it writable"))


def _exit(error: TracemillError) -> NoReturn:
    """End at once with one message and its code: Snakemake would wrap the error in a report about the Snakefile."""
    print(f"tracemill: {error}", file=sys.stderr, flush=True)
    sys.stdout.flush()
    os._exit(error.exit_code)
