"""One snapshot from its source to a local file: whole, with the bytes that were meant, or not at all.

What a name refers to can change behind our back. So bytes are compared with the `sha256` that the user gives; a
remote source without one (and without a hub commit) is pinned: the digest of the first fetch goes to a small file
that the user commits, and a later fetch with other bytes fails.
"""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path
from typing import Any

from tracemill.errors import InputError
from tracemill.snapshots import SIMULATED, SnapshotParams, local_path
from tracemill.traces.digest import file_digest
from tracemill.traces.sources.hub import fetch_hub, parse_hub
from tracemill.traces.sources.params import FetchParams
from tracemill.traces.sources.partial import Partial
from tracemill.traces.sources.web import fetch_web, shown

_log = logging.getLogger(__name__)
_POINTER = b"version https://git-lfs.github.com/spec/"


def fetch_snapshot(snapshot: SnapshotParams, target: Path, *, work: Path, pin: Path, params: FetchParams) -> str:
    """Write the bytes of a snapshot's source to `target` and return their SHA-256 (hex).

    `work` keeps what an interrupted fetch has brought; `pin` is the file with the digest of the first fetch. Raises
    InputError when the source cannot be read, or its bytes are not those of `sha256` or of the pin.
    """
    source = snapshot.source
    if source.startswith(SIMULATED):
        raise InputError(f"{source}: simulated, nothing to fetch")
    pinned = None if snapshot.sha256 or not _can_change(source) else _read_pin(pin, source)
    expected = snapshot.sha256 or pinned
    fetched, ours = _bring(source, work, params, expected is not None)
    _refuse_pointer(source, fetched)
    digest = file_digest(fetched)
    if expected is not None and digest != expected:
        if ours:
            fetched.unlink()
        raise _changed(source, expected, digest, None if snapshot.sha256 else pin)
    if ours:
        shutil.move(fetched, target)
    else:
        shutil.copyfile(fetched, target)
        if file_digest(target) != digest:
            raise InputError(f"{fetched}: changed while it was copied; let its writer finish, then run again")
    if expected is None and _can_change(source):
        _write_pin(pin, source, digest, target.stat().st_size)
    return digest


def _bring(source: str, work: Path, params: FetchParams, verified: bool) -> tuple[Path, bool]:
    """(file with the bytes, whether it is ours to move)."""
    local = local_path(source)
    if local is not None:
        path = Path(local)
        if not path.is_file():
            raise InputError(
                f"{local}: no such file, expected the raw traces of a snapshot; check `source` in params.yaml"
            )
        return path, False
    partial = Partial(work, source, int(params.max_gigabytes * 1e9), _named(source))
    if source.startswith("hf://"):
        return fetch_hub(source, work / "hub", partial, params), True
    if source.startswith("s3://"):
        from tracemill.traces.sources.bucket import fetch_bucket

        fetch_bucket(source, partial, params)
    else:
        fetch_web(source, partial, params, verified)
    return partial.path, True


def _can_change(source: str) -> bool:
    """Whether a source can give other bytes tomorrow without a sign of it; local files are inputs that the build
    hashes.
    """
    if local_path(source) is not None:
        return False
    return not (source.startswith("hf://") and parse_hub(source).fixed)


def _refuse_pointer(source: str, path: Path) -> None:
    with path.open("rb") as opened:
        if opened.read(len(_POINTER)) == _POINTER:
            raise InputError(f"{_named(source)}: a Git LFS pointer, not the file; name the address of the file itself")


def _named(source: str) -> str:
    return shown(source) if source.startswith(("http://", "https://")) else source


def _read_pin(pin: Path, source: str) -> str | None:
    if not pin.exists():
        return None
    try:
        noted: Any = json.loads(pin.read_text(encoding="utf-8"))
        known, digest = noted["source"], noted["sha256"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{pin}: no pin of a source ({error}); restore it from git, or delete it to pin anew"
        ) from error
    return str(digest) if known == _named(source) else None


def _write_pin(pin: Path, source: str, digest: str, length: int) -> None:
    pin.parent.mkdir(parents=True, exist_ok=True)
    temporary = pin.with_name(f".{pin.name}.partial")
    content = {"source": _named(source), "sha256": digest, "bytes": length}
    temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    temporary.replace(pin)
    _log.warning("%s has no sha256: its digest is now in %s; commit that file", _named(source), pin)


def _changed(source: str, expected: str, digest: str, pin: Path | None) -> InputError:
    remedy = (
        "correct `sha256` in params.yaml if the new bytes are the right ones"
        if pin is None
        else f"give the new bytes a snapshot name of their own, or delete {pin} to accept them under this one"
    )
    return InputError(f"{_named(source)}: sha256 is {digest}, expected {expected}: the bytes have changed; {remedy}")
