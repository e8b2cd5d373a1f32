"""DVC's reading and writing of its own files with less parsing: the same values and the same bytes.

DVC reads params.yaml anew for each stage, and rewrites a whole lock file, through a parser in Python that keeps
comments, for each stage that ran: seconds per job where a lock file has thousands of lines. Here params.yaml is read
once in a process, and a stage's entry takes the place of its old one in the text of the lock file.
"""

import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

HEAD = "schema: '2.0'\nstages:\n"
ENTRY = re.compile(r"^(?=  [A-Za-z0-9])", re.MULTILINE)


@contextmanager
def params_read_once() -> Iterator[None]:
    """Parse params.yaml once for all stages, and again only when it has changed."""
    from dvc.dependency import param

    original, known = param.load_path, dict[str, tuple[tuple[int, ...], Any]]()

    def load(path: str, fs: Any, **options: Any) -> Any:
        found = os.stat(path)
        state = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        if path not in known or known[path][0] != state:
            known[path] = (state, original(path, fs, **options))
        return deepcopy(known[path][1])

    param.load_path = load
    try:
        yield
    finally:
        param.load_path = original


@contextmanager
def lock_entries_replaced() -> Iterator[None]:
    """Write a stage's entry into its lock file by text, whole or not at all; files of another form are DVC's own."""
    from dvc.dvcfile import Lockfile

    original = Lockfile.dump_stages

    def dump_stages(self: Any, stages: list[Any], **options: Any) -> None:
        text = Path(self.path).read_text(encoding="utf-8") if self.exists() else ""
        entries = _entries(stages, options)
        merged = merge_entries(text, entries)
        if merged is None:
            original(self, stages, **options)
        elif merged != text:
            _write(Path(self.path), merged)
            self.repo.scm_context.track_file(self.relpath)

    Lockfile.dump_stages = dump_stages
    try:
        yield
    finally:
        Lockfile.dump_stages = original


def merge_entries(text: str, entries: dict[str, str]) -> str | None:
    """The text of a lock file with these entries replaced or appended; None where it is not as DVC writes it."""
    if not entries or not (text or HEAD).startswith(HEAD):
        return None
    blocks = ENTRY.split(text.removeprefix(HEAD))
    if blocks.pop(0) or any(not line.startswith("  ") for block in blocks for line in block.splitlines()):
        return None
    kept = {block.partition(":")[0].strip(): block for block in blocks}
    if len(kept) != len(blocks) or any(not block.endswith("\n") for block in blocks):
        return None
    return HEAD + "".join({**kept, **entries}.values())


def _entries(stages: list[Any], options: dict[str, Any]) -> dict[str, str]:
    """Text of each stage's entry as DVC's own writer gives it."""
    from dvc.stage import serialize
    from dvc.utils.serialize import _yaml

    texts: dict[str, str] = {}
    for stage in stages:
        stream = io.StringIO()
        _yaml._dump({"stages": dict(serialize.to_lockfile(stage, **options))}, stream)
        texts[stage.name] = stream.getvalue().removeprefix("stages:\n")
    return texts


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
