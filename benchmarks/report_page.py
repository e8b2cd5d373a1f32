"""Weight of the report page and the time until it can be used, at 500, 5,000 and 50,000 trajectories.

    python benchmarks/report_page.py [--counts 500 5000 50000] [--json OUT.json]

The trajectories are episodes of the scripted expert over the built-in problems. Load time is from navigation until the
page says that it is ready, in headless Chromium without network.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from tracemill.arena.catalog import generate_catalog
from tracemill.arena.expert import Expert
from tracemill.arena.params import CatalogParams, ProblemParams
from tracemill.arena.problems import generate_problems
from tracemill.environment.episode import Episode
from tracemill.environment.index import build_index, open_index
from tracemill.evaluation.policies import Sampling, ScriptedPolicy
from tracemill.evaluation.rollouts import play
from tracemill.report.blocks import Section
from tracemill.report.render import render_page
from tracemill.report.trajectories import Entry, pack, page_messages

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def make_entries(folder: Path, count: int) -> list[Entry]:
    """Entries for `count` episodes; beyond the built-in problems they repeat under other ids."""
    catalog_rows = generate_catalog(CatalogParams())
    build_index(catalog_rows, folder / "index")
    catalog = open_index(folder / "index")
    problems = generate_problems(catalog_rows, ProblemParams())[: min(count, 1200)]
    episodes = [Episode(catalog, problem) for problem in problems]
    play(ScriptedPolicy(Expert()), episodes, Sampling())
    return [entry(i, episodes[i % len(episodes)]) for i in range(count)]


def entry(number: int, episode: Episode) -> Entry:
    problem = episode.problem
    return Entry(
        id=f"t{number}",
        set="corpus",
        problem=f"{problem.problem_id}-{number}",
        category=problem.category,
        query=f"{problem.query} ({number})",
        outcome="success" if number % 3 else "wrong product",
        success=bool(number % 3),
        facts=f"{episode.steps} turns",
        why=[] if number % 3 else ["price: wanted at most 10, found 12"],
        messages=page_messages(episode.messages, 4000),
    )


def load_seconds(page: Path) -> float:
    """Seconds from navigation until the page is ready; the better of two."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        taken = []
        for _ in range(2):
            context = browser.new_context(offline=True)
            tab = context.new_page()
            began = time.perf_counter()
            tab.goto(page.as_uri(), timeout=120_000)
            tab.wait_for_selector("body[data-ready]", timeout=120_000)
            taken.append(time.perf_counter() - began)
            context.close()
        browser.close()
    return min(taken)


def measure(folder: Path, entries: list[Entry]) -> dict[str, Any]:
    """Render, weigh and open a page with these entries."""
    spent = time.process_time()
    html = render_page("Benchmark", "", [Section("empty", "Nothing", "", [])], *pack(entries))
    rendering = time.process_time() - spent
    page = folder / f"page-{len(entries)}.html"
    page.write_text(html, encoding="utf-8")
    row = {"trajectories": len(entries), "megabytes": page.stat().st_size / 1e6, "render_s": rendering}
    return {**row, "load_s": load_seconds(page) if CHROMIUM else None}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counts", type=int, nargs="+", default=[500, 5_000, 50_000])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        entries = make_entries(Path(name), max(options.counts))
        rows = [measure(Path(name), entries[:count]) for count in options.counts]
    for row in rows:
        load = "no Chromium" if row["load_s"] is None else f"ready in {row['load_s']:.2f} s"
        print(
            f"{row['trajectories']:6d} trajectories: {row['megabytes']:7.2f} MB, "
            f"rendered in {row['render_s']:.2f} s, {load}"
        )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
