"""Ids and scores of 128 queries over 3,000 documents, as the real Lucene 9.9 answered them with Pyserini's defaults."""

import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tracemill.environment import catalog as embedded
from tracemill.environment.index import build_index, open_index

GOLDEN = Path(__file__).resolve().parents[2] / "data" / "search_golden"


def rows(name):
    with gzip.open(GOLDEN / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("golden") / "index"
    build_index(rows("docs.jsonl.gz"), folder)
    return folder


@pytest.mark.parametrize("compiled_from", [0, 10**9], ids=["compiled", "arrays"])
def test_ids_scores_and_ties_are_lucenes(index, compiled_from, monkeypatch):
    monkeypatch.setattr(embedded, "COMPILED_FROM", compiled_from)
    catalog = open_index(index)
    for golden in rows("lucene_golden.jsonl.gz"):
        found = catalog.search_scored(golden["q"], 10_000)
        assert len(found) == golden.get("n_hits", len(golden["ids"])), golden["q"]
        best = found[: len(golden["ids"])]
        assert [product_id for product_id, _ in best] == golden["ids"], golden["q"]
        assert [score for _, score in best] == golden["scores"], golden["q"]


@pytest.mark.parametrize("window", [1, 64, 1 << 15])
@pytest.mark.parametrize("limit", [1, 10, 50, 200])
def test_what_the_compiled_ranking_skips_changes_nothing(index, window, limit, monkeypatch):
    monkeypatch.setattr(embedded, "COMPILED_FROM", 0)
    monkeypatch.setattr(embedded, "WINDOW", window)
    catalog = open_index(index)
    for golden in rows("lucene_golden.jsonl.gz"):
        found = catalog.search_scored(golden["q"], limit)
        assert [product_id for product_id, _ in found] == golden["ids"][:limit], golden["q"]
        assert [score for _, score in found] == golden["scores"][:limit], golden["q"]


def test_the_page_of_a_search_is_the_ranking_cut_in_tens(index):
    catalog = open_index(index)
    golden = rows("lucene_golden.jsonl.gz")[0]
    pages = [p["product_id"] for page in "12345" for p in catalog.find_product(golden["q"], page)]
    assert pages == golden["ids"][:50]


def test_many_threads_get_their_own_answers(index, monkeypatch):
    monkeypatch.setattr(embedded, "COMPILED_FROM", 0)
    catalog = open_index(index)
    asked = [golden["q"] for golden in rows("lucene_golden.jsonl.gz")[:40]]
    expected = [catalog.find_product(query) for query in asked]
    with ThreadPoolExecutor(12) as pool:
        for _ in range(3):
            assert list(pool.map(catalog.find_product, asked)) == expected
