"""Sources behind https:// (and http://): resumed after an interruption, and whole or not at all.

A second attempt asks for the missing bytes only, under the condition (If-Range) that the file is still the one that
the first bytes came from; otherwise the server sends it all again. The body is taken as stored: no transparent
decompression.
"""

from __future__ import annotations

import logging
import re
import time
from urllib.parse import urlsplit

import httpx

from tracemill.errors import InputError
from tracemill.traces.sources.params import FetchParams
from tracemill.traces.sources.partial import Interrupted, Partial

_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
_LONGEST_PAUSE = 20.0


def shown(url: str) -> str:
    """The address without what may be secret: user, password, query; of one that cannot be parted the scheme alone."""
    try:
        parts = urlsplit(url)
        return f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"
    except ValueError:
        return f"{url.partition(':')[0]}://..."


def fetch_web(url: str, partial: Partial, params: FetchParams, verified: bool) -> None:
    """Fetch `url` into `partial`; `verified` says whether a known digest will be compared afterwards.

    Raises InputError when the server refuses, or brings no new byte in `attempts` attempts.
    """
    logging.getLogger("httpx").setLevel(logging.WARNING)  # at INFO it writes whole addresses, secrets included
    most, stalled = partial.written, 0
    with httpx.Client(timeout=params.timeout_seconds, follow_redirects=True, max_redirects=5) as client:
        client.event_hooks["response"] = [_refuse_downgrade]
        while True:
            try:
                _attempt(client, url, partial, verified)
                return
            except (httpx.TransportError, httpx.TooManyRedirects, Interrupted) as error:
                reason = str(error) or type(error).__name__
            except (httpx.InvalidURL, ValueError, OverflowError) as error:  # its text may hold a password
                raise InputError(f"{shown(url)}: no address of a file; correct `source` in params.yaml") from error
            stalled = 0 if partial.written > most else stalled + 1
            most = max(most, partial.written)
            if stalled >= params.attempts:
                raise InputError(
                    f"{shown(url)}: gave up after {stalled} attempts without a new byte ({reason}); {partial.written} "
                    f"bytes are kept for the next run; check the address and the server, then run again"
                )
            time.sleep(min(_LONGEST_PAUSE, 0.1 * 2**stalled - 0.1))


def _refuse_downgrade(response: httpx.Response) -> None:
    following = response.next_request
    if following is not None and response.url.scheme == "https" and following.url.scheme != "https":
        raise InputError(
            f"{shown(str(response.url))}: redirects from https to {following.url.scheme}; name that address"
        )


def _attempt(client: httpx.Client, url: str, partial: Partial, verified: bool) -> None:
    headers = {"Accept-Encoding": "identity"}
    if partial.written and partial.version:
        headers |= {"Range": f"bytes={partial.written}-", "If-Range": partial.version}
    with client.stream("GET", url, headers=headers) as response:
        total = _accept(response, url, partial)
        chunked = (
            response.headers.get("Transfer-Encoding", "").lower() == "chunked" or response.http_version == "HTTP/2"
        )
        if total is None and not chunked and not verified:
            raise InputError(
                f"{shown(url)}: no length is told, so a cut file would pass; add the file's sha256 to the snapshot"
            )
        with partial.open() as out:
            written = partial.written
            for block in response.iter_raw():
                written += len(block)
                partial.check(written)
                out.write(block)
    if total is not None and partial.written != total:
        raise Interrupted(f"{partial.written} of {total} bytes came")


def _accept(response: httpx.Response, url: str, partial: Partial) -> int | None:
    """Total bytes of the file, None where the server does not say; what is kept is made to fit the response."""
    if response.status_code in _PASSING:
        raise Interrupted(f"the server answers {response.status_code}")
    if response.status_code == 416:
        partial.restart(None)
        raise Interrupted("the file is now shorter than what was fetched")
    if response.status_code not in (200, 206):
        raise InputError(
            f"{shown(url)}: the server answers {response.status_code} {response.reason_phrase}; check the address and "
            "your access"
        )
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise InputError(f"{shown(url)}: the server encodes it on the way; name one that does not")
    if response.status_code == 200:
        partial.restart(_version(response))
        length = response.headers.get("Content-Length")
        total = int(length) if length and length.isdigit() else None
    else:
        match = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if match is None or int(match[1]) != partial.written or _version(response) not in (None, partial.version):
            partial.restart(None)
            raise Interrupted("the server sent another part than asked for")
        total = None if match[2] == "*" else int(match[2])
    if total is not None:
        partial.check(total)
    return total


def _version(response: httpx.Response) -> str | None:
    """What If-Range may hold: a strong entity tag, else the date of the last change."""
    tag: str = response.headers.get("ETag", "")
    if tag and not tag.startswith("W/"):
        return tag
    changed: str | None = response.headers.get("Last-Modified")
    return changed
