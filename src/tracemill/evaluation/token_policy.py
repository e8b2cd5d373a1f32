"""Messages to tokens, tokens to turns: what all policies share that generate from token ids."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from tracemill.environment.chat import TURN_END, encode_chat
from tracemill.environment.episode import CONTEXT_LIMIT, Turn
from tracemill.errors import StageError
from tracemill.evaluation.parse import parse_turn
from tracemill.evaluation.policies import Reply, Request
from tracemill.evaluation.tokens import Generated, Prompt


class TokenPolicy(ABC):
    """Plays with whatever answers token ids. `max_context` bounds prompt and answer together; a prompt that leaves no
    room is the outcome `context_limit`.
    """

    def __init__(self, tokenizer: Any, name: str, max_context: int) -> None:
        self.tokenizer, self.name, self.max_context = tokenizer, name, max_context

    @abstractmethod
    def answer(self, prompts: Sequence[Prompt]) -> list[Generated]:
        """Return what the model answers to each prompt, in order."""

    @abstractmethod
    def forget(self, keys: Sequence[str]) -> None:
        """Drop what is kept for episodes that ended."""

    @abstractmethod
    def reset(self) -> None:
        """Drop all that is kept."""

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Return one reply per request, in order, from one batch."""
        prompts = [self.prompt(request) for request in requests]
        generated = iter(self.answer([p for p in prompts if self.fits(p)]))
        return [self.reply(p, next(generated)) if self.fits(p) else no_room(p) for p in prompts]

    def prompt(self, request: Request) -> Prompt:
        """The tokens that the model sees."""
        ids = tuple(encode_chat(self.tokenizer, request.messages, request.tools, True))
        return Prompt(request.key, ids, request.seed, request.sampling)

    def fits(self, prompt: Prompt) -> bool:
        """Whether prompt and answer have room."""
        return len(prompt.ids) + prompt.sampling.max_new_tokens <= self.max_context

    def reply(self, prompt: Prompt, generated: Generated) -> Reply:
        """The turn in what was generated."""
        ids = generated.ids[:-1] if generated.ended else generated.ids
        text = self.tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        finish = "stop" if generated.ended else "length"
        return Reply(
            turn=parse_turn(text, finish),
            text=text,
            finish=finish,
            prompt_tokens=len(prompt.ids),
            completion_tokens=len(generated.ids),
            prompt_ids=prompt.ids,
            completion_ids=generated.ids,
            logprobs=generated.logprobs,
        )


def no_room(prompt: Prompt) -> Reply:
    """The reply to a prompt that is too long."""
    error = Turn(error=CONTEXT_LIMIT)
    return Reply(error, finish=CONTEXT_LIMIT, prompt_tokens=len(prompt.ids), prompt_ids=prompt.ids)


def end_token_ids(settings: Any, tokenizer: Any) -> tuple[int, ...]:
    """Ids that end a turn: the template's end token, and those that tokenizer and generation settings (None: none)
    name.

    Raises StageError where the tokenizer lacks the end token as one token: no turn would ever end.
    """
    end = tokenizer.convert_tokens_to_ids(TURN_END)
    if end is None or end == tokenizer.unk_token_id:
        raise StageError(f"the tokenizer has no token {TURN_END}, expected a tokenizer with Qwen3's special tokens")
    named = getattr(settings, "eos_token_id", None)
    more = named if isinstance(named, list) else [named]
    return tuple(sorted({int(i) for i in (end, tokenizer.eos_token_id, *more) if i is not None}))
