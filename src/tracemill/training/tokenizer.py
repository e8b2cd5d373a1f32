"""A small byte-level BPE tokenizer with Qwen3's special tokens, trained on the built-in catalogue and templates.

Two choices make short traces and easy copying: digits in groups of two (from the left), and added tokens for
boilerplate that every trace repeats word for word (tool definitions, the template's preamble, the openers of calls).
Saved as PreTrainedTokenizerFast, since the Qwen2 class replaces the pre-tokenizer when it loads.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tracemill.environment.chat import CONTROL_TOKENS, TURN_END, shipped_template

PRETOKENIZE = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,2}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Qwen's pattern, with digits in pairs instead of one by one."""

END_OF_TEXT = "<|endoftext|>"


def template_preamble(system: str, tools: Sequence[Mapping[str, Any]]) -> list[str]:
    """The fixed pieces of a rendered chat: system prompt, tool list, and what stands around messages and calls."""
    template = shipped_template("qwen3")
    head = template[template.index('"# Tools') + 1 : template.index('<tools>" }}')] + "<tools>"
    tail = template[template.index('"\\n</tools>') + 1 : template.index('<|im_end|>\\n" }}')]
    fixed = [_unescape(head), _unescape(tail)]
    fixed += [system, *("\n" + json.dumps(dict(tool), ensure_ascii=False) for tool in tools)]
    return fixed


def call_openers(tools: Sequence[Mapping[str, Any]]) -> list[str]:
    """`{"name": ..., "arguments": {` of each tool with each first argument, and what stands between arguments."""
    openers: list[str] = []
    for tool in tools:
        function = tool["function"]
        keys = list(function["parameters"]["properties"])
        start = f'\n{{"name": "{function["name"]}", "arguments": {{'
        openers += [f'{start}"{key}": "' for key in keys]
        openers += [f'", "{key}": "' for key in keys]
    return [*dict.fromkeys(openers), '"}}\n']


def boilerplate(system: str, tools: Sequence[Mapping[str, Any]]) -> list[str]:
    """All added tokens beside Qwen3's own, in a fixed order."""
    turns = ["user\n", "assistant\n", "system\n"]
    pieces = [*template_preamble(system, tools), *call_openers(tools), *turns]
    return list(dict.fromkeys(piece for piece in pieces if piece))


def train_tokenizer(texts: Iterable[str], added: Sequence[str], vocabulary: int) -> Any:
    """Train on `texts` (in the order given) until the whole vocabulary, added tokens included, holds `vocabulary`
    entries.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    core.normalizer = normalizers.NFC()
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PRETOKENIZE), behavior="isolated", invert=False),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - len(CONTROL_TOKENS) - len(added),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    core.train_from_iterator(texts, trainer)
    special = {token for token in CONTROL_TOKENS if token.startswith("<|")}
    core.add_tokens([AddedToken(t, special=t in special, normalized=False) for t in CONTROL_TOKENS])
    core.add_tokens([AddedToken(t, special=False, normalized=False) for t in added])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token=TURN_END,
        pad_token=END_OF_TEXT,
        clean_up_tokenization_spaces=False,
        model_max_length=1 << 20,
    )
    tokenizer.chat_template = shipped_template("qwen3")
    return tokenizer


def _unescape(literal: str) -> str:
    return literal.replace("\\n", "\n").replace('\\"', '"')
