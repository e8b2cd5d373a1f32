"""Opening the sealed pool through the real command: the book is written first, then the problems are played."""

import json
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

from tracemill.arena.catalog import generate_catalog
from tracemill.arena.params import CatalogParams, ProblemParams
from tracemill.arena.problems import generate_problems
from tracemill.environment.index import build_index
from tracemill.environment.problem import write_problems
from tracemill.errors import InputError
from tracemill.evaluation.opening import open_pool, result_line
from tracemill.leakage.nodes import problem_key

PARAMS = Path(__file__).resolve().parents[2] / "params.yaml"


@pytest.fixture
def project(tmp_path):
    """A clone with everything that an opening reads."""
    data = tmp_path / "data"
    for folder in ("environment", "leakage"):
        (data / folder).mkdir(parents=True)
    catalog = generate_catalog(CatalogParams(products=600, shops=40))
    made = generate_problems(catalog, ProblemParams(problems=40))
    problems = list({problem_key(p.query, p.gold_ids): p for p in made}.values())
    build_index(catalog, data / "environment/index")
    write_problems(problems, data / "environment/problems.jsonl")
    rows = [
        (problem_key(p.query, p.gold_ids), p.problem_id, p.category, "c", "never_touch", list(p.gold_ids))
        for p in problems[:6]
    ]
    columns = ["problem_key", "problem_id", "category", "cluster", "pool", "gold_ids"]
    pl.DataFrame(rows, schema=columns, orient="row").write_parquet(data / "leakage/pools.parquet")
    shutil.copy(PARAMS, tmp_path / "params.yaml")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    for arguments in (["init", "-q"], ["add", "params.yaml"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *arguments], check=True)
    return tmp_path


def test_an_opening_is_entered_with_commit_and_reason_and_its_result_kept(project):
    path, result = open_pool(project, "expert", "the paper's last table")
    entry = json.loads((project / "data/ledger/openings.jsonl").read_text())
    assert (entry["checkpoint"], entry["reason"], entry["problems"]) == ("expert", "the paper's last table", 6)
    assert len(entry["commit"]) == 40
    assert path.name == "opened-0001.json"
    assert json.loads(path.read_text())["success"]["n"] == 6
    assert "6 of 6 sealed problems solved, 100.0%" in result_line(result)
    assert open_pool(project, "expert", "again")[0].name == "opened-0002.json"


def test_what_is_not_built_opens_nothing(project):
    with pytest.raises(InputError, match="data/models/sft: not there"):
        open_pool(project, "sft", "why not")
    assert not (project / "data/ledger/openings.jsonl").exists()


def test_no_reason_opens_nothing(project):
    with pytest.raises(InputError, match="--reason is empty"):
        open_pool(project, "expert", " ")
    assert not (project / "data/ledger").exists()
