"""data/README.md has a row for each artifact that the rules declare."""

import re
from pathlib import Path

from tracemill.document import read_yaml

ROOT = Path(__file__).resolve().parents[3]
NAMES = ["SNAPSHOT", "STAGE", "CHECKPOINT"]


def test_every_output_of_the_rules_is_on_the_page():
    page = (ROOT / "data" / "README.md").read_text(encoding="utf-8")
    told = set()
    for cell in re.findall(r"^\| (`.*?`) \|", page, re.MULTILINE):
        first, *more = re.findall(r"`([^`]+)`", cell)
        folder = first.rpartition("/")[0]
        told |= {first.rstrip("/"), *(f"{folder}/{name}" if "/" not in name else name.rstrip("/") for name in more)}
    outs = {
        next(iter(out)) if isinstance(out, dict) else out
        for path in [ROOT / "dvc.yaml", *ROOT.glob("snapshots/*/dvc.yaml")]
        for stage in read_yaml(path)["stages"].values()
        for kind in ("outs", "metrics", "plots")
        for out in stage.get(kind, [])
    }
    assert len(outs) > 50
    patterns = [re.compile(re.sub("|".join(NAMES), "[^/]+", re.escape(name))) for name in told]
    assert [out for out in sorted(outs) if not any(p.fullmatch(out.removeprefix("data/")) for p in patterns)] == []
