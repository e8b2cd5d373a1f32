"""The page of the last builds: why each stage ran, and how long it took.

Times are no artifact: this page is written from `logs/builds.jsonl` whenever it is asked for, and is neither cached nor
compared.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tracemill.build.journal import entries
from tracemill.report.blocks import Block, Section, Text, number, table
from tracemill.report.render import render_page

PAGE = Path("logs/builds.html")
REPORT = "../data/report/report.html"
TIMES = "builds.js"
"""Beside the page: the same log for the report page, which cannot read other files than scripts."""
MOST_BUILDS = 20


def write_page(path: Path = PAGE) -> None:
    """Write the page of the builds that the log of this project holds, and the times of the stages beside it."""
    log = entries()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render_builds(log), encoding="utf-8")
    path.with_name(TIMES).write_text(render_times(log), encoding="utf-8")


def render_times(log: Iterable[Mapping[str, Any]]) -> str:
    """Return a script that tells the report page how long the last successful run of each stage took, in seconds, and
    when it ended (seconds since 1970).
    """
    times = {e["stage"]: [e["seconds"], e["time"]] for e in log if e["event"] == "stage" and e["status"] == 0}
    # plain ASCII without `<`, so that no browser can take it for anything but data
    text = json.dumps(dict(sorted(times.items()))).replace("<", "\\u003c")
    return f"window.tracemillTimes?.({text});\n"


def render_builds(log: Iterable[Mapping[str, Any]]) -> str:
    """Return the page of the latest builds, newest first, from the lines of the build log, oldest first."""
    builds: list[dict[str, Any]] = []
    for entry in log:
        if entry["event"] == "build" or not builds:
            builds.append({"time": entry["time"], "reasons": {}, "stages": [], "outcome": "still running, or killed"})
        if entry["event"] == "build":
            builds[-1]["reasons"] = entry["reasons"]
        elif entry["event"] == "stage":
            builds[-1]["stages"].append(entry)
        elif entry["event"] == "end":
            builds[-1] |= {"outcome": entry["outcome"], "seconds": entry["seconds"]}
    shown = builds[: -MOST_BUILDS - 1 : -1]
    sections = [_section(place, build) for place, build in enumerate(shown)]
    lead = f"{len(shown)} of {len(builds)} builds, newest first." if builds else "Nothing was built yet."
    return render_page("Builds", lead, sections, links={"Report": REPORT})


def _section(place: int, build: Mapping[str, Any]) -> Section:
    when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(build["time"]))
    ran = {entry["stage"]: entry for entry in build["stages"]}
    rows = [
        (stage, "\n".join(build["reasons"].get(stage, ["an input changed during the build"])), *_result(entry))
        for stage, entry in ran.items()
    ]
    restored = sorted(build["reasons"].keys() - ran.keys())
    blocks: list[Block] = [table("Stages that ran", ["stage", "why", "result", "seconds"], rows, [3])] if rows else []
    if restored:
        blocks.append(Text(f"Planned, but restored from the cache or not reached: {', '.join(restored)}."))
    seconds = f" in {number(build['seconds'])} s" if "seconds" in build else ""
    lead = f"{build['outcome']}{seconds}; {number(len(rows))} stages ran."
    return Section(f"build-{place}", when, lead, blocks)


def _result(entry: Mapping[str, Any]) -> tuple[str, float]:
    return ("done" if entry["status"] == 0 else f"failed ({entry['status']})"), float(entry["seconds"])
