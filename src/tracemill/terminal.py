"""What strangers wrote, made fit for a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with a blank for each character that is not printable: no terminal obeys what a trace holds."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)
