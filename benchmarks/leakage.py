"""The leak join against rapidfuzz's brute force, its growth and memory, and what the links are worth on labelled
variants.

    python benchmarks/leakage.py --sizes 1000 10000 50000 200000 --brute 50000 --shared ../shared

Everything on one thread, timed in CPU seconds of a fresh process per size. Problems are synthetic: words of a Zipf
vocabulary in the lengths of the real requests, every fifth a variant of an earlier one, so that there are pairs on both
sides of the threshold. Brute force is `rapidfuzz.process.cdist` with Indel similarity over token lists encoded as one
character a token, upper triangle only, in blocks of rows.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

VOCABULARY = 30_000
BLOCK = 256


def make_token_sets(count: int, seed: int = 7) -> list[tuple[str, ...]]:
    rng = random.Random(seed)
    weights = [1 / (rank + 8) for rank in range(VOCABULARY)]
    draws = iter(rng.choices(range(VOCABULARY), weights, k=count * 40))
    made: list[tuple[str, ...]] = []
    while len(made) < count:
        if made and rng.random() < 0.2:
            old = list(rng.choice(made))
            kept = [token for token in old if rng.random() > 0.25]
            made.append(tuple(sorted({*kept, *(f"t{next(draws)}" for _ in range(rng.randrange(0, 4)))})))
        else:
            made.append(tuple(sorted({f"t{next(draws)}" for _ in range(rng.choice((5, 8, 10, 14, 18, 24, 30)))})))
    return made


def join(sets: list[tuple[str, ...]]) -> list[tuple[int, int]]:
    from tracemill.leakage.join import dice_pairs

    return [(i, j) for i, j, _ in dice_pairs(sets)]


def brute_force(sets: list[tuple[str, ...]]) -> list[tuple[int, int]]:
    import numpy as np
    from rapidfuzz.distance import Indel
    from rapidfuzz.process import cdist

    codes = {token: chr(0x100 + n) for n, token in enumerate(sorted({t for s in sets for t in s}))}
    texts = ["".join(sorted(codes[t] for t in s)) for s in sets]
    members = [set(s) for s in sets]
    found = []
    for start in range(0, len(texts), BLOCK):
        rows = texts[start : start + BLOCK]
        scores = cdist(
            rows, texts[start:], scorer=Indel.normalized_similarity, score_cutoff=0.599, workers=1, dtype=np.float32
        )
        for a, b in zip(*np.nonzero(scores), strict=True):
            i, j = start + int(a), start + int(b)
            if i < j and 10 * len(members[i] & members[j]) >= 3 * (len(members[i]) + len(members[j])):
                found.append((i, j))
    return sorted(found)


def measure(method: str, count: int) -> dict[str, Any]:
    sets = make_token_sets(count)
    before, start = time.process_time(), time.perf_counter()
    pairs = join(sets) if method == "join" else brute_force(sets)
    spent, wall = time.process_time() - before, time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    digest = hash(tuple(pairs))
    return {
        "method": method,
        "problems": count,
        "edges": len(pairs),
        "cpu_s": round(spent, 2),
        "wall_s": round(wall, 2),
        "peak_mb": round(peak),
        "pairs": digest,
    }


def in_fresh_process(method: str, count: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--one", method, str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def quality(shared: Path) -> dict[str, Any]:
    from rapidfuzz import fuzz

    from tracemill.leakage.normalise import content_tokens

    def lines(name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (shared / name).read_text(encoding="utf-8").splitlines()]

    real = lines("data/shoppingbench/problems.jsonl")
    variants = lines("cases/leak_variants.jsonl")
    gold = {tuple(pair) for pair in json.loads((shared / "cases/gold_links.json").read_text())}
    query = {p["problem_id"]: p["query"] for p in real}
    tokens = {key: set(content_tokens(text)) for key, text in query.items()}

    def dice(a: set[str], b: set[str]) -> bool:
        return 10 * len(a & b) >= 3 * (len(a) + len(b))

    rules = {
        "tracemill": lambda v, key: dice(set(content_tokens(v)), tokens[key]),
        "token_set_ratio >= 80": lambda v, key: fuzz.token_set_ratio(v, query[key]) >= 80,
        "ratio >= 80": lambda v, key: fuzz.ratio(v, query[key]) >= 80,
    }
    ids = sorted(query)
    answer = {}
    for name, rule in rules.items():
        kinds: dict[str, list[bool]] = {}
        for variant in variants:
            kinds.setdefault(variant["kind"], []).append(rule(variant["query"], variant["problem_id"]))
        merged = [
            (a, b)
            for n, a in enumerate(ids)
            for b in ids[n + 1 :]
            if (dice(tokens[a], tokens[b]) if name == "tracemill" else rule(query[a], b))
        ]
        hits = [hit for found in kinds.values() for hit in found]
        answer[name] = {
            "recall": round(sum(hits) / len(hits), 4),
            "by_kind": {kind: f"{sum(found)}/{len(found)}" for kind, found in sorted(kinds.items())},
            "unrelated_merged": sum(pair not in gold for pair in merged),
            "gold_pairs_by_text": sum(pair in gold for pair in merged),
        }
    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000, 50_000, 200_000])
    parser.add_argument("--brute", type=int, nargs="*", default=[1_000, 10_000, 50_000])
    parser.add_argument("--shared", type=Path, help="Folder with the labelled variants.")
    parser.add_argument("--output", type=Path, help="Where to write the figures as JSON.")
    parser.add_argument("--one", nargs=2, metavar=("METHOD", "N"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one[0], int(options.one[1]))))
        return
    report: dict[str, Any] = {"join": [], "brute_force": []}
    for count in options.sizes:
        report["join"].append(in_fresh_process("join", count))
        print(report["join"][-1], flush=True)
    for count in options.brute:
        mine = next(r for r in report["join"] if r["problems"] == count)
        row = in_fresh_process("brute", count)
        row["same_edges"] = row["pairs"] == mine["pairs"]
        row["times_the_join"] = round(row["cpu_s"] / mine["cpu_s"], 1)
        report["brute_force"].append(row)
        print(row, flush=True)
    if options.shared:
        report["quality"] = quality(options.shared)
        for name, found in report["quality"].items():
            print(name, found)
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
