"""What a trajectory did, in a few numbers and two signatures, read from its messages alone.

Tool results are skipped while decoding: they are the bulk of a trace, and nothing here looks at them.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from tracemill.traces.trajectory import Turn

THOUGHT_CHARACTERS = 8_192
"""Thoughts are compared on their first characters only, so that one giant thought cannot stall the duplicate search."""

_VARIABLE = re.compile(r"\d+(?:[.,]\d+)*|[\"'`“”‘’][^\"'`“”‘’]{0,200}[\"'`“”‘’]")
_NOTHING = (b"", b"null", b'""')
_FIRST_VARIABLE = re.compile(r"[\d_\"'`“”‘’]")
_HEAD = 40
_CONTROL_SPACE = "\n\t\r\x0b\x0c\x1c\x1d\x1e\x1f"
"""White space of ASCII but for the blank."""


class _Function(msgspec.Struct, gc=False):
    name: str
    arguments: Any = None


class _Call(msgspec.Struct, gc=False):
    function: _Function


class _Message(msgspec.Struct, gc=False):
    role: str
    content: msgspec.Raw = msgspec.Raw(b"null")
    reasoning_content: str | None = None
    tool_calls: list[_Call] | None = None


_messages = msgspec.json.Decoder(list[_Message])
_turns = msgspec.json.Decoder(list[Turn])


class Measures(msgspec.Struct, frozen=True):
    """Structure of one trajectory."""

    thoughts: str
    """All thoughts in order, white space folded, cut at THOUGHT_CHARACTERS."""
    action_signature: str
    """SHA-256 (hex) of the calls in order: names and arguments in canonical JSON."""
    think_and_call_turns: int
    """Turns that both think and call."""
    thinking_turns: int
    template_share: float
    """Share of thoughts that equal the most frequent one once numbers and quoted words are blanked; 0.0 below two
    thoughts."""
    batched_turns: int
    """Turns with several calls of one tool."""
    acts: tuple[bool, ...]
    """Whether each turn calls a tool, in order."""
    ends_in_thought: bool
    """Whether the last assistant turn neither calls a tool nor says anything."""

    @property
    def acting_turns(self) -> int:
        """Turns that call a tool."""
        return sum(self.acts)


def measure(messages: str | bytes) -> Measures:
    """Return the measures of a trajectory given its `messages` as JSON text.

    Raises msgspec.ValidationError or DecodeError when the text is not a list of chat messages.
    """
    thoughts: list[str] = []
    calls: list[tuple[str, Any]] = []
    acts: list[bool] = []
    both = batched = 0
    silent = False
    for message in _messages.decode(messages):
        if message.role != "assistant":
            continue
        thought = message.reasoning_content or ""
        thinks = bool(thought) and not thought.isspace()
        if thinks:
            thoughts.append(thought)
        silent = not message.tool_calls and bytes(message.content).strip() in _NOTHING
        names = [call.function.name for call in message.tool_calls or []]
        calls += [(call.function.name, call.function.arguments) for call in message.tool_calls or []]
        acts.append(bool(names))
        both += bool(thinks and names)
        batched += len(names) > len(set(names))
    return Measures(
        thoughts=_joined(thoughts),
        action_signature=hashlib.sha256(msgspec.json.encode(calls, order="sorted")).hexdigest(),
        think_and_call_turns=both,
        thinking_turns=len(thoughts),
        template_share=_template_share(thoughts),
        batched_turns=batched,
        acts=tuple(acts),
        ends_in_thought=silent,
    )


def _joined(thoughts: list[str]) -> str:
    """The folded thoughts with blanks between them, cut at THOUGHT_CHARACTERS; what lies behind the cut is not looked
    at."""
    folded: list[str] = []
    length = -1
    for thought in thoughts:
        if length >= THOUGHT_CHARACTERS:
            break
        folded.append(_fold_space(thought))
        length += len(folded[-1]) + 1
    return " ".join(folded)[:THOUGHT_CHARACTERS]


def _fold_space(text: str) -> str:
    """The text with every run of white space as one blank; most texts are that already, which is quicker to see."""
    if text.isascii() and "  " not in text:
        for space in _CONTROL_SPACE:
            if space in text:
                break
        else:
            return text.strip()
    return " ".join(text.split())


def _head(thought: str) -> str:
    """The first _HEAD characters of the folded thought."""
    folded = _fold_space(thought[: 4 * _HEAD])
    return (folded if len(folded) > _HEAD else _fold_space(thought))[:_HEAD]


def _template_share(thoughts: list[str]) -> float:
    """Share of the most frequent template.

    Thoughts of one template have the same text up to the first character that can be blanked, so only those that
    share it are compared whole: blanking is most of the filter's time, and genuine thoughts rarely begin alike.
    """
    if len(thoughts) < 2:
        return 0.0
    groups: dict[str, list[str]] = {}
    for thought in thoughts:
        head = _head(thought)
        found = _FIRST_VARIABLE.search(head)
        groups.setdefault(head[: found.start()] if found else head, []).append(thought)
    most = 1
    for group in groups.values():
        if len(group) > most:
            blanked = Counter(_VARIABLE.sub("_", _fold_space(thought)[:THOUGHT_CHARACTERS]) for thought in group)
            most = max(most, *blanked.values())
    return most / len(thoughts)


def supported_turns(turns: str | bytes, acts: Sequence[bool], min_completion_tokens: int) -> int:
    """Count the acting turns before which the proxy log shows an inference call of enough tokens.

    `turns` is the JSON text of the trajectory's turns, which holds one entry for each of `acts`.
    """
    told = zip(_turns.decode(turns), acts, strict=True)
    return sum(acting and (turn.inference_tokens or 0) >= min_completion_tokens for turn, acting in told)
