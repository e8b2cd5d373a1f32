"""How fast raw envelopes become filtered trajectories, as a ratio to `orjson.loads` alone on the same file.

python benchmarks/ingest.py --megabytes 500 --folder /tmp/ingest

CPU seconds of one process. The file is made first (envelopes of about 70 KB, shaped like the arena's; one title in
six has characters that JSON escapes). "in memory" reads, normalises and asks the gates line by line; "as stages" is
what a build does, with the file's digest, the tables written, read again and filtered. The file is measured in
parts, all ways one after the other on each, several times; the least seconds of each way count, and the ratio is the
median over the parts: a busy machine disturbs all alike, but not at the same moment. Peak memory is that of a fresh
process on the whole file.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TEXT = """leather colour price brand voucher product title budget cheaper compare detail official shop option range
match query verify candidate because however second first better attribute size shipping show refine"""
WORDS = TEXT.split()
PART = 50


def make_product(rng: random.Random) -> dict[str, Any]:
    title = " ".join(rng.choices(WORDS, k=rng.randrange(8, 18))).title()
    if rng.random() < 1 / 6:
        title += rng.choice([' 24" Wide', " – Größe 38", " ✨ New"])
    return {
        "product_id": str(rng.randrange(10**9, 10**10)),
        "shop_id": str(rng.randrange(10**5, 10**6)),
        "title": title,
        "price": rng.randrange(1000, 10**6) / 100,
        "service": rng.sample(["official", "freeShipping", "COD", "flashsale"], rng.randrange(0, 4)),
        "sold_count": rng.randrange(5000),
    }


def make_step(rng: random.Random, number: int, query: str, name: str, parameters: Any, result: Any) -> dict[str, Any]:
    think = " ".join(rng.choices(WORDS, k=rng.randrange(80, 240))) + f" {rng.randrange(10**9)}."
    content = f"<think>{think}</think>\n<tool_call>{json.dumps([{'name': name, 'parameters': parameters}])}</tool_call>"
    stamp = 1750000000000 + number * 9000
    usage = {"usage": {"completion_tokens": rng.randrange(30, 400)}}
    inference = {"method": "POST", "path": "/inference/chat/completions", "status_code": 200, "timestamp": stamp}
    inference |= {"duration_ms": rng.random() * 9000, "params": None, "json_data": {"model": "x/y"}, "response": usage}
    proxy: list[dict[str, Any]] = [inference]
    if name == "find_product":
        ids = [product["product_id"] for product in result]
        proxy.append({"method": "GET", "path": "/search/find_product", "status_code": 200, "result_product_ids": ids})
    call = {"name": name, "parameters": parameters, "tool_call_id": f"{rng.randrange(16**8):08x}", "result": result}
    return {
        "completion": {"reasoning_content": "", "content": content, "message": {"think": think, "tool_call": [call]}},
        "extra_info": {"step": number, "query": query, "timestamp": stamp, "proxy_calls": proxy},
    }


def make_envelope(rng: random.Random, number: int) -> dict[str, Any]:
    query = "Find " + " ".join(rng.choices(WORDS, k=30))
    steps = []
    for position in range(rng.randrange(8, 14)):
        wanted = {"q": " ".join(rng.choices(WORDS, k=4)), "page": 1, "price": "0-500"}
        found = [make_product(rng) for _ in range(10)]
        steps.append(make_step(rng, position + 1, query, "find_product", wanted, found))
    products = [make_product(rng) | {"attributes": {w: [w.upper()] for w in WORDS[:12]}} for _ in range(5)]
    ids = ",".join(product["product_id"] for product in products)
    steps.append(make_step(rng, 30, query, "view_product_information", {"product_ids": ids}, products))
    steps.append(make_step(rng, 31, query, "recommend_product", {"product_ids": ids}, f"Recommended: {ids}."))
    steps.append(make_step(rng, 32, query, "terminate", {"status": "success"}, "completed with status: success"))
    return {
        "problem_id": f"p-{number % 997}",
        "status": "SUCCESS",
        "execution_time": 114.0,
        "error": None,
        "miner_hotkey": f"miner-{number % 50}",
        "dialogue": steps,
        "reasoning": {"score": rng.choice([0.3, 0.5, 0.7, 0.9]), "explanation": "sound", "model": "judge"},
    }


def make_parts(folder: Path, megabytes: float) -> list[Path]:
    """Files of PART megabytes that make up the wanted length; kept for the next run."""
    parts = [folder / f"part-{number:03}.jsonl" for number in range(max(1, round(megabytes / PART)))]
    for number, path in enumerate(parts):
        if not path.exists():
            rng, lines, written = random.Random(number), [], 0
            while written < PART * 1e6:
                lines.append(json.dumps(make_envelope(rng, len(lines))).encode() + b"\n")
                written += len(lines[-1])
            path.write_bytes(b"".join(lines))
    return parts


def parse_with(path: Path, loads: Callable[[bytes], Any]) -> None:
    with path.open("rb") as lines:
        for line in lines:
            loads(line)


def limits() -> Any:
    from tracemill.traces.params import NormaliseParams

    return NormaliseParams(max_line_megabytes=64.0, max_inflation=300.0, max_broken_share=0.1)


def thresholds() -> tuple[Any, Any]:
    from tracemill.corpus.params import AxisParams, GateParams

    gates = GateParams(min_reasoning_coefficient=0.7, unjudged="drop", token_budget=14336, bytes_per_token=3.0)
    axis = {"min_completion_tokens": 30, "min_supported_share": 1.0, "max_think_template_share": 0.5}
    return gates, AxisParams(**axis, admit_unknown=False)


def in_memory(path: Path) -> None:
    """Read, normalise and filter, nothing written."""
    from tracemill.corpus.axis import decide_axis
    from tracemill.corpus.gates import Facts, ask_gates
    from tracemill.corpus.measures import measure
    from tracemill.traces.normalise import Normalised, read_snapshot

    gates, axis = thresholds()
    for _, outcome in read_snapshot(path, "digest", limits()):
        if isinstance(outcome, Normalised):
            measures = measure(outcome.messages)
            row = {name: getattr(outcome.trajectory, name) for name in FACTS}
            if ask_gates(Facts(row, measures, len(outcome.messages)), gates) is None:
                turns = zip(outcome.trajectory.turns, measures.acts, strict=True)
                enough = sum(acting and (turn.inference_tokens or 0) >= 30 for turn, acting in turns)
                decide_axis(measures, enough, axis)


FACTS = ("reasoning_coefficient", "unpaired", "recommend_count", "unparsable", "terminated", "recommended_ids")


def normalise(path: Path, folder: Path) -> None:
    from tracemill.traces.snapshot import normalise_snapshot

    tables = {name: folder / f"{name}.parquet" for name in ("trajectories", "rejects", "problems")}
    normalise_snapshot(path, **tables, summary=folder / "summary.json", params=limits())


def filter_table(folder: Path) -> None:
    from tracemill.corpus.filter import filter_snapshot

    gates, axis = thresholds()
    filter_snapshot(
        folder / "trajectories.parquet",
        folder / "scores.parquet",
        kept=folder / "kept.parquet",
        dropped=folder / "dropped.parquet",
        summary=folder / "funnel.json",
        gates=gates,
        axis=axis,
    )


def write_scores(folder: Path) -> None:
    """Scores as the filter reads them; making them is another stage's work."""
    import polars as pl

    ids = pl.read_parquet(folder / "trajectories.parquet", columns=["trajectory_id"])
    gold = pl.lit([], dtype=pl.List(pl.String))
    scores = ids.with_columns(success=pl.lit(True), category=pl.lit("product"), gold_ids=gold)
    scores.write_parquet(folder / "scores.parquet")


