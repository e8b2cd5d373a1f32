"""`tracemill search` and `tracemill serve-catalog` as a user types them."""

import json
import socket
import subprocess
import sys
import time

import httpx
import pytest
from typer.testing import CliRunner

from tracemill.cli import app
from tracemill.environment.index import build_index
from tracemill.environment.products import write_products

PRODUCTS = [
    {"product_id": "1", "shop_id": "a", "title": "red lamp", "price": 5.0, "service": ["COD"], "sold_count": 3},
    {
        "product_id": "2",
        "shop_id": "b",
        "title": "women's \x1b[31m lamp\n",
        "price": 2.5,
        "service": [],
        "sold_count": 9,
    },
]


@pytest.fixture(params=["c.jsonl.gz", "c.jsonl.zst", "index"])
def catalogue(tmp_path, request):
    path = tmp_path / request.param
    if request.param == "index":
        build_index(PRODUCTS, path)
    else:
        write_products(PRODUCTS, path)
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["search", *map(str, arguments)])


def test_search_prints_a_line_a_product(catalogue):
    result = run("--catalog", catalogue, "lamp", "--sort", "priceasc")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == ["2  2.5  shop b  []  women's [31m lamp", "1  5.0  shop a  [COD]  red lamp"]


def test_no_terminal_obeys_a_product(tmp_path):
    hostile = {**PRODUCTS[0], "product_id": "1\x9b2J", "shop_id": "s\x1b]0;t\x07", "service": ["\x1b[5mCOD", "a\nb"]}
    write_products([hostile], tmp_path / "c.jsonl")
    (line,) = run("--catalog", tmp_path / "c.jsonl", "lamp").stdout.splitlines()
    assert line.isprintable()
    assert line.endswith("red lamp")


def test_search_answers_json_as_the_server_would(catalogue):
    result = run("--catalog", catalogue, "lamp", "--json", "--service", "COD", "--price", "1-9", "--shop-id", "a")
    assert json.loads(result.stdout) == [PRODUCTS[0]]
    assert json.loads(run("--catalog", catalogue, "lamp", "--json", "--page", "two").stdout) == []
    assert (
        json.loads(run("--catalog", catalogue, "women's", "--json", "--twice-encoded").stdout)[0]["product_id"] == "2"
    )


def test_a_wrong_file_is_one_line_and_exit_code_3(tmp_path):
    (tmp_path / "c.jsonl").write_text("{}\n")
    done = subprocess.run(
        [sys.executable, "-m", "tracemill.cli", "search", "--catalog", str(tmp_path / "c.jsonl"), "lamp"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "c.jsonl:1: product_id is None" in done.stderr


def test_serve_catalog_answers_and_stops(tmp_path):
    write_products(PRODUCTS, tmp_path / "c.jsonl")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "tracemill.cli", "serve-catalog", "--catalog", str(tmp_path / "c.jsonl")]
    server = subprocess.Popen([*command, "--port", str(port)], stderr=subprocess.PIPE)
    try:
        for _ in range(600):
            try:
                found = httpx.get(f"http://127.0.0.1:{port}/find_product", params={"q": "lamp", "page": "1"})
                break
            except httpx.ConnectError:
                assert server.poll() is None
                time.sleep(0.1)
        assert [p["product_id"] for p in found.json()] == ["1", "2"]
    finally:
        server.terminate()
        server.communicate(timeout=30)
