"""A checkpoint in this process as a policy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tracemill.errors import StageError
from tracemill.evaluation.policies import Reply, Request
from tracemill.evaluation.token_policy import TokenPolicy, end_token_ids, no_room
from tracemill.evaluation.tokens import Generated, Prompt

_ENOUGH = 4
"""The model stops for new turns once one in so many of the answers under way has ended."""


class TransformersPolicy(TokenPolicy):
    """Plays with a causal language model and its tokenizer; several models of one run differ in `name`.

    Call `reset` whenever the model's weights have changed.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        name: str = "transformers",
        max_context: int | None = None,
        prefill_tokens: int = 16_384,
        reuse: bool = True,
    ) -> None:
        from tracemill.evaluation.generation import Generator

        limit = int(getattr(model.config, "max_position_embeddings", 0) or 1 << 30)
        super().__init__(tokenizer, name, min(max_context or limit, limit))
        self.model = model
        end_ids = end_token_ids(getattr(model, "generation_config", None), tokenizer)
        self.generator = Generator(model, end_ids, prefill_tokens, reuse)
        self._asked: dict[str, Prompt] = {}

    def answer(self, prompts: Sequence[Prompt]) -> list[Generated]:
        """Return what the model answers to each prompt, in order."""
        return self.generator.generate(prompts)

    def advance(self, requests: Sequence[Request]) -> dict[str, Reply]:
        """Take up `requests` beside those under way; return the replies of some that have ended, at least one."""
        prompts = [self.prompt(request) for request in requests]
        refused = {p.key: no_room(p) for p in prompts if not self.fits(p)}
        fresh = [p for p in prompts if p.key not in refused]
        self._asked.update((p.key, p) for p in fresh)
        ended = self.generator.advance(fresh, max(1, len(self._asked) // _ENOUGH))
        return refused | {key: self.reply(self._asked.pop(key), generated) for key, generated in ended.items()}

    def forget(self, keys: Sequence[str]) -> None:
        """Drop what is kept for episodes that ended."""
        self.generator.forget(keys)

    def reset(self) -> None:
        """Drop all that was computed with the weights so far, and what is under way."""
        self.generator.reset()
        self._asked = {}


def load_policy(folder: Path, **options: Any) -> TransformersPolicy:
    """Open the checkpoint in `folder` (safetensors, no code of its own). Raises StageError where it cannot be read."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        model = AutoModelForCausalLM.from_pretrained(
            folder, trust_remote_code=False, use_safetensors=True, dtype="auto", attn_implementation="sdpa"
        )
    except (OSError, ValueError) as error:
        raise StageError(
            f"{folder}: no checkpoint can be loaded ({error}); expected a folder with safetensors"
        ) from error
    return TransformersPolicy(model.to(device).eval(), tokenizer, **options)
