"""The Python examples of the how-to pages run as they stand, in a folder laid out as the build leaves it."""

import re
import shutil
from pathlib import Path

import pytest

from tiny_model import save_checkpoint
from tracemill.arena.catalog import generate_catalog
from tracemill.arena.params import CatalogParams, ProblemParams
from tracemill.arena.problems import generate_problems
from tracemill.environment.index import build_index
from tracemill.environment.problem import write_problems

pytestmark = pytest.mark.torch
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def built(tmp_path, monkeypatch):
    products = generate_catalog(CatalogParams(products=400, shops=40))
    build_index(products, tmp_path / "data" / "environment" / "index")
    write_problems(
        generate_problems(products, ProblemParams(problems=20)), tmp_path / "data/environment/problems.jsonl"
    )
    save_checkpoint(tmp_path / "data" / "models" / "sft")
    shutil.copy(ROOT / "params.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("page", "last"), [("catalogue.md", ""), ("evaluation.md", r"\n(terminated|step_limit) \{.*\}\n")]
)
def test_the_examples_of_a_page_run(built, capsys, page, last):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert blocks
    exec(compile("\n".join(blocks), page, "exec"), {})
    assert re.search(last + r"\Z", capsys.readouterr().out)
