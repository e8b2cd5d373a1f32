"""Sources on a Hugging Face Hub: hf://datasets/OWNER/NAME@REVISION/FILE, through huggingface_hub.

HF_ENDPOINT and HF_TOKEN are honoured. A branch or tag is resolved to its commit first, and the file of that commit
is fetched, so that a push in between cannot mix two versions.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from tracemill.errors import InputError
from tracemill.traces.sources.params import FetchParams
from tracemill.traces.sources.partial import Partial

_SOURCE = re.compile(r"hf://datasets/(?P<repository>[\w.-]+/[\w.-]+)(?:@(?P<revision>[^/]+))?/(?P<file>.+)")
_COMMIT = re.compile(r"[0-9a-f]{40}")


class HubFile(NamedTuple):
    """Place of a file on a hub."""

    repository: str
    revision: str
    file: str

    @property
    def fixed(self) -> bool:
        """Whether the revision is a commit, which can never name other bytes."""
        return _COMMIT.fullmatch(self.revision) is not None


def parse_hub(source: str) -> HubFile:
    """Parts of an hf:// source; InputError when it is none. Without a revision it is `main`."""
    match = _SOURCE.fullmatch(source)
    if match is None or ".." in match["file"].split("/"):
        raise InputError(f"{source}: expected hf://datasets/OWNER/NAME@REVISION/FILE")
    return HubFile(match["repository"], unquote(match["revision"] or "main"), match["file"])


def fetch_hub(source: str, folder: Path, partial: Partial, params: FetchParams) -> Path:
    """Fetch the file below `folder` and return its path; InputError when the hub does not give it."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url

    place, endpoint = parse_hub(source), os.environ.get("HF_ENDPOINT")
    where: dict[str, Any] = {"repo_id": place.repository, "filename": place.file, "repo_type": "dataset"}
    try:
        url = hf_hub_url(**where, revision=place.revision, endpoint=endpoint)
        facts = get_hf_file_metadata(url, timeout=params.timeout_seconds, endpoint=endpoint)
        partial.check(facts.size or 0)
        path = Path(
            hf_hub_download(
                **where,
                revision=facts.commit_hash or place.revision,
                local_dir=folder / (facts.commit_hash or "file"),
                endpoint=endpoint,
                etag_timeout=params.timeout_seconds,
            )
        )
    except InputError:
        raise
    except Exception as error:  # the client's own errors, its transport's, and those of the disk
        first = next(iter(str(error).strip().splitlines()), "")
        raise InputError(
            f"{source}: the hub does not give it ({type(error).__name__}: {first[:200]}); check each part of "
            "the address and HF_TOKEN, then run again"
        ) from error
    if facts.size is not None and path.stat().st_size != facts.size:
        raise InputError(f"{source}: {path.stat().st_size} of {facts.size} bytes came; run again")
    return path
