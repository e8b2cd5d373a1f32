"""Batched generation in process: one forward pass serves every live episode, and each keeps its own temperature and
seed.

Prompts come as token ids. Each row draws its tokens from its own stream of uniform numbers, so what a row draws does
not depend on its neighbours. `Generator.generate` answers a list of prompts; `Generator.advance` takes up new prompts
while others are under way and returns as soon as some have ended, so that a row that ended makes room at once
(continuous batching, Yu et al. 2022, Orca). Rows that ended leave the batch once half of it has ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from tracemill.evaluation.decoding import Answer, Batch, join, left_filled, unite
from tracemill.evaluation.draw import choose_tokens
from tracemill.evaluation.kv_cache import Row, Segment, best_source, common_prefix, gather
from tracemill.evaluation.tokens import Generated, Prompt

_SHARED_WORTH = 16
"""Tokens that all prompts must share before their prefix is run once, ahead of the batch."""


class Generator:
    """Generates with one causal language model. `prefill_tokens` bounds the tokens of one forward pass over prompts."""

    def __init__(self, model: Any, end_ids: Sequence[int], prefill_tokens: int = 16_384, reuse: bool = True) -> None:
        self.model = model
        self.end_ids = tuple(sorted(set(end_ids)))
        self.prefill_tokens = prefill_tokens
        self.reuse = reuse
        self.rows: dict[str, Row] = {}
        self.batch: Batch | None = None

    def reset(self) -> None:
        """Drop the whole cache and what is under way; needed whenever the model's weights change."""
        self.rows, self.batch = {}, None

    def forget(self, keys: Sequence[str]) -> None:
        """Drop what is kept for these episodes."""
        for key in keys:
            self.rows.pop(key, None)

    def generate(self, prompts: Sequence[Prompt]) -> list[Generated]:
        """Return what the model answers to each prompt, in order. Prompts must not be empty and their keys must
        differ. What is kept of other episodes is dropped.
        """
        if not prompts:
            return []
        self.batch = None
        found = self.advance(prompts, len(prompts))
        self.rows = {p.key: self.rows[p.key] for p in prompts if p.key in self.rows}
        return [found[p.key] for p in prompts]

    def under_way(self) -> int:
        """Answers that are begun and not handed out."""
        return 0 if self.batch is None else len(self.batch.going())

    def advance(self, prompts: Sequence[Prompt], enough: int = 1) -> dict[str, Generated]:
        """Take up `prompts` beside those under way and decode until `enough` answers have ended, or all of them.

        Returns those that have ended, by key. A key must not be under way already.
        """
        with _evaluating(self.model), torch.no_grad():
            if prompts:
                self.batch = self._take_up(prompts)
            ended = self._decode(enough)
        if self.reuse:
            self.rows.update((answer.prompt.key, row) for answer, row in ended)
        return {answer.prompt.key: answer.result() for answer, _ in ended}

    def choose(
        self, logits: torch.Tensor, prompts: Sequence[Prompt], drawn: Sequence[int], uniforms: Sequence[float]
    ) -> torch.Tensor:
        """Return the next token of each row; `drawn` counts the tokens that a row has already."""
        return choose_tokens(logits, [p.sampling for p in prompts], uniforms)

    def _take_up(self, prompts: Sequence[Prompt]) -> Batch:
        """The batch under way with answers to `prompts` begun in it."""
        old, going = self.batch, self.batch.going() if self.batch is not None else []
        answers = [Answer(prompt) for prompt in prompts]
        fresh, logits = self._prefill(answers, 0 if going else max(answer.limit for answer in answers))
        fresh.draw(logits, self.choose, self.end_ids)
        self.forget([prompt.key for prompt in prompts])
        if old is None or not going:
            return fresh
        batch = join(old, fresh, self.model)
        self.rows = {key: row for key, row in self.rows.items() if not batch.overwrote(row)}
        return batch

    def _decode(self, enough: int) -> list[tuple[Answer, Row]]:
        ended: list[tuple[Answer, Row]] = []
        while self.batch is not None:
            going = self.batch.going()
            done = len(ended) + sum(answer is not None for answer in self.batch.answers) - len(going)
            if not going or done >= enough:
                break
            if 2 * len(going) <= len(self.batch.answers):
                ended += self.batch.retire()
                self.batch = unite([(self.batch, going)], self.model)
            self._step(self.batch)
        if self.batch is not None:
            ended += self.batch.retire()
            self.batch = self.batch if self.batch.going() else None
        return ended

    def _step(self, batch: Batch) -> None:
        tokens, positions = batch.pending()
        logits = self.forward(batch.segment, tokens, positions, batch.see())
        batch.segment.advance(1)
        batch.draw(logits, self.choose, self.end_ids)

    def _prefill(self, answers: Sequence[Answer], room: int) -> tuple[Batch, torch.Tensor]:
        """A batch whose prompts were run, with `room` slots to draw into, and its last logits [rows, vocab]."""
        ids = [answer.ids for answer in answers]
        sources = self._sources([answer.prompt.key for answer in answers], ids)
        rest = [tokens[length:] for tokens, (_, length) in zip(ids, sources, strict=True)]
        width, depth = max(len(tokens) for tokens in rest), max(length for _, length in sources)
        segment = gather(sources, depth + width + room, self.model, depth)
        mask = left_filled(sources, depth, depth + width + room, segment.device)
        for i, tokens in enumerate(rest):
            mask[i, depth + width - len(tokens) : depth + width] = True
        logits = self._run_prompts(segment, mask, rest, [length for _, length in sources])
        return Batch(answers, segment, mask), logits

    def _sources(self, keys: Sequence[str], ids: list[Any]) -> list[tuple[Row | None, int]]:
        if not self.reuse:
            return [(None, 0)] * len(ids)
        others = list(self.rows.values())
        if self.batch is not None:
            others += self.batch.rows(self.batch.going())
        if not others and len(ids) > 1:
            others = self._shared_row(ids)
        return [best_source(tokens, self.rows.get(key), others) for key, tokens in zip(keys, ids, strict=True)]

    def _shared_row(self, ids: list[Any]) -> list[Row]:
        """What all prompts begin with, run once; nothing where that is short."""
        shared = min(common_prefix(ids[0], other) for other in ids[1:])
        if shared < _SHARED_WORTH:
            return []
        tokens = ids[0][:shared]
        segment = gather([(None, 0)], shared, self.model, 0)
        self._run_prompts(segment, torch.ones((1, shared), dtype=torch.bool, device=segment.device), [tokens], [0])
        return [Row(segment, 0, tokens, np.arange(shared))]

    def _run_prompts(self, segment: Segment, mask: torch.Tensor, rest: list[Any], lengths: list[int]) -> torch.Tensor:
        """Run what is not in the cache, flush right, some rows at a time; return the last position's logits [rows,
        vocab].
        """
        width, depth = max(len(t) for t in rest), segment.used
        tokens = np.zeros((len(rest), width), dtype=np.int64)
        positions = np.zeros((len(rest), width), dtype=np.int64)
        for i, t in enumerate(rest):
            tokens[i, width - len(t) :] = t
            positions[i, width - len(t) :] = np.arange(lengths[i], lengths[i] + len(t))
        step = max(1, self.prefill_tokens // width)
        parts = []
        for start in range(0, len(rest), step):
            rows = slice(start, min(start + step, len(rest)))
            segment.view_rows(rows)
            seen = _prefill_mask(mask[rows, : depth + width], width)
            parts.append(self.forward(segment, tokens[rows], positions[rows], seen))
        segment.view_rows(slice(None))
        segment.advance(width)
        return torch.cat(parts)

    def forward(self, segment: Segment, tokens: Any, positions: Any, mask: torch.Tensor) -> torch.Tensor:
        """One pass of the model over `tokens` [rows, n]; `mask` [rows, 1, n, slots] says what may be seen."""
        out = self.model(
            input_ids=torch.as_tensor(tokens, device=segment.device),
            position_ids=torch.as_tensor(positions, device=segment.device),
            attention_mask=mask,
            cache=segment.cache,
            use_cache=True,
            logits_to_keep=1,
        )
        logits: torch.Tensor = out.logits[:, -1].float()
        return logits


def _prefill_mask(seen: torch.Tensor, width: int) -> torch.Tensor:
    """Causal over the last `width` slots; a padded query sees itself, so that no row of the softmax is empty."""
    rows, slots = seen.shape
    order = torch.arange(slots, device=seen.device)
    query = order[slots - width :]
    mask = seen[:, None, :] & (order[None, None, :] <= query[None, :, None])
    mask |= (order[None, :] == query[:, None])[None]
    return mask[:, None].expand(rows, 1, width, slots)


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """Dropout off while generating, whatever a trainer had set (a bug of the paper's: dropout on during rollouts)."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)
