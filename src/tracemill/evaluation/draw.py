"""Drawing the next token of each row, by a temperature, a nucleus and a uniform number of the row's own."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from tracemill.evaluation.policies import Sampling


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
