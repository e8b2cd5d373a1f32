"""Answers that are decoded together, one row of a segment each.

Rows end at different times. One that has ended stays in the batch, for nothing, until it is retired; its keys and
values are kept where they are for the episode's next turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from tracemill.evaluation.kv_cache import Row, Segment, gather, put
from tracemill.evaluation.tokens import Generated, Prompt

SPARE = 64
"""Slots that a batch keeps free before and behind its rows, so that most answers join without a copy of the others."""

Choose = Callable[[torch.Tensor, Sequence[Prompt], Sequence[int], Sequence[float]], torch.Tensor]
"""Logits [rows, vocab], prompts, tokens drawn so far and uniform numbers in; one token a row out."""


class Answer:
    """A prompt and what was drawn for it so far. The last token drawn was not run through the model yet."""

    def __init__(self, prompt: Prompt) -> None:
        self.prompt = prompt
        self.ids = np.asarray(prompt.ids, dtype=np.int64)
        self.tokens: list[int] = []
        self.logprobs: list[float] = []
        self.ended = False
        self.limit = prompt.sampling.max_new_tokens
        stream = np.random.Generator(np.random.Philox(key=prompt.seed)) if prompt.sampling.temperature > 0 else None
        self.uniforms = stream.random(self.limit) if stream is not None else np.zeros(self.limit)

    @property
    def finished(self) -> bool:
        """Whether nothing more is drawn."""
        return self.ended or len(self.tokens) >= self.limit

    @property
    def left(self) -> int:
        """Tokens that may still be drawn."""
        return self.limit - len(self.tokens)

    @property
    def known(self) -> int:
        """Tokens that the model has read."""
        return len(self.ids) + len(self.tokens) - 1

    def add(self, token: int, logprob: float, end_ids: Sequence[int]) -> None:
        """Take a token that was drawn."""
        self.tokens.append(token)
        self.logprobs.append(logprob)
        self.ended = token in end_ids

    def run_ids(self) -> Any:
        """Prompt and answer as far as the model has read them."""
        return np.concatenate([self.ids, np.asarray(self.tokens[:-1], dtype=np.int64)])

    def result(self) -> Generated:
        """What was generated."""
        return Generated(tuple(self.tokens), tuple(self.logprobs), self.ended)


class Batch:
    """Answers and their rows; `mask` [rows, slots] says which slots a row may see. None stands for a retired answer."""

    def __init__(self, answers: Sequence[Answer], segment: Segment, mask: torch.Tensor) -> None:
        self.answers: list[Answer | None] = list(answers)
        self.segment, self.mask = segment, mask

    def going(self) -> list[int]:
        """The rows that still draw."""
        return [i for i, answer in enumerate(self.answers) if answer is not None and not answer.finished]

    def rows(self, wanted: Sequence[int]) -> list[Row]:
        """Where the tokens of these rows are."""
        seen = self.mask[:, : self.segment.used].cpu().numpy()
        rows = []
        for i in wanted:
            answer = self.answers[i]
            assert answer is not None
            ids = answer.run_ids()
            rows.append(Row(self.segment, i, ids, np.flatnonzero(seen[i])[: len(ids)]))
        return rows

    def draw(self, logits: torch.Tensor, choose: Choose, end_ids: Sequence[int]) -> None:
        """Draw one token for each row that goes on; `logits` [rows, vocab] belong to all rows."""
        rows = self.going()
        answers = [answer for i in rows if (answer := self.answers[i]) is not None]
        mine = logits if len(rows) == len(self.answers) else logits[rows]
        chosen = choose(
            mine,
            [answer.prompt for answer in answers],
            [len(answer.tokens) for answer in answers],
            [float(answer.uniforms[len(answer.tokens)]) for answer in answers],
        )
        scores = torch.log_softmax(mine, dim=-1).gather(1, chosen[:, None])[:, 0].tolist()
        for answer, token, score in zip(answers, chosen.tolist(), scores, strict=True):
            answer.add(token, score, end_ids)

    def pending(self) -> tuple[list[list[int]], list[list[int]]]:
        """The last token of each row and its position, [rows, 1] each; zeros for rows that nobody reads."""
        tokens = [[answer.tokens[-1] if answer else 0] for answer in self.answers]
        positions = [[answer.known if answer else 0] for answer in self.answers]
        return tokens, positions

    def see(self) -> torch.Tensor:
        """Let every row see its next slot; return the mask of one decoding step, [rows, 1, 1, slots]."""
        used = self.segment.used
        self.mask[:, used] = True
        return self.mask[:, None, None, : used + 1]

    def overwrote(self, row: Row) -> bool:
        """Whether an answer sits now where this row of an answer handed out was."""
        return row.segment is self.segment and self.answers[row.row] is not None

    def retire(self) -> list[tuple[Answer, Row]]:
        """Hand out the answers that have ended, each with its row."""
        done = [i for i, answer in enumerate(self.answers) if answer is not None and answer.finished]
        out = [(answer, row) for row in self.rows(done) if (answer := self.answers[row.row]) is not None]
        for i in done:
            self.answers[i] = None
        return out


def unite(parts: Sequence[tuple[Batch, Sequence[int]]], model: Any, spare: int = 0) -> Batch:
    """One batch of these rows of these batches, with room for what each may still draw, and `spare` slots before and
    behind for answers that join later.
    """
    answers = [answer for batch, rows in parts for i in rows if (answer := batch.answers[i]) is not None]
    found = [row for batch, rows in parts for row in batch.rows(rows)]
    sources: list[tuple[Row | None, int]] = [(row, len(row.slots)) for row in found]
    depth = max(length for _, length in sources) + spare
    slots = depth + max(answer.left for answer in answers) + spare
    segment = gather(sources, slots, model, depth)
    return Batch(answers, segment, left_filled(sources, depth, slots, segment.device))


def join(old: Batch, fresh: Batch, model: Any) -> Batch:
    """`old` with the answers of `fresh`: in rows of it that nobody reads, where there is room, else in a new batch."""
    free = [i for i, answer in enumerate(old.answers) if answer is None]
    found = fresh.rows(range(len(fresh.answers)))
    if len(free) < len(found) or not _has_room(old, fresh, max(len(row.slots) for row in found)):
        return unite([(old, old.going()), (fresh, range(len(found)))], model, SPARE)
    for target, row in zip(free, found, strict=False):
        put(row, old.segment, target)
        old.mask[target] = False
        old.mask[target, : len(row.slots)] = True
        old.answers[target] = fresh.answers[row.row]
    return old


def _has_room(old: Batch, fresh: Batch, longest: int) -> bool:
    """Whether prompts fit before the slot that is drawn into next, answers behind it, and few slots lie fallow."""
    used, left = old.segment.used, max(answer.left for answer in (*old.answers, *fresh.answers) if answer is not None)
    needed = max([longest, *(answer.known for answer in old.answers if answer is not None)])
    return longest <= used and used + left <= old.mask.shape[1] and used - needed <= 2 * SPARE


def left_filled(sources: Sequence[tuple[Row | None, int]], depth: int, slots: int, device: Any) -> torch.Tensor:
    """The mask [rows, slots] of prefixes that end flush at slot `depth`."""
    mask = torch.zeros((len(sources), slots), dtype=torch.bool, device=device)
    for i, (_, length) in enumerate(sources):
        mask[i, depth - length : depth] = True
    return mask
