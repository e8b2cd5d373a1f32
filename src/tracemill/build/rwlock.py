"""DVC's table of readers and writers, `.dvc/tmp/rwlock`, freed of what a kill, a full disk or a power cut left in it.

DVC forgets a holder whose process is gone. It does not see that the number has been given to another process since, as
happens when a machine or a container starts again, and a table that was cut while it was written stops it for good.
"""

import json
from pathlib import Path
from typing import Any

import psutil

MARGIN = 2.0  # seconds by which a process's start and a file's time may be told wrongly

Table = dict[str, dict[str, Any]]


def drop_dead_holders(repo: Any) -> None:
    """Make the table of a DVC repository usable; LockError while another DVC process holds its guard."""
    from dvc.lock import make_lock

    table = Path(repo.tmp_dir, "rwlock")
    if _mended(table) is None:
        return
    guard = make_lock(
        f"{table}.lock", tmp_dir=repo.tmp_dir, hardlink_lock=repo.config["core"].get("hardlink_lock", False)
    )
    with guard:
        mended = _mended(table)  # it may just have been written
        if mended is not None:
            draft = table.with_suffix(".new")
            draft.write_text(json.dumps(mended), encoding="utf-8")
            draft.replace(table)


def _mended(table: Path) -> Table | None:
    """The table as it should be, or None where it is right as it stands."""
    try:
        written, text = table.stat().st_mtime, table.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    try:
        found = {"write": {}, "read": {}, **json.loads(text)}
        alive = {
            "write": {path: one for path, one in found["write"].items() if _holds(one, written)},
            "read": {path: [one for one in all_ if _holds(one, written)] for path, all_ in found["read"].items()},
        }
    except (ValueError, TypeError, KeyError, AttributeError):
        return {}
    return None if alive == found else alive


def _holds(holder: dict[str, Any], written: float) -> bool:
    """Whether the process with this number may have written the entry; DVC itself looks for numbers that are gone."""
    try:
        return bool(psutil.Process(holder["pid"]).create_time() < written + MARGIN)
    except psutil.NoSuchProcess:
        return True
