"""Prompts and answers as token ids: what a policy that sees tokens hands to whatever generates."""

from __future__ import annotations

import msgspec

from tracemill.evaluation.policies import Sampling


class Prompt(msgspec.Struct, frozen=True):
    """One prompt; `key` names the episode whose earlier turns may still be in a cache."""

    key: str
    ids: tuple[int, ...]
    seed: int
    sampling: Sampling


class Generated(msgspec.Struct, frozen=True):
    """Generated token ids with the end token, if there was one, and their log-probabilities at temperature 1."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    ended: bool
