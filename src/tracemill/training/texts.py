"""What the tokenizer is trained on: the catalogue as tools show it, and the sentences that users and agents are built
from.

No trace and no problem is read, so that a new snapshot rebuilds neither tokenizer nor base, and held-out problems leave
no mark.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tracemill.arena import thoughts, wording, words
from tracemill.environment.observation import render_observation
from tracemill.environment.params import ObservationParams
from tracemill.environment.prompt import FULL, SHORT
from tracemill.environment.tools import TOOLS
from tracemill.training.tokenizer import boilerplate

PROMPTS = (SHORT, FULL)
"""Both styles, so that the choice between them rebuilds no base."""


def added_tokens() -> list[str]:
    """Boilerplate of every chat in this environment as added tokens."""
    pieces = [piece for prompt in PROMPTS for piece in boilerplate(f"{prompt}\n\n", TOOLS)]
    return list(dict.fromkeys([*pieces, *_voucher_rules()]))


def _voucher_rules() -> list[str]:
    """The fixed stretches of the voucher sentences, which are the same in every voucher problem."""
    lines = [wording.VOUCHER_LEAD, *wording.VOUCHER_SCOPE.values()]
    lines += [wording.VOUCHER_THRESHOLD, wording.VOUCHER_FIXED, wording.VOUCHER_PERCENTAGE]
    stretches = [stretch for line in lines for stretch in re.split(r"\{\w+\}", line)]
    return [stretch for stretch in stretches if len(stretch) > 12]


def tokenizer_texts(products: Sequence[Mapping[str, Any]], seed: int, most: int = 4_000) -> Iterator[str]:
    """Texts for the tokenizer, at most `most` products of them; the same products and seed give the same texts."""
    rng = random.Random(seed)
    chosen = sorted(rng.sample(range(len(products)), min(most, len(products))))
    shown = ObservationParams(results=5)
    for start in range(0, len(chosen), 5):
        page = [dict(products[index]) for index in chosen[start : start + 5]]
        yield render_observation("find_product", page, shown)
        yield render_observation("view_product_information", page[:1], shown)
    for index in chosen:
        title, low, high = str(products[index].get("title", "")), rng.randrange(100, 400), rng.randrange(100, 400)
        yield f"I need a {title} priced from {low} to {high} pesos and a {title}."
        yield title
    for pair in range(100):
        yield f"{pair:02d}"
    for sentence in _sentences():
        yield from [sentence] * 20


def _sentences() -> Iterator[str]:
    yield from (*wording.OPENERS, *wording.SHOP_OPENERS, *wording.PARAPHRASED)
    for relation in ("between", "greater than", "less than"):
        condition = {relation: (100.0, 200.0)}
        yield from (f" {wording.price_words(condition, paraphrased)}" for paraphrased in (False, True))
    yield from ("\n\n", "success", "failure", "ok", "none", ", as well as a", " made of", " by")
    yield from (f"{first} and {second}." for first, second in zip(_services(), _services()[1:], strict=False))
    yield from (pattern for patterns in thoughts.PATTERNS.values() for pattern in patterns)
    yield ",".join(words.SERVICES)
    yield json.dumps(sorted(words.SERVICES))


def _services() -> list[str]:
    return [f" {wording}" for wording in words.SERVICE_WORDS.values()]
