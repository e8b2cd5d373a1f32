"""Sources behind s3://, through fsspec: fetched in parts of one version of the object, so that an interruption
costs one part.

Endpoint, region and credentials come from where every S3 client takes them (AWS_ENDPOINT_URL, AWS_PROFILE, ~/.aws);
without credentials the object is asked for anonymously.
"""

from __future__ import annotations

import time
from typing import Any

from tracemill.errors import InputError
from tracemill.traces.sources.params import FetchParams
from tracemill.traces.sources.partial import Partial

_PART = 16 << 20


def fetch_bucket(url: str, partial: Partial, params: FetchParams) -> None:
    """Fetch an object into `partial`; InputError when it is not there, closed to us, or stops coming."""
    system = _open(params)
    try:
        facts = system.info(url)
    except PermissionError:
        system = _open(params, anon=True)
        facts = _ask(system, url)
    except Exception as error:
        if type(error).__name__ not in ("NoCredentialsError", "PartialCredentialsError"):
            raise _unusable(url, error) from error
        system = _open(params, anon=True)
        facts = _ask(system, url)
    if facts.get("type") != "file":
        raise InputError(f"{url}: a folder, expected one object; name the file")
    total, version = int(facts["size"]), f"{facts.get('VersionId') or ''} {facts.get('ETag') or ''}"
    partial.check(total)
    if partial.version != version or partial.written > total:
        partial.restart(version)
    _read_parts(system, url, partial, total, params.attempts)
    if _ask(system, url).get("ETag") != facts.get("ETag"):
        partial.restart(None)
        raise InputError(f"{url}: the object was replaced while it was fetched; run again")


def _open(params: FetchParams, anon: bool = False) -> Any:
    import fsspec

    timeouts = {"connect_timeout": params.timeout_seconds, "read_timeout": params.timeout_seconds}
    return fsspec.filesystem(
        "s3", anon=anon, skip_instance_cache=True, use_listings_cache=False, config_kwargs=timeouts
    )


def _ask(system: Any, url: str) -> dict[str, Any]:
    try:
        facts: dict[str, Any] = system.info(url)
    except Exception as error:
        raise _unusable(url, error) from error
    return facts


def _unusable(url: str, error: Exception) -> InputError:
    return InputError(
        f"{url}: cannot be read ({type(error).__name__}: {str(error)[:200]}); check bucket, key and credentials"
    )


def _read_parts(system: Any, url: str, partial: Partial, total: int, attempts: int) -> None:
    failures = 0
    if total == 0:
        partial.open().close()
    while partial.written < total:
        start = partial.written
        try:
            part = system.cat_file(url, start=start, end=min(total, start + _PART))
        except Exception as error:
            failures += 1
            if failures >= attempts:
                raise _unusable(url, error) from error
            time.sleep(0.1 * 2**failures)
            continue
        failures = 0 if part else failures + 1
        if failures >= attempts:
            raise InputError(f"{url}: {start} of {total} bytes came, then nothing; run again")
        with partial.open() as out:
            out.write(part[: total - start])
