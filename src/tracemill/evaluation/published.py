"""Published numbers, as reference rows only: other problems, other models, never mixed with ours.

Source: arXiv 2606.10064, production-strict success on 75 held-out problems. One problem is 1.33 points.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tracemill.evaluation.statistics import rate

SOURCE = "arXiv 2606.10064"
PROBLEMS = 75


class PublishedRow(msgspec.Struct, frozen=True):
    """One published success rate in percent."""

    name: str
    success_percent: float
    problems: int = PROBLEMS
    source: str = SOURCE
    published: bool = True


ROWS = (
    PublishedRow("base (Qwen3-4B)", 18.0),
    PublishedRow("synthetic SFT", 43.6),
    PublishedRow("synthetic SFT + GRPO", 48.7),
    PublishedRow("SN15 SFT", 42.7),
    PublishedRow("SN15 SFT + KTO", 42.7),
    PublishedRow("teacher", 64.0),
    PublishedRow("top miner", 77.3),
)


def published_rows() -> list[dict[str, Any]]:
    """Return the rows with the interval that their n allows.

    Some rates are means over several runs; hits are then the nearest whole number, and only the interval is ours.
    """
    return [
        {
            **msgspec.to_builtins(row),
            "interval": msgspec.to_builtins(rate(round(row.success_percent / 100 * row.problems), row.problems)),
        }
        for row in ROWS
    ]
