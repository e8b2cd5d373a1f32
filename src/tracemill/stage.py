"""What a stage's script sees: its named inputs and outputs, its parameters, and a folder for work that survives a kill.

Every script depends on this module, so it stays small. The supervisor (`tracemill.build.run`) checks the declaration,
writes a ticket and starts the script; a script started by hand hands itself over to the supervisor first:

    python scripts/filter_traces.py --snapshot sim-a
"""

import errno
import json
import logging
import os
import select
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from tracemill.errors import StageError, SyncError, TracemillError

TICKET = "TRACEMILL_TICKET"
Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class Stage:
    """One stage as its rule declares it; paths are relative to the project's folder, which is the working directory."""

    name: str
    wildcards: dict[str, str]
    sections: dict[str, Any]
    work: Path
    supervisor: str
    code: list[str]
    named_inputs: dict[str, list[str]]
    named_outputs: dict[str, str]

    def input(self, name: str) -> Path:
        """Path of a named input; StageError when the rule gives that name to none or to several files."""
        paths = self.inputs(name)
        if len(paths) != 1:
            raise StageError(f"stage {self.name}: input {name!r} names {len(paths)} files, expected one")
        return paths[0]

    def inputs(self, name: str) -> list[Path]:
        """Paths of a named input that may list several files, in the rule's order."""
        if name not in self.named_inputs:
            raise StageError(f"stage {self.name}: no input named {name!r}, only {sorted(self.named_inputs)}")
        return [Path(path) for path in self.named_inputs[name]]

    def output(self, name: str) -> Path:
        """Temporary path of a named output (a file or a folder to create); it is renamed into place after success."""
        if name not in self.named_outputs:
            raise StageError(f"stage {self.name}: no output named {name!r}, only {sorted(self.named_outputs)}")
        return Path(self.named_outputs[name])

    def params(self, section: str, model: type[Model]) -> Model:
        """A section of params.yaml as `model`; StageError when the rule does not declare that section."""
        if section not in self.sections:
            raise StageError(f"stage {self.name}: its rule does not declare the section {section!r} in `params:`")
        return model.model_validate_json(json.dumps(self.sections[section]))


def run(main: Callable[[Stage], None]) -> None:
    """Call `main` with the stage of this process; an expected error is one line and its exit code."""
    ticket = os.environ.get(TICKET)
    if ticket is None:
        os.execv(sys.executable, [sys.executable, "-m", "tracemill.build.run", *sys.argv])
    fields = json.loads(Path(ticket).read_text(encoding="utf-8"))
    _end_with(fields["supervisor"])
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    stage = Stage(**{**fields, "work": Path(fields["work"])})
    try:
        main(stage)
        _check_modules(stage)
    except TracemillError as error:
        print(f"tracemill: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EACCES):
            raise
        print(f"tracemill: {error.filename or 'output'}: {error.strerror}; nothing was published", file=sys.stderr)
        sys.exit(StageError.exit_code)


def _check_modules(stage: Stage) -> None:
    """A module that reached this process by another way than an import statement would be no reason to run again."""
    package = Path("src/tracemill").resolve()
    loaded = [Path(file) for module in sys.modules.values() if (file := getattr(module, "__file__", None))]
    ours = {path.resolve() for path in loaded if package in path.parents and path.name != "__init__.py"}
    undeclared = sorted(ours - {Path(path).resolve() for path in stage.code})
    if undeclared:
        raise SyncError(f"stage {stage.name}: it loaded {undeclared[0]}, which it does not depend on; run `make sync`")


def _end_with(supervisor: str) -> None:
    """End this process at once when its supervisor is gone: nobody would publish its work, another may have begun."""
    pid, _, host = supervisor.partition("@")
    if host != socket.gethostname():  # another node of one launch: its launcher answers for it
        return
    poll = select.poll()
    poll.register(os.pidfd_open(int(pid)), select.POLLIN)
    threading.Thread(target=lambda: poll.poll() and os._exit(1), daemon=True).start()
