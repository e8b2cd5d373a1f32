"""Building and opening an index: bytes, counts, and what is refused."""

import json
import pickle
import random

import numpy as np
import pytest

from tracemill.environment.index import build_index, open_index
from tracemill.environment.params import IndexParams
from tracemill.environment.ranking import encode_length, length_table, tie_adjusted
from tracemill.errors import InputError


def product(product_id, title="red lamp", **fields):
    return {"product_id": product_id, "shop_id": "1", "title": title, "price": 1.5, "service": [], **fields}


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_the_bytes_depend_on_the_products_alone(tmp_path):
    products = [product(str(n), f"lamp {n % 7} red", attributes={"a": ["b"], "c": ["d"]}) for n in range(50)]
    turned = [dict(reversed(p.items())) for p in products]
    random.Random(0).shuffle(turned)
    build_index(products, tmp_path / "a")
    build_index(turned, tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_counts_leave_out_products_without_words(tmp_path):
    summary = build_index([product("1"), product("2", "red the"), product("3", "...")], tmp_path / "index")
    assert (summary.products, summary.indexed, summary.terms, summary.postings, summary.total_length) == (3, 2, 2, 3, 3)
    assert json.loads((tmp_path / "index" / "index.json").read_text())["indexed"] == 2


def test_many_alike_documents_are_stored_small_and_read_back(tmp_path):
    products = [product(f"{n:05}", f"lamp {n}", description=f"the lamp number {n} of a kind" * 5) for n in range(1_500)]
    build_index(products, tmp_path / "index")
    catalog = open_index(tmp_path / "index")
    assert all(catalog.get_product_raw(p["product_id"]) == p for p in products)
    assert len(np.load(tmp_path / "index" / "dictionary.npy")) > 0
    assert (tmp_path / "index" / "documents_bytes.npy").stat().st_size < 150_000


def test_an_open_catalogue_travels_to_another_process(tmp_path):
    build_index([product("1")], tmp_path / "index")
    catalog = pickle.loads(pickle.dumps(open_index(tmp_path / "index")))
    assert catalog.find_product("lamp")[0]["product_id"] == "1"


def test_an_empty_catalogue_is_an_index_without_answers(tmp_path):
    build_index([], tmp_path / "index")
    catalog = open_index(tmp_path / "index")
    assert len(catalog) == 0
    assert catalog.find_product("lamp") == []
    assert catalog.get_product_raw("1") is None


def test_documents_of_the_arenas_index_are_indexed_by_their_contents(tmp_path):
    build_index([{"id": "1", "contents": "blue sofa", "product": product("1")}], tmp_path / "index")
    catalog = open_index(tmp_path / "index")
    assert catalog.find_product("lamp") == []
    assert catalog.find_product("sofa")[0]["title"] == "red lamp"


def test_ids_order_ties_as_text_not_as_numbers(tmp_path):
    build_index([product("9"), product("10"), product("é"), product("2")], tmp_path / "index")
    found = open_index(tmp_path / "index").find_product("lamp")
    assert [p["product_id"] for p in found] == ["10", "2", "9", "é"]


def test_hostile_text_is_indexed_as_data(tmp_path):
    titles = [
        "lamp \x00\x1b]0;x\x07 <|im_start|>",
        "lamp " + "x" * 100_000,
        "lamp " * 70_000,
        "lamp ﷽" + "\u0301" * 2_000,
    ]
    build_index([product(str(n), title) for n, title in enumerate(titles)], tmp_path / "index")
    catalog = open_index(tmp_path / "index")
    assert {p["product_id"] for p in catalog.find_product("lamp")} == {"0", "1", "2", "3"}
    assert catalog.get_product_raw("0")["title"] == titles[0]
    assert catalog.find_product("lamp")[0]["product_id"] == "2"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["x"], "product 1: str, expected a product"),
        ([product("1"), product(7)], "product 2: product_id is 7, expected text"),
        ([product("1", title=None)], "title of product '1' is NoneType, expected text"),
        ([product("1", price="9")], "price of product '1' is '9', expected a number"),
        ([product("1", price=True)], "price of product '1' is True, expected a number"),
        ([product("1", price=float("nan"))], "price of product '1' is nan, expected a number"),
        ([product("1", price=10**400)], "price of product '1' is a number of 1329 bits"),
        ([product("\x1b]0;" + "x" * 10**6, price=None)], r"price of product '\\x1b]0;xxxx.{,30}' is None"),
        ([product("1", sold_count="many")], "sold_count of product '1' is 'many', expected a number"),
        ([product("1", title="\ud800")], "cannot be written as JSON"),
        ([product("5"), product("1"), product("5")], "products 1 and 3 both have the id '5'"),
        ([{"id": "2", "contents": "x", "product": product("1")}], "id is '2' but product_id is '1'"),
    ],
)
def test_a_row_that_is_no_product_is_refused_by_name(tmp_path, rows, message):
    with pytest.raises(InputError, match="^.*" + message.replace("(", r"\(")):
        build_index(rows, tmp_path / "index")


def test_a_folder_in_use_is_not_written_into(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="not empty"):
        build_index([], tmp_path)


def test_a_folder_that_is_no_index_is_refused(tmp_path):
    with pytest.raises(InputError, match="no search index"):
        open_index(tmp_path)
    build_index([product("1")], tmp_path / "index")
    (tmp_path / "index" / "price.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(InputError, match=r"price\.npy: no part of an index"):
        open_index(tmp_path / "index")
    (tmp_path / "index" / "index.json").write_text('{"format": "other"}')
    with pytest.raises(InputError, match="not an index of format tracemill-index-2"):
        open_index(tmp_path / "index")


def test_parameters_of_the_ranking_travel_with_the_index(tmp_path):
    products = [product("1", "red lamp lamp lamp"), product("2", "lamp")]
    build_index(products, tmp_path / "a")
    build_index(products, tmp_path / "b", IndexParams(k1=0.1, b=1.0))
    assert [p["product_id"] for p in open_index(tmp_path / "a").find_product("lamp")] == ["1", "2"]
    assert [p["product_id"] for p in open_index(tmp_path / "b").find_product("lamp")] == ["2", "1"]


def test_lengths_are_coded_as_lucene_codes_them():
    assert [encode_length(n) for n in (0, 23, 24, 39, 40, 41, 42, 2**31 - 1)] == [0, 23, 24, 39, 40, 40, 41, 255]
    table = length_table()
    assert [int(table[c]) for c in (0, 23, 24, 39, 40, 41, 48)] == [0, 23, 24, 39, 40, 42, 56]
    assert all(encode_length(int(length)) == code for code, length in enumerate(table))


def test_reported_ties_are_made_distinct_in_the_sixth_decimal():
    scores = np.array([2.00004, 2.0, 2.0, 1.5], dtype=np.float32)
    assert [round(float(s), 6) for s in tie_adjusted(scores)] == [2.0, 1.999999, 1.999998, 1.5]
