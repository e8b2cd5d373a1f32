"""`logs/builds.jsonl`: when something was built, why, how long it took; outside DVC, since times are no artifact."""

import json
import os
import time
from pathlib import Path
from typing import Any

JOURNAL = Path("logs/builds.jsonl")


def record(event: str, **fields: Any) -> None:
    """Append one line in a single write: lines of parallel jobs stay whole. A log that cannot be written is let go."""
    line = json.dumps({"event": event, "time": round(time.time(), 3), "process": os.getpid(), **fields}) + "\n"
    try:
        JOURNAL.parent.mkdir(parents=True, exist_ok=True)
        with JOURNAL.open("a", encoding="utf-8") as log:
            log.write(line)
    except OSError:
        return


def entries(path: Path = JOURNAL) -> list[dict[str, Any]]:
    """All lines of the log, oldest first; a line cut by a kill is left out."""
    if not path.is_file():
        return []
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found
