"""What a stage stands on while it runs: its parameters and the content of all its dependencies.

DVC records dependencies as they are when a stage has ended. A script edited while its training ran would be recorded
as the one that trained, so the supervisor compares both ends before it publishes anything.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tracemill.build.stamps import TIMESTAMP
from tracemill.document import lookup, read_yaml
from tracemill.errors import ParamsError, StageError
from tracemill.params import PARAMS

Signature = tuple[int, int, int]


class Basis:
    """Parameters and contents as they were when the stage began; StageError for a dependency that is not there."""

    def __init__(self, address: str, sections: dict[str, Any], dependencies: list[str]) -> None:
        self.address = address
        self.sections = sections
        self.dependencies = dependencies
        self.signatures = {path: _signature(path) for path in self._files()}
        self.contents = {path: _digest(path) for path in self.signatures}

    def identity(self, command: str) -> str:
        """Digest of command, parameters and contents: the name of the folder of resumable work."""
        digest = hashlib.sha256(json.dumps([command, list(self.sections.values())]).encode())
        for path, content in self.contents.items():
            digest.update(path.as_posix().encode() + b"\0" + content)
        return digest.hexdigest()[:32]

    def require_unchanged(self) -> None:
        """StageError with the name of what is no longer as it was when the stage began."""
        changed = [*self._changed_files(), *self._changed_sections()]
        if changed:
            more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
            raise StageError(
                f"stage {self.address}: {changed[0]}{more} changed while it ran, so its result belongs to neither "
                "state and is not kept; build again, or put the change back first: training goes on where it stopped"
            )

    def _files(self) -> Iterator[Path]:
        for path in map(Path, self.dependencies):
            for part in sorted(path.rglob("*")) if path.is_dir() else [path]:
                if part.name == TIMESTAMP:  # DVC does not see it either (.dvcignore)
                    continue
                if part.is_file():
                    yield part
                elif not part.exists():
                    raise StageError(
                        f"stage {self.address}: input {part} is missing; build what makes it, or `dvc pull`"
                    )

    def _changed_files(self) -> Iterator[str]:
        try:
            now = {path: _signature(path) for path in self._files()}
        except (StageError, FileNotFoundError):
            now = {path: _signature(path) for path in self.contents if path.is_file()}
        for path in sorted({*now, *self.contents}):
            same = path in now and now[path] == self.signatures.get(path)
            if not same and (path not in now or _digest(path) != self.contents.get(path)):
                yield str(path)

    def _changed_sections(self) -> Iterator[str]:
        try:
            document = read_yaml(PARAMS)
        except ParamsError:
            yield str(PARAMS)
            return
        for section, value in self.sections.items():
            try:
                same = lookup(document, section) == value
            except KeyError:
                same = False
            if not same:
                yield f"{PARAMS}: {section}"


def _signature(path: Path) -> Signature:
    found = path.stat()
    return found.st_ino, found.st_size, found.st_ctime_ns


def _digest(path: Path) -> bytes:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").digest()
