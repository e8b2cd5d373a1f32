"""A stage's outputs from the end of its script until DVC has recorded them, as hard links that take no room.

DVC copies outputs into its cache after a stage has ended. Where that fails (a full disk, a cache that cannot be
written, a kill), the outputs are removed with the job; the next run finds them here and does not work a second time.
"""

import json
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from tracemill.build.process import remove_tree

FINISHED = "finished"
ABOUT = "about.json"


def keep(work: Path, made: dict[str, Path], lock_file: str, stage: str) -> None:
    """Keep the outputs `made` (by name) in the folder `work`; where they cannot be hard links nothing is kept."""
    draft = work / f"{FINISHED}.new"
    try:
        remove_tree(draft)
        remove_tree(work / FINISHED)
        draft.mkdir()
        for name, path in made.items():
            _link(path, draft / name)
        about = {"lock": lock_file, "stage": stage, "entry": _entry(lock_file, stage), "files": _state(draft)}
        (draft / ABOUT).write_text(json.dumps(about), encoding="utf-8")
        draft.rename(work / FINISHED)
    except OSError:
        remove_tree(draft)


def bring_back(work: Path, targets: dict[str, Path]) -> bool:
    """Give kept outputs the names `targets`; False where there are none or one was changed since."""
    folder = work / FINISHED
    about = _about(folder)
    if about is None or about["files"] != _state(folder):
        return False
    try:
        for name, target in targets.items():
            _link(folder / name, target)
    except OSError:
        for target in targets.values():
            remove_tree(target)
        return False
    return True


def let_go(root: Path) -> None:
    """Remove what DVC has recorded since: its lock file has another entry for the stage."""
    for folder in root.glob(f"*/{FINISHED}"):
        about = _about(folder)
        if about is None or _entry(about["lock"], about["stage"]) != about["entry"]:
            with suppress(OSError):  # another stage's supervisor may be at it
                remove_tree(folder)
                folder.parent.rmdir()


def _about(folder: Path) -> dict[str, Any] | None:
    try:
        return dict(json.loads((folder / ABOUT).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None


def _link(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, copy_function=os.link)
    else:
        os.link(source, target)


def _state(folder: Path) -> dict[str, list[int]]:
    """Size and time of every file: what was edited in place since is not brought back."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / ABOUT)
    return {path.relative_to(folder).as_posix(): [path.stat().st_size, path.stat().st_mtime_ns] for path in files}


def _entry(lock_file: str, stage: str) -> str:
    """Text of the stage's entry in DVC's lock file; empty where there is none."""
    try:
        text = Path(lock_file).read_text(encoding="utf-8")
    except OSError:
        return ""
    found = re.search(rf"^  {re.escape(stage)}:\n(?:    .*\n)*", text, re.MULTILINE)
    return found.group() if found else ""
