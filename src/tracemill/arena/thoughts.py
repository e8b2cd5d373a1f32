"""What scripted agents say before they act: short sentences from a few patterns, tied to the words of the search."""

from __future__ import annotations

import random
from collections.abc import Mapping

PATTERNS: Mapping[str, tuple[str, ...]] = {
    "search": ("Search for {words}.", "I search for {words}.", "First search for {words}."),
    "next": ("Keep {found}. Next search for {words}.", "Keep {found}. Now search for {words}."),
    "same_shop": ("Keep {found}. In shop {shop} search for {words}.", "Keep {found}. Shop {shop}, search for {words}."),
    "retry": ("No match. Search for {words}.", "Nothing here. Search for {words}."),
    "view": ("Check the details before I decide.", "I check it before I choose."),
    "compare": ("Same title, so compare the options.", "I compare them because options differ."),
    "recommend": ("{found} fits because the words match, so choose it.", "{found} fits, so choose it."),
    "recommend_all": ("{found} fits too. Choose both: {ids}.", "{found} fits as well. Choose both: {ids}."),
    "end": ("Done.", "The task is done."),
}
"""Patterns by occasion; the first of each is the most frequent one. Each names its act by one verb (search, check or
compare, choose), so that the act can be read off the thought; only a thought before a recommendation says that
something fits."""

_WEIGHTS = (6, 2, 1)

SYNONYMS = (
    ("Search for", "Let me search for"),
    ("I search for", "My aim is to find"),
    ("First search for", "To begin, find"),
    ("fits", "is suitable"),
    ("Keep", "Hold on to"),
    ("Check", "Verify"),
    ("choose", "pick"),
    ("Choose", "Pick"),
    ("Done.", "All done."),
)
"""Wordings that a miner exchanges to make the same thoughts look new to a judge."""


def think(occasion: str, rng: random.Random, words: str = "", **slots: str) -> str:
    """A thought for an occasion of PATTERNS.

    `words` is the search, of which the first two are named; slots are `found` (the product just chosen), `shop` and
    `ids` (all products chosen): what was decided is said before it is acted on.
    """
    patterns = PATTERNS[occasion]
    pattern = rng.choices(patterns, _WEIGHTS[: len(patterns)])[0]
    return pattern.format(words=" ".join(words.split()[:2]), **slots)


def paraphrase_thought(thought: str) -> str:
    """The same thought in other words."""
    for plain, other in SYNONYMS:
        thought = thought.replace(plain, other)
    return thought
