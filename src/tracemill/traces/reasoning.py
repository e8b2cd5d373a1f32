"""Reasoning has one place, beside the content; where a source mixes the two they are split by one rule, or not at all.

The rule: text up to the one `</think>` is reasoning, with or without the opening tag (a model whose prompt ends
in the opener generates none), what follows is content. Anything else with think tags in it (two blocks, text
before the opener, a block without an end) cannot be rendered again without a loss, so the episode is rejected
rather than silently shortened. Line breaks at the seams belong to the template and go; nothing else does.
"""

from __future__ import annotations

from tracemill.traces.rejects import LOSSY, Rejected

OPEN, CLOSE = "<think>", "</think>"


def split_reasoning(content: str, reasoning: str | None, where: str) -> tuple[str | None, str]:
    """(reasoning, content) of an assistant message; reasoning None where it has none. Rejected for a mix that
    cannot be split.

    `reasoning` is what the source holds apart; the content may then repeat it as its only block.
    """
    if OPEN not in content and CLOSE not in content:
        return reasoning, content
    head, closing, rest = content.partition(CLOSE)
    inner = head.lstrip().removeprefix(OPEN)
    if not closing or OPEN in inner or OPEN in rest or CLOSE in rest:
        raise Rejected(LOSSY, f"{where}: think tags that do not part the text in reasoning and content")
    inner = inner.strip("\n")
    if reasoning is not None and reasoning.strip() != inner.strip():
        raise Rejected(LOSSY, f"{where}: reasoning stands apart and, differently, in the content")
    return (inner if reasoning is None else reasoning), rest.lstrip("\n")
