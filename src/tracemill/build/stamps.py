"""DVC's answer, projected on file times, so that Snakemake plans exactly what DVC calls stale.

Each stage has a stamp among its rule's inputs. A stale stage's stamp is newer than its outputs and holds the reasons
and a fresh nonce (Snakemake compares small inputs by checksum: equal text would count as unchanged). An up-to-date
stage's stamp is dated to the epoch, and where its outputs are older than its inputs (checkout, pull, clone) their times
are raised.
"""

import os
import time
import uuid
from pathlib import Path

from tracemill.build.declare import Declaration
from tracemill.build.status import Reasons
from tracemill.errors import InputError

FRESH = "up to date\n"
INCOMPLETE = Path(".snakemake/incomplete")  # marks of jobs that were interrupted: DVC may have run their stages since
TIMESTAMP = ".snakemake_timestamp"  # where Snakemake keeps the time of a directory


def project_status(stages: list[Declaration], reasons: Reasons) -> None:
    """Write every stage's stamp and raise the times of up-to-date outputs just enough."""
    for mark in INCOMPLETE.rglob("*"):
        if mark.is_file():
            mark.unlink()
    _leave_the_future(stages)
    for stage in stages:
        if stage.address in reasons:
            _write_stale(stage, reasons[stage.address])
        else:
            _write_fresh(Path(stage.stamp))
    settled = [stage for stage in stages if stage.address not in reasons]
    while sum(_raise_times(stage) for stage in settled):  # to a fixed point: hard links to one object share a time
        pass


def _leave_the_future(stages: list[Declaration]) -> None:
    """Bring times ahead of the clock (of another machine, of a bad copy) down to now: no output could outdate them."""
    now = time.time_ns()
    for path in {Path(path) for stage in stages for path in (*stage.input_files, *stage.outputs.values())}:
        if _time(path, targets=True) > now:
            _set_time(path, now)


def _write_stale(stage: Declaration, reasons: list[str]) -> None:
    stamp = Path(stage.stamp)
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text("\n".join([*reasons, uuid.uuid4().hex, ""]), encoding="utf-8")
    newest = max([time.time_ns(), *(_time(Path(path)) + 1_000_000 for path in stage.outputs.values())])
    os.utime(stamp, ns=(newest, newest))


def _write_fresh(stamp: Path) -> None:
    try:
        if stamp.stat().st_mtime_ns == 0:
            return
    except FileNotFoundError:
        stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(FRESH, encoding="utf-8")
    os.utime(stamp, ns=(0, 0))


def _raise_times(stage: Declaration) -> bool:
    newest = max((_time(Path(path), targets=True) for path in stage.input_files), default=0)
    late = [path for path in stage.outputs.values() if _time(Path(path)) < newest]
    for path in late:
        _set_time(Path(path), newest)
    return bool(late)


def _time(path: Path, targets: bool = False) -> int:
    """A file's time as Snakemake sees it: of the link, for inputs of its target too; 0 when there is no file."""
    try:
        found = path.lstat().st_mtime_ns
        if path.is_symlink():
            return max(found, path.stat().st_mtime_ns) if targets else found
        mark = path / TIMESTAMP
        return mark.stat().st_mtime_ns if path.is_dir() and mark.exists() else found
    except FileNotFoundError:
        return 0


def _set_time(path: Path, when: int) -> None:
    carrier = path / TIMESTAMP if path.is_dir() and not path.is_symlink() else path
    try:
        if carrier.name == TIMESTAMP:
            carrier.touch()
        os.utime(carrier, ns=(when, when), follow_symlinks=False)
    except PermissionError as error:
        raise InputError(
            f"{path}: its time cannot be set, it is of user {path.lstat().st_uid}: the DVC cache is someone else's; "
            "use links of your own (`dvc config cache.type reflink,symlink,copy`, then `dvc checkout --relink`)"
        ) from error
