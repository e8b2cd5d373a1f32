"""A rule's job: its stage through DVC, which looks it up by content before anything runs.

python -m tracemill.build.job STAMP LOG THREADS
"""

import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tracemill.build import process
from tracemill.build.declare import STAMPS
from tracemill.build.dvc_files import lock_entries_replaced, params_read_once
from tracemill.build.graph import outputs_of
from tracemill.build.status import holders
from tracemill.own_code import prefer_own_code

SCHEDULER = "TRACEMILL_SCHEDULER"
UNEXPECTED = "ERROR: unexpected error - "


def main(stamp: str, log: str) -> int:
    """Bring one stage up to date; the log holds what DVC and the script say. Returns the exit status."""
    _end_with_scheduler()
    Path(log).parent.mkdir(parents=True, exist_ok=True)
    terminal = os.dup(2)
    with Path(log).open("wb") as lines:
        os.dup2(lines.fileno(), 1)
        os.dup2(lines.fileno(), 2)
    address = _address(stamp)
    status = _reproduce(address, log)
    missing = [path for path in outputs_of(address) if not Path(path).exists()] if status == 0 else []
    if missing:
        os.write(2, f"ERROR: output {missing[0]} of {address} does not exist after its stage\n".encode())
    if status or missing:
        os.write(terminal, f"tracemill: {address} failed: {_cause(address, log)} (all of it: {log})\n".encode())
    return status or bool(missing)


def _reproduce(address: str, log: str) -> int:
    from dvc.cli import main as dvc

    pull = ["--pull"] if _remote() else []
    while True:
        with params_read_once(), lock_entries_replaced():
            status = int(dvc(["--wait-for-lock", "repro", "--single-item", *pull, address]) or 0)
        text = Path(log).read_text(encoding="utf-8", errors="replace")
        if status == 0 or "is busy, it is being blocked by" not in text.rsplit("\n\nwaiting for", 1)[-1]:
            return status
        os.write(2, f"\n\nwaiting for {holders(text)}\n".encode())
        time.sleep(1.0)


def _remote() -> str | None:
    """Name of the default remote."""
    from dvc.config import Config
    from dvc.repo import Repo

    return Config(Repo.find_dvc_dir())["core"].get("remote")  # type: ignore[no-any-return]


def _address(stamp: str) -> str:
    path = Path(stamp).relative_to(STAMPS)
    return f"{path.parent}/dvc.yaml:{path.name}" if path.parent.parts else path.name


def _cause(address: str, log: str) -> str:
    """The line of a log that says most: our own message, else the last error."""
    lines = Path(log).read_text(encoding="utf-8", errors="replace").splitlines()
    lost = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: failed to transfer")]
    ran = any(line.startswith("Running stage") for line in lines)
    if lost:
        outputs = ", ".join(outputs_of(address))
        if ran or not _remote() or "[Errno 28]" in lost[0]:
            return f"the cache cannot take {outputs} ({lost[0]}); make room or make it writable, then build again"
        advice = f"`dvc push` where they were built, or run the stage here: dvc repro --single-item {address}"
        return f"the remote gave only a part of {outputs} ({lost[0]}); {advice}"
    silent = [line.removeprefix(UNEXPECTED) for line in lines if line.startswith(UNEXPECTED)]
    if silent and _remote() and not ran:
        return f"the remote {_remote()!r} does not answer ({silent[-1]}); `dvc repro` builds without it"
    ours = [line.removeprefix("tracemill: ") for line in lines if line.startswith("tracemill: ")]
    errors = [line for line in lines if "Error" in line or line.startswith("ERROR")]
    return (ours or list(_exceptions(lines)) or errors or ["no message"])[-1]


def _exceptions(lines: list[str]) -> Iterator[str]:
    """What each traceback ends with; not a launcher's, which only says that its process failed."""
    inside = False
    for line in lines:
        if inside and not line.startswith(" "):
            inside = False
            if line and "CalledProcessError" not in line:
                yield line
        inside = inside or line.startswith("Traceback (most recent call last)")


def _end_with_scheduler() -> None:
    """A killed scheduler must not leave jobs behind: the next build would meet them."""
    pid, _, host = os.environ.get(SCHEDULER, "").partition("@")
    if pid and host == socket.gethostname():
        process.when_gone([int(pid)], lambda: os._exit(1))


if __name__ == "__main__":
    prefer_own_code("tracemill.build.job")
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    os.environ["TRACEMILL_THREADS"] = sys.argv[3]  # what the scheduler gives this job; a stage that can use it does
    sys.exit(main(*sys.argv[1:3]))
