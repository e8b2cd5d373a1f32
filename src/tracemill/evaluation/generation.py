"""Batched generation in process: one forward pass serves every live episode, and each keeps its own temperature and
seed.

`Generator.generate` takes prompts as token ids. Each row draws its tokens from its own stream of uniform numbers, so
what a row draws does not depend on its neighbours. Rows that ended are dropped from the batch once half of it has
ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import numpy as np
import torch

from tracemill.evaluation.kv_cache import Row, Segment, best_source, common_prefix, gather
from tracemill.evaluation.policies import Sampling

_SHARED_WORTH = 16
"""Tokens that all prompts must share before their prefix is run once, ahead of the batch."""


class Prompt(msgspec.Struct, frozen=True):
    """One row of a batch; `key` names the episode whose earlier turns may still be in the cache."""

    key: str
    ids: tuple[int, ...]
    seed: int
    sampling: Sampling


class Generated(msgspec.Struct, frozen=True):
    """Generated token ids with the end token, if there was one, and their log-probabilities at temperature 1."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    ended: bool


class Generator:
    """Generates with one causal language model. `prefill_tokens` bounds the tokens of one forward pass over prompts."""

    def __init__(self, model: Any, end_ids: Sequence[int], prefill_tokens: int = 16_384, reuse: bool = True) -> None:
        self.model = model
        self.end_ids = tuple(sorted(set(end_ids)))
        self.prefill_tokens = prefill_tokens
        self.reuse = reuse
        self.rows: dict[str, Row] = {}

    def reset(self) -> None:
        """Drop the whole cache; needed whenever the model's weights change."""
        self.rows = {}

    def forget(self, keys: Sequence[str]) -> None:
        """Drop what is kept for these episodes."""
        for key in keys:
            self.rows.pop(key, None)

    def generate(self, prompts: Sequence[Prompt]) -> list[Generated]:
        """Return what the model answers to each prompt, in order. Prompts must not be empty and their keys must
        differ.
        """
        if not prompts:
            return []
        with _evaluating(self.model), torch.no_grad():
            ids = [np.asarray(p.ids, dtype=np.int64) for p in prompts]
            sources = self._sources(prompts, ids)
            rest = [tokens[length:] for tokens, (_, length) in zip(ids, sources, strict=True)]
            width = max(len(tokens) for tokens in rest)
            depth = max(length for _, length in sources)
            limit = max(p.sampling.max_new_tokens for p in prompts)
            segment = gather(sources, depth + width + limit, self.model)
            mask = torch.zeros((len(prompts), depth + width + limit), dtype=torch.bool, device=self.model.device)
            for i, (_, length) in enumerate(sources):
                mask[i, depth - length : depth] = True
                mask[i, depth + width - len(rest[i]) : depth + width] = True
            logits = self._prefill(segment, mask, rest, [length for _, length in sources])
            batch = _Batch(self, prompts, segment, mask, ids)
            batch.run(logits)
            self.rows = batch.remembered() if self.reuse else {}
        return batch.results()

    def choose(
        self, logits: torch.Tensor, prompts: Sequence[Prompt], drawn: Sequence[int], uniforms: Sequence[float]
    ) -> torch.Tensor:
        """Return the next token of each row; `drawn` counts the tokens that a row has already."""
        return choose_tokens(logits, [p.sampling for p in prompts], uniforms)

    def _sources(self, prompts: Sequence[Prompt], ids: list[Any]) -> list[tuple[Row | None, int]]:
        if not self.reuse:
            return [(None, 0)] * len(prompts)
        if not self.rows and len(prompts) > 1:
            self._prefill_shared(ids)
        others = list(self.rows.values())
        return [best_source(t, self.rows.get(p.key), others) for p, t in zip(prompts, ids, strict=True)]

    def _prefill_shared(self, ids: list[Any]) -> None:
        shared = min(common_prefix(ids[0], other) for other in ids[1:])
        if shared < _SHARED_WORTH:
            return
        tokens = ids[0][:shared]
        segment = gather([(None, 0)], shared, self.model)
        self._prefill(segment, torch.ones((1, shared), dtype=torch.bool, device=self.model.device), [tokens], [0])
        self.rows = {"": Row(segment, 0, tokens, np.arange(shared))}

    def _prefill(self, segment: Segment, mask: torch.Tensor, rest: list[Any], lengths: list[int]) -> torch.Tensor:
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
            parts.append(
                self.forward(segment, tokens[rows], positions[rows], _prefill_mask(mask[rows, : depth + width], width))
            )
        segment.view_rows(slice(None))
        segment.advance(width)
        return torch.cat(parts)

    def forward(self, segment: Segment, tokens: Any, positions: Any, mask: torch.Tensor) -> torch.Tensor:
        """One pass of the model over `tokens` [rows, n]; `mask` [rows, 1, n, slots] says what may be seen."""
        device = self.model.device
        out = self.model(
            input_ids=torch.as_tensor(tokens, device=device),
            position_ids=torch.as_tensor(positions, device=device),
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


class _Batch:
    """The rows of one call while they are decoded."""

    def __init__(
        self, owner: Generator, prompts: Sequence[Prompt], segment: Segment, mask: torch.Tensor, ids: list[Any]
    ) -> None:
        self.owner, self.prompts, self.segment, self.mask, self.ids = owner, prompts, segment, mask, ids
        self.alive = list(range(len(prompts)))
        self.tokens: list[list[int]] = [[] for _ in prompts]
        self.logprobs: list[list[float]] = [[] for _ in prompts]
        self.ended = [False] * len(prompts)
        self.kept: dict[int, Row] = {}
        self.uniforms = [
            np.random.Generator(np.random.Philox(key=p.seed)).random(p.sampling.max_new_tokens)
            if p.sampling.temperature > 0
            else None
            for p in prompts
        ]

    def run(self, logits: torch.Tensor) -> None:
        """Draw tokens until every row has ended or reached its limit."""
        while True:
            chosen = self._choose(logits)
            live = [row for row, i in enumerate(self.alive) if not self._finished(i)]
            if not live:
                break
            if 2 * len(live) <= len(self.alive):
                self._compact(live)
                chosen = chosen[live]
            used = self.segment.used
            self.mask[:, used] = True
            positions = [[len(self.ids[i]) + len(self.tokens[i]) - 1] for i in self.alive]
            logits = self.owner.forward(self.segment, chosen[:, None], positions, self.mask[:, None, None, : used + 1])
            self.segment.advance(1)
        self._compact([])

    def _finished(self, i: int) -> bool:
        return self.ended[i] or len(self.tokens[i]) >= self.prompts[i].sampling.max_new_tokens

    def _choose(self, logits: torch.Tensor) -> torch.Tensor:
        """Draw one token for each row that goes on; rows that ended get a repeated token that nobody reads."""
        chosen = self.owner.choose(
            logits,
            [self.prompts[i] for i in self.alive],
            [len(self.tokens[i]) for i in self.alive],
            [self._uniform(i) for i in self.alive],
        )
        scores = torch.log_softmax(logits, dim=-1).gather(1, chosen[:, None])[:, 0].tolist()
        for i, token, score in zip(self.alive, chosen.tolist(), scores, strict=True):
            if self._finished(i):
                continue
            self.tokens[i].append(token)
            self.logprobs[i].append(score)
            self.ended[i] = token in self.owner.end_ids
        return chosen

    def _uniform(self, i: int) -> float:
        stream = self.uniforms[i]
        return 0.0 if stream is None else float(stream[min(len(self.tokens[i]), len(stream) - 1)])

    def _compact(self, live: list[int]) -> None:
        """Remember the rows that ended where they are, and carry on with the others in a smaller segment."""
        mask = self.mask.cpu().numpy()
        rows: list[Row] = []
        for row, i in enumerate(self.alive):
            # The last token drawn was never run, so it has no slot; a row that ended earlier ran on for nothing.
            known = len(self.ids[i]) + len(self.tokens[i]) - 1
            ids = np.concatenate([self.ids[i], np.asarray(self.tokens[i], dtype=np.int64)])[:known]
            slots = np.flatnonzero(mask[row, : self.segment.used])[:known]
            rows.append(Row(self.segment, row, ids[: len(slots)], slots))
        for row, i in enumerate(self.alive):
            if row not in set(live):
                self.kept[i] = rows[row]
        if live:
            self._shrink([rows[row] for row in live], mask.shape[1] - self.segment.used)
            self.alive = [self.alive[row] for row in live]

    def _shrink(self, rows: list[Row], room: int) -> None:
        sources: list[tuple[Row | None, int]] = [(row, len(row.slots)) for row in rows]
        depth = max(length for _, length in sources)
        self.segment = gather(sources, depth + room, self.owner.model)
        self.mask = torch.zeros((len(rows), depth + room), dtype=torch.bool, device=self.mask.device)
        for i, (_, length) in enumerate(sources):
            self.mask[i, depth - length : depth] = True

    def remembered(self) -> dict[str, Row]:
        """The rows by episode, for the next turn."""
        return {self.prompts[i].key: row for i, row in sorted(self.kept.items())}

    def results(self) -> list[Generated]:
        """What was generated, in the order of the prompts."""
        return [
            Generated(tuple(t), tuple(s), e) for t, s, e in zip(self.tokens, self.logprobs, self.ended, strict=True)
        ]


def choose_tokens(logits: torch.Tensor, sampling: Sequence[Sampling], uniforms: Sequence[float]) -> torch.Tensor:
    """Return one token id per row of `logits` [rows, vocab].

    Temperature 0 takes the largest logit. Otherwise the smallest set of likeliest tokens whose probability reaches
    `top_p` is kept (nucleus sampling, Holtzman et al. 2020), and the row's uniform number in [0, 1) picks from it by
    cumulative probability.
    """
    chosen = logits.argmax(dim=-1)
    drawn = [row for row, s in enumerate(sampling) if s.temperature > 0]
    if not drawn:
        return chosen
    index = torch.as_tensor(drawn, device=logits.device)
    temperature = torch.as_tensor([sampling[row].temperature for row in drawn], device=logits.device)[:, None]
    top_p = torch.as_tensor([sampling[row].top_p for row in drawn], device=logits.device)[:, None]
    probability, order = torch.softmax(logits[index] / temperature, dim=-1).sort(dim=-1, descending=True, stable=True)
    cumulative = probability.cumsum(dim=-1)
    kept = torch.where(cumulative - probability < top_p, probability, torch.zeros_like(probability)).cumsum(dim=-1)
    uniform = torch.as_tensor([uniforms[row] for row in drawn], dtype=kept.dtype, device=logits.device)[:, None]
    position = (kept <= uniform * kept[:, -1:]).sum(dim=-1, keepdim=True)
    last = (kept < kept[:, -1:]).sum(dim=-1, keepdim=True)
    chosen[index] = order.gather(1, torch.minimum(position, last))[:, 0]
    return chosen


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """Dropout off while generating, whatever a trainer had set (a bug of the paper's: dropout on during rollouts)."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)
