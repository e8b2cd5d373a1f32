"""The catalogue over a real HTTP server on the loopback device: same answers as the embedded one."""

import socket
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest
import uvicorn

from tracemill.environment.backend import HttpCatalog, TwiceEncoded
from tracemill.environment.index import build_index, open_index
from tracemill.environment.server import make_app
from tracemill.errors import InputError

PRODUCTS = [
    {
        "product_id": f"{n:04}",
        "shop_id": f"{n % 4}",
        "title": title,
        "price": n / 4,
        "service": ["COD"] if n % 2 else [],
        "sold_count": n * 7 % 11,
        "sku_options": {"1": {"size": str(n)}},
        "attributes": {"made of": ["café wood"]},
    }
    for n, title in enumerate(["women's red lamp", "red lamp 27s", "lamp café"] * 40)
]


@pytest.fixture(scope="module")
def embedded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "index"
    build_index(PRODUCTS, folder)
    return open_index(folder)


@pytest.fixture(scope="module")
def url(embedded):
    server = uvicorn.Server(uvicorn.Config(make_app(embedded), log_level="warning"))
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join(10)


CALLS = [
    {"q": "red lamp"},
    {"q": "red lamp", "page": "3", "sort": "priceasc"},
    {"q": "women's", "price": "2-9", "sort": "order"},
    {"q": "lamp", "shop_id": "2", "service": "COD,LazMall"},
    {"q": "lamp", "shop_id": "1", "service": "COD,LazMall"},
    {"q": "lamp", "page": "two"},
    {"q": "lamp", "price": "375:99999"},
    {"q": ""},
    {"q": "a+b & café=%27 #x"},
    {"q": "lamp", "page": None},
]


@pytest.mark.parametrize("call", CALLS)
def test_the_server_answers_as_the_embedded_catalogue(url, embedded, call):
    with HttpCatalog(url) as remote:
        assert remote.find_product(**call) == embedded.find_product(**call)
        assert str(remote.find_product(**call)) == str(embedded.find_product(**call))
        assert TwiceEncoded(remote).find_product(**call) == TwiceEncoded(embedded).find_product(**call)


def test_pages_and_raw_documents_are_the_same(url, embedded):
    with HttpCatalog(url) as remote:
        asked = "0007,none,0003, 0001"
        assert remote.view_product_information(asked) == embedded.view_product_information(asked)
        assert remote.get_product_raw("0007") == embedded.get_product_raw("0007") == PRODUCTS[7]
        assert remote.get_product_raw("none") is None
        assert remote.get_product_raw("0001,0002") is None
        ids = [f"{n:04}" for n in range(300)]
        assert remote.get_products_raw(ids) == embedded.get_products_raw(ids)
        assert len(remote.get_products_raw(ids)) == 120


@pytest.mark.parametrize(
    "call",
    [
        {"q": "lamp", "page": "²"},
        {"q": "\ud800 lamp"},
        {"q": "lamp", "shop_id": "\ud800"},
        {"q": "lamp", "price": "x" * 3_000},
        {"q": "lamp\x00\r\nHost: x"},
    ],
)
def test_hostile_arguments_are_answered_alike(url, embedded, call):
    with HttpCatalog(url) as remote:
        assert remote.find_product(**call) == embedded.find_product(**call)


def test_what_no_address_can_hold_is_not_asked(url):
    with HttpCatalog(url) as remote:
        assert remote.find_product("lamp " * 10_000) == []
        assert [p["product_id"] for p in remote.view_product_information("0001," + "x" * 10**6 + ",0002")] == [
            "0001",
            "0002",
        ]
        many = ",".join(f"{n:04}" for n in range(2_000))
        assert len(remote.view_product_information(many)) == 120
        assert remote.get_product_raw("x" * 10**6) is None


def test_the_wire_is_the_original_servers(url):
    query = "red%2527s+lamp&q=other&page=1"
    found = httpx.get(f"{url}/find_product?q={query}").json()
    assert found == httpx.get(f"{url}/find_product", params={"q": "red%27s lamp", "page": "1"}).json()
    assert httpx.get(f"{url}/find_product", params={"q": "lamp"}).json() == []  # no page: nothing
    assert httpx.get(f"{url}/get_product_raw").json() == []
    assert httpx.get(f"{url}/get_product_raw", params={"product_ids": "0002,0001"}).json() == [PRODUCTS[2], PRODUCTS[1]]
    assert httpx.get(f"{url}/view_product_information").status_code == 400
    assert httpx.get(f"{url}/health").json() == {"service": "search-server", "status": "healthy"}
    assert set(httpx.get(url).json()) == {"/find_product", "/view_product_information"}
    assert httpx.get(f"{url}/docs").status_code == 404


def test_many_clients_at_once_get_their_own_answers(url, embedded):
    wrong = []

    def ask(word):
        with HttpCatalog(url) as remote:
            expected = embedded.find_product(word)
            wrong.extend(word for _ in range(20) if remote.find_product(word) != expected)

    threads = [threading.Thread(target=ask, args=(word,)) for word in ("red", "lamp", "women", "27s") * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@contextmanager
def answering(status, body):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (500, b"boom", "status 500, expected 200"),
        (200, b"<html>", "the answer is no JSON"),
        (200, b'{"a": 1}', "answered dict, expected a list of objects"),
        (200, b"[1]", "answered list, expected a list of objects"),
    ],
)
def test_a_server_that_answers_otherwise_is_an_error_that_names_it(status, body, message):
    with answering(status, body) as url, HttpCatalog(url) as remote, pytest.raises(InputError, match=message) as raised:
        remote.find_product("lamp")
    assert f"{url}/find_product" in str(raised.value)


def test_no_server_is_an_error_that_names_the_address():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with (
        HttpCatalog(f"http://127.0.0.1:{port}") as remote,
        pytest.raises(InputError, match="is the search server running"),
    ):
        remote.view_product_information("1")
