"""Message content that comes as text or as a list of typed parts, in released rows and in ATIF alike."""

from __future__ import annotations

import msgspec

from tracemill.traces.rejects import NOT_TEXT, Rejected


class Part(msgspec.Struct, gc=False):
    """One part of a content list."""

    type: str
    text: str | None = None


Content = str | list[Part] | None


def text_of(content: Content, where: str) -> str:
    """The content as one text; Rejected when a part is an image, a sound or anything else that is no text."""
    if content is None or isinstance(content, str):
        return content or ""
    for part in content:
        if part.type != "text" or part.text is None:
            raise Rejected(NOT_TEXT, f"{where}: a content part of type {part.type[:40]!r}, expected text")
    return "".join(part.text or "" for part in content)