def timed(work: Callable[[], None]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=500.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--memory-of", type=Path, help="normalise this file and print the peak memory of the process")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.memory_of:
        normalise(options.memory_of, options.folder)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
        return
    parts = make_parts(options.folder, options.megabytes)
    report_speed(parts, options.folder, options.repeats)
    report_memory(parts, options.folder)


def measure_part(path: Path, folder: Path) -> dict[str, float]:
    """CPU seconds of each way on one part."""
    import msgspec
    import orjson

    from tracemill.traces.readers import envelope

    seconds = {
        "orjson.loads": timed(lambda: parse_with(path, orjson.loads)),
        "msgspec.json.decode": timed(lambda: parse_with(path, msgspec.json.decode)),
        "msgspec typed, raw results": timed(lambda: parse_with(path, envelope.decode)),
        "read + normalise + filter, in memory": timed(lambda: in_memory(path)),
        "read + normalise, as a stage": timed(lambda: normalise(path, folder)),
    }
    write_scores(folder)
    seconds["filter, as a stage"] = timed(lambda: filter_table(folder))
    stages = seconds["read + normalise, as a stage"] + seconds["filter, as a stage"]
    return seconds | {"read + normalise + filter, as stages": stages}


def least(runs: list[dict[str, float]]) -> dict[str, float]:
    """The least seconds of each way."""
    return {name: min(run[name] for run in runs) for name in runs[0]}


def report_speed(parts: list[Path], folder: Path, repeats: int) -> None:
    warm = folder / "warm.jsonl"
    with parts[0].open("rb") as lines:
        warm.write_bytes(lines.readline())
    measure_part(warm, folder)
    found = [least([measure_part(path, folder) for _ in range(repeats)]) for path in parts]
    size = sum(path.stat().st_size for path in parts) / 1e6
    print(f"{size:.0f} MB in {len(parts)} parts, CPU seconds of one process")
    for name in found[0]:
        speed = size / sum(seconds[name] for seconds in found)
        ratios = [seconds["orjson.loads"] / seconds[name] for seconds in found]
        print(f"{name:38} {speed:8.1f} MB/s   {statistics.median(ratios):5.2f} of orjson.loads")


def report_memory(parts: list[Path], folder: Path) -> None:
    whole = folder / "whole.jsonl"
    with whole.open("wb") as out:
        for path in parts:
            out.write(path.read_bytes())
    command = [sys.executable, __file__, "--folder", str(folder), "--memory-of", str(whole)]
    peak = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])
    print(f"{'peak memory of normalise':38} {peak / 1e6:8.0f} MB for {whole.stat().st_size / 1e6:.0f} MB")
    whole.unlink()


if __name__ == "__main__":
    main()
