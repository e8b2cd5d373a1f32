"""A checkpoint in this process as a policy: messages to tokens, one batch, tokens to turns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracemill.environment.chat import TURN_END, encode_chat
from tracemill.environment.episode import CONTEXT_LIMIT, Turn
from tracemill.errors import StageError
from tracemill.evaluation.parse import parse_turn
from tracemill.evaluation.policies import Reply, Request

if TYPE_CHECKING:
    from tracemill.evaluation.generation import Generated


class TransformersPolicy:
    """Plays with a causal language model and its tokenizer; several models of one run differ in `name`.

    `max_context` bounds prompt and answer together; a prompt that leaves no room is the outcome `context_limit`. Call
    `reset` whenever the model's weights have changed.
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

        self.model, self.tokenizer, self.name = model, tokenizer, name
        limit = int(getattr(model.config, "max_position_embeddings", 0) or 1 << 30)
        self.max_context = min(max_context or limit, limit)
        self.generator = Generator(model, end_token_ids(model, tokenizer), prefill_tokens, reuse)

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Return one reply per request, in order, from one batch."""
        from tracemill.evaluation.generation import Prompt

        prompts = [
            Prompt(r.key, tuple(encode_chat(self.tokenizer, r.messages, r.tools, True)), r.seed, r.sampling)
            for r in requests
        ]
        fits = [len(p.ids) + p.sampling.max_new_tokens <= self.max_context for p in prompts]
        generated = iter(self.generator.generate([p for p, ok in zip(prompts, fits, strict=True) if ok]))
        return [
            self._reply(p.ids, next(generated))
            if ok
            else Reply(Turn(error=CONTEXT_LIMIT), finish=CONTEXT_LIMIT, prompt_tokens=len(p.ids), prompt_ids=p.ids)
            for p, ok in zip(prompts, fits, strict=True)
        ]

    def forget(self, keys: Sequence[str]) -> None:
        """Drop what is kept for episodes that ended."""
        self.generator.forget(keys)

    def reset(self) -> None:
        """Drop all that was computed with the weights so far."""
        self.generator.reset()

    def _reply(self, prompt: tuple[int, ...], generated: Generated) -> Reply:
        ids = generated.ids[:-1] if generated.ended else generated.ids
        text = self.tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        finish = "stop" if generated.ended else "length"
        return Reply(
            turn=parse_turn(text, finish),
            text=text,
            finish=finish,
            prompt_tokens=len(prompt),
            completion_tokens=len(generated.ids),
            prompt_ids=prompt,
            completion_ids=generated.ids,
            logprobs=generated.logprobs,
        )


def end_token_ids(model: Any, tokenizer: Any) -> tuple[int, ...]:
    """Ids that end a turn: the template's end token, and those that tokenizer and generation settings name.

    Raises StageError where the tokenizer lacks the end token as one token: no turn would ever end.
    """
    end = tokenizer.convert_tokens_to_ids(TURN_END)
    if end is None or end == tokenizer.unk_token_id:
        raise StageError(f"the tokenizer has no token {TURN_END}, expected a tokenizer with Qwen3's special tokens")
    named = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    more = named if isinstance(named, list) else [named]
    return tuple(sorted({int(i) for i in (end, tokenizer.eos_token_id, *more) if i is not None}))


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
