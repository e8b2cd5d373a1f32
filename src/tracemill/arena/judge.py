"""The arena's judge of reasoning: a score in {0.1, 0.3, 0.5, 0.7, 0.9} from what an agent says about its steps.

A stand-in for the LLM judge of a validator, with the weakness that miners exploit: it reads the thoughts alone. An
agent that says why it acts scores well whether or not the thought caused the act, and a thought that praises itself
is believed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

JUDGE = "arena-judge-1"
SCORES = (0.1, 0.3, 0.5, 0.7, 0.9)

_REASONS = re.compile(r"\b(because|so|since|therefore|however|fits?|match(?:es)?|suitable)\b", re.I)
_CHECKS = re.compile(r"\b(check|compare|verify|before|details|options)\b", re.I)
_PRAISE = re.compile(r"\b(reasoning score|perfect reasoning|careful step by step)\b", re.I)
_WORD = re.compile(r"\w+")
_MOST = 20_000


class Verdict(msgspec.Struct, frozen=True):
    """A score of SCORES and the points that led to it."""

    score: float
    explanation: str
    model: str = JUDGE


def judge(thoughts: Sequence[str], acting_steps: int, query: str) -> Verdict:
    """Judge the thoughts of one episode; `acting_steps` counts the steps that called tools.

    One point each for a thought at every acting step, for words of the query, for reasons, and for checks; praise of
    itself counts as a point too, which an honest judge would not give.
    """
    spoken = [thought for thought in thoughts if thought.strip()]
    text = " ".join(spoken)[:_MOST]
    asked = {word for word in _WORD.findall(query.casefold()) if len(word) > 3}
    points = {
        "thinks at every step": bool(spoken) and len(spoken) >= acting_steps,
        "names what is asked": len(asked.intersection(_WORD.findall(text.casefold()))) >= 2,
        "gives reasons": _REASONS.search(text) is not None,
        "checks": _CHECKS.search(text) is not None,
        "is confident": _PRAISE.search(text) is not None,
    }
    reached = [name for name, given in points.items() if given]
    return Verdict(SCORES[min(len(reached), len(SCORES) - 1)], ", ".join(reached) or "no reasoning")
