"""One rule that keeps strangers' text from becoming control tokens.

Product titles, queries, tool results and thoughts are written by strangers, and the chat template inserts them raw. A
tokenizer turns exact strings (`<|im_end|>`, `<tool_call>`, `</think>`) into control tokens, so the rule puts one plain
space behind the `<` of each such string: `<|im_end|>` becomes `< |im_end|>` and `</think>` becomes `< /think>`. The
break is visible, the text stays readable, applying it again changes nothing, and it only ever inserts blanks, which no
control string contains: nothing can be put together from the pieces. It covers every `<|...|>` token at once, not a
list that a new model could outgrow.
"""

from __future__ import annotations

import re
from typing import Any

TAGS = ("think", "tool_call", "tool_response", "tools")
"""Names whose opening and closing tags are control tokens, or structure of the prompt, in Qwen3's chat template."""

_OPENER = re.compile(r"<(?=[|\uff5c]|/?(?:" + "|".join(TAGS) + r")>)")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_MAX_DEPTH = 64


def neutralise(text: str) -> str:
    """Return `text` with every control string broken by one space; lone surrogates (no tokenizer takes them) become
    U+FFFD.

    Deterministic and idempotent. Text joined from several pieces must be neutralised after joining.
    """
    if "<" in text:
        text = _OPENER.sub("< ", text)
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def neutralise_value(value: Any, depth: int = 0) -> Any:
    """Return a JSON value with every string in it, keys too, neutralised; what is nested deeper than 64 levels becomes
    null."""
    if isinstance(value, str):
        return neutralise(value)
    if not isinstance(value, (dict, list, tuple)):
        return value
    if depth >= _MAX_DEPTH:
        return None
    if isinstance(value, dict):
        return {neutralise(str(key)): neutralise_value(member, depth + 1) for key, member in value.items()}
    return [neutralise_value(member, depth + 1) for member in value]


def has_control(text: str) -> bool:
    """Whether `text` holds a string that a tokenizer or the chat template would take for structure."""
    return _OPENER.search(text) is not None
