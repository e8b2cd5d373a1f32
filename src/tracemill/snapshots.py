"""The `snapshots:` section of params.yaml: the name of each snapshot and where its raw traces come from."""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints

SIMULATED = "sim:"
SCHEMES = ("sim:", "file:", "https://", "http://", "s3://", "hf://datasets/")

SnapshotName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,63}$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


def _known_source(source: str) -> str:
    scheme = re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", source)
    if not source.strip() or (scheme and not source.startswith(SCHEMES)):
        raise ValueError(f"unknown source; expected a path or one of {', '.join(SCHEMES)}")
    return source


class SnapshotParams(BaseModel):
    """One snapshot; `seed` and `episodes` belong to `sim:` sources alone."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    source: Annotated[str, AfterValidator(_known_source)]
    sha256: Sha256 | None = None
    seed: int | None = None
    episodes: int | None = None


def local_path(source: str) -> str | None:
    """Path of a source on this file system, or None for a simulated or remote one."""
    if source.startswith("file:"):
        return re.sub(r"^file:(//(?=/))?", "", source)
    return None if source.startswith(SCHEMES) else source
