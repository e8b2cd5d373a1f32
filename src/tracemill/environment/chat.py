"""One way from messages to tokens: training rows, rollouts, evaluation and RL all render through here.

A model sees at rollout exactly the prefix it was trained on only where both come from the same template. Stock Qwen3
drops the reasoning of earlier turns and renders no block where there is none; TRL's training variant always renders it
and marks what the assistant wrote. So the training variant is used everywhere, while the stock template is what a
checkpoint ships.

Nothing from a trace may become a control token: every message but the assistant's own passes the one rule of
`control_tokens` once more on its way in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tracemill.environment.control_tokens import neutralise
from tracemill.errors import GateError, StageError

TURN_START = "<|im_start|>"
TURN_END = "<|im_end|>"
CONTROL_TOKENS = (
    "<|endoftext|>",
    TURN_START,
    TURN_END,
    "<|object_ref_start|>",
    "<|object_ref_end|>",
    "<|box_start|>",
    "<|box_end|>",
    "<|quad_start|>",
    "<|quad_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<tool_call>",
    "</tool_call>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
)
"""Qwen3's added tokens in the order of its vocabulary."""

_CONTROL = re.compile("|".join(re.escape(token) for token in sorted(CONTROL_TOKENS, key=len, reverse=True)))


def control_strings(text: str) -> list[str]:
    """The control strings in `text`, in order of appearance."""
    return _CONTROL.findall(text)


@cache
def shipped_template(name: str) -> str:
    """A chat template that TRL ships (`qwen3`, `qwen3_training`), read without importing TRL."""
    spec = find_spec("trl")
    if spec is None or not spec.submodule_search_locations:
        raise StageError("trl is not installed, expected its chat templates; run `pip install trl`")
    path = Path(next(iter(spec.submodule_search_locations))) / "chat_templates" / f"{name}.jinja"
    return path.read_text(encoding="utf-8")


def training_template(template: str | None) -> str:
    """The template to render with for a checkpoint whose own template is `template`.

    Stock Qwen3 is exchanged for TRL's training variant; a template that marks the assistant's text itself is kept.
    Raises GateError for any other one: what it would supervise cannot be known.
    """
    if template == shipped_template("qwen3"):
        return shipped_template("qwen3_training")
    if template and re.search(r"\{%-?\s*generation\s*-?%\}", template):
        return template
    raise GateError(
        "the tokenizer's chat template has no {% generation %} marks and is not Qwen3's own byte for byte; "
        "one of the two is needed to know what is supervised; ship the stock template or add the marks"
    )


def safe_messages(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages with control strings broken in everything that the assistant did not write."""
    return [
        dict(message)
        if message["role"] == "assistant"
        else {**message, "content": neutralise(str(message.get("content") or ""))}
        for message in messages
    ]


def render_chat(
    tokenizer: Any,
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]],
    add_generation_prompt: bool = False,
) -> str:
    """The text of a chat as the model reads it; with `add_generation_prompt` it ends where the assistant's next turn
    begins.
    """
    text: str = tokenizer.apply_chat_template(
        safe_messages(messages),
        tools=[dict(tool) for tool in tools] or None,
        chat_template=training_template(tokenizer.chat_template),
        add_generation_prompt=add_generation_prompt,
        tokenize=False,
    )
    return text


def encode_chat(
    tokenizer: Any,
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]],
    add_generation_prompt: bool = False,
) -> list[int]:
    """Token ids of `render_chat`."""
    text = render_chat(tokenizer, messages, tools, add_generation_prompt)
    ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return ids
