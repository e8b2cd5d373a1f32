"""What a set of episodes says about a checkpoint.

Rates come with n, their 95% Wilson interval and the worth of one problem; means of scores are plain. pass@k is the
mean over problems of the unbiased estimate, with a bootstrap interval over problems.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from tracemill.environment.problem import CATEGORIES, Problem
from tracemill.evaluation.records import AXES, EpisodeRecord
from tracemill.evaluation.statistics import paired_bootstrap, pass_at_k, rate

CONDITIONS = {"shop": "shop", "voucher": "budget"}


def summarise(records: Sequence[EpisodeRecord]) -> dict[str, Any]:
    """Return counts, rates and means of one episode a problem, in total, by category and by bucket."""
    return {
        **_block(records),
        "by_category": {c: _block([r for r in records if r.problem.category == c]) for c in CATEGORIES},
        "by_bucket": {name: _short(rows) for name, rows in _grouped(records, lambda r: bucket_of(r)).items()},
    }


def bucket_of(record: EpisodeRecord) -> str:
    """Category and kind of a problem whose id names its kind (`product-price-0012`), else the category."""
    parts = record.problem.problem_id.split("-")
    return "/".join(parts[:2]) if len(parts) > 2 and parts[0] == record.problem.category else record.problem.category


def _grouped(records: Iterable[EpisodeRecord], key: Callable[[EpisodeRecord], str]) -> dict[str, list[EpisodeRecord]]:
    groups: dict[str, list[EpisodeRecord]] = defaultdict(list)
    for record in records:
        groups[key(record)].append(record)
    return dict(sorted(groups.items()))


def _short(records: Sequence[EpisodeRecord]) -> dict[str, Any]:
    return {"success": success_rate(records), "rule": _mean_score(records, "rule")}


def success_rate(records: Sequence[EpisodeRecord]) -> dict[str, Any]:
    """Strict success as production counts it."""
    found: dict[str, Any] = msgspec.to_builtins(rate(sum(r.success for r in records), len(records)))
    return found


def _block(records: Sequence[EpisodeRecord]) -> dict[str, Any]:
    return {
        "episodes": len(records),
        **_short(records),
        "axes": {axis: axis_mean(records, axis) for axis in AXES},
        "conditions": {
            condition: _met([r for r in records if r.problem.category == category], condition)
            for category, condition in CONDITIONS.items()
        },
        "format": _mean_score(records, "format"),
        "length": _mean_score(records, "length"),
        "hallucinated_ids": mean([len(r.hallucinated) for r in records]),
        "hallucinating": msgspec.to_builtins(rate(sum(bool(r.hallucinated) for r in records), len(records))),
        "steps": mean([r.steps for r in records]),
        "calls": mean([r.calls for r in records]),
        "prompt_tokens": mean([r.prompt_tokens for r in records]),
        "completion_tokens": mean([r.completion_tokens for r in records]),
        "outcomes": _counted(r.outcome for r in records),
        "failed_axes": _counted(axis for r in records for axis in {str(f["axis"]) for f in r.failures}),
        "tool_errors": _summed(r.tool_errors for r in records),
        "unscored": sum(r.score is None for r in records),
    }


def _met(records: Sequence[EpisodeRecord], condition: str) -> dict[str, Any]:
    """The share of episodes that meet a condition of their category."""
    hits = sum((r.score or {}).get(condition, 0.0) >= 1 for r in records)
    found: dict[str, Any] = msgspec.to_builtins(rate(hits, len(records)))
    return found


def axis_mean(records: Sequence[EpisodeRecord], axis: str, seed: int = 0) -> dict[str, Any]:
    """Mean of one axis over the problems that ask for it, with their number and a bootstrap interval over them.

    Production counts 0 for a wanted product that does not ask for the axis; here such products do not count.
    """
    asking = [(asked_share(r.problem, axis), float((r.score or {}).get(axis, 0.0))) for r in records]
    values = [min(1.0, value / share) for share, value in asking if share]
    low, high = paired_bootstrap(values, seed, least=0.0) if values else (None, None)
    return {"n": len(values), "value": mean(values), "low": low, "high": high}


def asked_share(problem: Problem, axis: str) -> float:
    """Share of the wanted products whose reward asks for an axis; `product` and `gt` concern all of them."""
    fields = {"sku & attrs": ("sku_options", "attributes"), "product": ("product_id",), "gt": ("product_id",)}
    names = fields.get(axis, (axis,))
    asking = sum(any(reward.get(name) for name in names) for reward in problem.rewards)
    return asking / len(problem.rewards) if asking else 0.0


def mean(values: Sequence[float]) -> float | None:
    """Arithmetic mean, None of nothing."""
    return sum(values) / len(values) if values else None


def _mean_score(records: Sequence[EpisodeRecord], key: str) -> float | None:
    """Mean of one key of the score; an episode without a score, or without the key, counts as 0."""
    return mean([float((r.score or {}).get(key, 0.0)) for r in records])


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _summed(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return dict(sorted(total.items()))


def powers_of_two(n: int) -> list[int]:
    """1, 2, 4, ... up to `n`, and `n` itself."""
    ks = [1 << i for i in range(n.bit_length()) if 1 << i <= n]
    return ks if not ks or ks[-1] == n else [*ks, n]


def pass_at(records: Sequence[EpisodeRecord], ks: Sequence[int] | None = None, seed: int = 0) -> dict[str, Any]:
    """Return pass@k over drawn episodes, for powers of two up to the samples that every problem has.

    Problems are told apart by their id. Raises ValueError where problems have different numbers of samples.
    """
    hits = {name: [r.success for r in rows] for name, rows in _grouped(records, lambda r: r.problem.problem_id).items()}
    sizes = sorted({len(h) for h in hits.values()})
    if len(sizes) > 1:
        raise ValueError(f"problems have {sizes[0]} to {sizes[-1]} samples, expected as many for each")
    n = sizes[0] if sizes else 0
    estimates = []
    for k in ks if ks is not None else powers_of_two(n):
        values = [pass_at_k(n, sum(h), k) for h in hits.values()]
        low, high = paired_bootstrap(values, seed, least=0.0)
        estimates.append({"k": k, "value": mean(values), "low": low, "high": high})
    mixed = sum(0 < sum(h) < len(h) for h in hits.values())
    return {"problems": len(hits), "samples": n, "mixed_problems": mixed, "estimates": estimates}


def flat_metrics(suites: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Return the few numbers of `dvc metrics show`; the suite `eval` goes without a prefix, unknown values are left
    out.
    """
    flat: dict[str, float | None] = {}
    for name, suite in suites.items():
        prefix = "" if name == "eval" else f"{name}_"
        success = suite["success"]
        flat[f"{prefix}problems"] = success["n"]
        flat[f"{prefix}success"] = success["value"]
        flat[f"{prefix}success_low"] = success["low"]
        flat[f"{prefix}success_high"] = success["high"]
        if name != "eval":
            continue
        flat["one_problem"] = success["step"]
        for category, block in suite["by_category"].items():
            flat[f"success_{category}"] = block["success"]["value"]
        flat |= {key: suite[key] for key in ("rule", "hallucinated_ids", "steps", "completion_tokens")}
        flat["broken_episodes"] = sum(n for o, n in suite["outcomes"].items() if o not in ("terminated", "step_limit"))
        for estimate in suite.get("pass_at", {}).get("estimates", []):
            flat[f"pass_at_{estimate['k']}"] = estimate["value"]
    return {key: round(value, 6) for key, value in flat.items() if value is not None}
