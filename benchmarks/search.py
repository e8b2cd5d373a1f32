"""Searches per second, tail latency, and what an index costs, against tantivy and SQLite FTS5 on the same queries.

    python benchmarks/search.py --products 100000 1000000 --queries 1000

Each engine indexes and answers in a process of its own, one after the other, with one thread; peak memory is that
process's. Times are wall clock, with processor time beside them: on a busy machine only the latter compares. Every
answer is the same work: the best fifty products, of which the first ten are read back as objects.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from search_engines import ENGINES, products, queries

WARM_UP = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--products", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        task, engine, catalogue, folder = arguments.worker
        work = build if task == "build" else answer
        print(json.dumps(work(engine, Path(catalogue), Path(folder), arguments.queries)))
        return
    results = {str(count): measure(count, arguments.queries, arguments.engines) for count in arguments.products}
    print(json.dumps(results, indent=1) if arguments.json else "\n\n".join(map(table, results, results.values())))


def measure(count: int, asked: int, engines: list[str]) -> dict[str, dict[str, Any]]:
    from tracemill.environment.products import write_products

    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="tracemill-bench-") as folder:
        catalogue = Path(folder) / "catalogue.jsonl.zst"
        write_products(products(count), catalogue)
        catalogue.with_name("queries.json").write_text(json.dumps(queries(asked)), encoding="ascii")
        for engine in engines:
            index = Path(folder) / engine.split(",")[0].replace(" ", "-")
            built = {} if index.exists() else worker("build", engine, catalogue, index, asked)
            found[engine] = {**built, **worker("answer", engine, catalogue, index, asked)}
    first = found[engines[0]].get("tops", [])
    for engine, result in found.items():
        shared = [len(set(a) & set(b)) / max(1, len(b)) for a, b in zip(result.pop("tops"), first, strict=True)]
        if "filtered" not in engine:
            result["same_top_ten"] = round(float(np.mean(shared)), 4)
    return found


def worker(task: str, engine: str, catalogue: Path, index: Path, asked: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--queries", str(asked), "--worker", task, engine, str(catalogue), str(index)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def build(engine: str, catalogue: Path, folder: Path, _: int) -> dict[str, Any]:
    from tracemill.environment.products import read_products

    wall, cpu = time.perf_counter(), time.process_time()
    ENGINES[engine]().build(read_products(catalogue), folder)
    return {
        "index_s": round(time.perf_counter() - wall, 2),
        "index_cpu_s": round(time.process_time() - cpu, 2),
        "index_peak_mb": peak(),
        "index_mb": round(sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6, 1),
    }


def answer(engine: str, catalogue: Path, folder: Path, asked: int) -> dict[str, Any]:
    wanted = json.loads(catalogue.with_name("queries.json").read_text(encoding="ascii"))[:asked]
    searcher = ENGINES[engine]()
    start = time.perf_counter()
    searcher.open(folder)
    searcher.search(wanted[0])
    first = time.perf_counter() - start
    for query in wanted[:WARM_UP]:
        searcher.search(query)
    seconds, tops, cpu = [], [], time.process_time()
    for query in wanted:
        start = time.perf_counter()
        hits = searcher.search(query)
        seconds.append(time.perf_counter() - start)
        tops.append([hit["product_id"] for hit in hits])
    cpu = time.process_time() - cpu
    return {
        "first_ms": round(first * 1e3, 1),
        "p50_ms": round(float(np.percentile(seconds, 50)) * 1e3, 3),
        "p99_ms": round(float(np.percentile(seconds, 99)) * 1e3, 3),
        "per_s": round(len(seconds) / sum(seconds), 1),
        "per_cpu_s": round(len(seconds) / cpu, 1),
        "search_peak_mb": peak(),
        "tops": tops,
    }


def peak() -> float:
    """Most resident memory of this process in MB, mapped files included (getrusage would count the parent's)."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return round(int(status.split("VmHWM:")[1].split()[0]) / 1e3, 1)


def table(count: str, results: dict[str, dict[str, Any]]) -> str:
    columns = list(dict.fromkeys(column for result in results.values() for column in result))
    lines = [f"{int(count):,} products", "  ".join(["engine".ljust(20), *(c.rjust(14) for c in columns)])]
    for engine, result in results.items():
        lines.append("  ".join([engine.ljust(20), *(str(result.get(c, "")).rjust(14) for c in columns)]))
    ours = results.get("tracemill")
    for engine, result in results.items():
        if ours and not engine.startswith("tracemill"):
            lines.append(
                f"tracemill / {engine}: {ours['per_s'] / result['per_s']:.2f} x searches/s, "
                f"{result['p99_ms'] / ours['p99_ms']:.2f} x shorter p99, "
                f"{ours['index_cpu_s'] / result['index_cpu_s']:.2f} x index processor time"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
