"""A product search as SN15's server answers it: filters, sort, pages and malformed arguments."""

import pytest

from tracemill.environment.backend import TwiceEncoded
from tracemill.environment.index import build_index, open_index
from tracemill.environment.search import read_page, read_price, read_search, read_services


def product(number, **fields):
    return {
        "product_id": f"{number:03}",
        "shop_id": f"s{number % 3}",
        "title": "red lamp",
        "price": float(number),
        "service": ["COD"] if number % 2 else ["official", "flashsale"],
        "sold_count": 1000 - number,
        **fields,
    }


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    products = [product(n) for n in range(60)]
    products.append(product(900, title="women's boots", sku_options={"1": {"size": "eu:30"}, "2": {"size": "eu:31"}}))
    products.append(product(901, title="x", attributes={"material": ["leather", "suede"]}, description="velvet"))
    products.append(product(902, title="27s"))
    folder = tmp_path_factory.mktemp("search") / "index"
    build_index(products, folder)
    return open_index(folder)


def ids(found):
    return [p["product_id"] for p in found]


def test_equal_scores_come_in_order_of_id_as_text_ten_a_page(catalog):
    assert ids(catalog.find_product("lamp")) == [f"{n:03}" for n in range(10)]
    assert ids(catalog.find_product("lamp", "5")) == [f"{n:03}" for n in range(40, 50)]


def test_a_result_has_the_servers_fields_with_sorted_keys(catalog):
    first = catalog.find_product("lamp")[0]
    assert list(first) == ["price", "product_id", "service", "shop_id", "sold_count", "title"]
    assert first == {
        "price": 0.0,
        "product_id": "000",
        "service": ["official", "flashsale"],
        "shop_id": "s0",
        "sold_count": 1000,
        "title": "red lamp",
    }


@pytest.mark.parametrize("page", [None, "", "0", "6", "two", "-1", "1.0", " 1", "+1", "²", "9" * 5000])
def test_a_malformed_page_answers_nothing(catalog, page):
    assert catalog.find_product("lamp", page) == []


def test_a_page_in_other_digits_counts(catalog):
    assert catalog.find_product("lamp", "٢") == catalog.find_product("lamp", "2")
    assert read_page("01") == 1


@pytest.mark.parametrize("query", [None, "", "   ", '+-&|!(){}[]^"~*?:\\/', "the and of", "zzzz"])
def test_a_query_without_words_answers_nothing(catalog, query):
    assert catalog.find_product(query) == []


def test_query_syntax_is_plain_text(catalog):
    assert catalog.find_product('title:"lamp"~2 +red*') == catalog.find_product("lamp red")


@pytest.mark.parametrize(
    ("price", "bounds"),
    [
        ("10-20", (10.0, 20.0)),
        ("10-", (10.0, None)),
        ("-20", (None, 20.0)),
        ("-", (None, None)),
        (" 1_0 - 2e1 ", (10.0, 20.0)),
        ("375:99999", (None, None)),
        ("10", (None, None)),
        ("1-2-3", (None, None)),
        ("-5-10", (None, None)),
        ("a-20", (None, 20.0)),
        ("", (None, None)),
        (None, (None, None)),
    ],
)
def test_a_price_splits_once_and_each_side_is_a_number_or_open(price, bounds):
    assert read_price(price) == bounds


def test_price_bounds_are_inclusive_and_nan_filters_nothing(catalog):
    assert ids(catalog.find_product("lamp", price="10-12")) == ["010", "011", "012"]
    assert len(catalog.find_product("lamp", price="nan-nan")) == 10
    assert catalog.find_product("lamp", price="30-20") == []
    assert catalog.find_product("lamp", price="inf-") == []


def test_unknown_services_are_dropped_and_the_rest_all_required(catalog):
    assert read_services("official,LazMall, COD,official") == 1
    assert ids(catalog.find_product("lamp", service="COD"))[:3] == ["001", "003", "005"]
    assert ids(catalog.find_product("lamp", service="official,flashsale"))[:2] == ["000", "002"]
    assert catalog.find_product("lamp", service="official,COD") == []
    assert catalog.find_product("lamp", service="LazMall") == catalog.find_product("lamp")


def test_a_shop_is_equal_as_text(catalog):
    assert ids(catalog.find_product("lamp", shop_id="s2"))[:3] == ["002", "005", "008"]
    assert catalog.find_product("lamp", shop_id="s2 ") == []
    assert catalog.find_product("lamp", shop_id="") == catalog.find_product("lamp")


def test_sort_is_over_the_first_fifty_that_pass(catalog):
    assert ids(catalog.find_product("lamp", sort="pricedesc"))[:2] == ["049", "048"]
    assert ids(catalog.find_product("lamp", sort="pricedesc", price="20-"))[:2] == ["059", "058"]
    assert ids(catalog.find_product("lamp", sort="order"))[:2] == ["000", "001"]
    assert catalog.find_product("lamp", sort="priceASC") == catalog.find_product("lamp")


def test_sort_is_stable(tmp_path):
    prices = [2.0, 1.0, 2.0, 1.0]
    build_index([product(n, price=p) for n, p in enumerate(prices)], tmp_path / "index")
    catalog = open_index(tmp_path / "index")
    assert ids(catalog.find_product("lamp", sort="priceasc")) == ["001", "003", "000", "002"]
    assert ids(catalog.find_product("lamp", sort="pricedesc")) == ["000", "002", "001", "003"]


def test_options_and_attributes_are_searched_but_descriptions_are_not(catalog):
    assert ids(catalog.find_product("eu:31")) == ["900"]
    assert ids(catalog.find_product("suede")) == ["901"]
    assert catalog.find_product("velvet") == []


def test_a_twice_encoded_query_finds_by_the_pieces_of_its_escapes(catalog):
    assert ids(catalog.find_product("women's")) == ["900"]
    assert sorted(ids(TwiceEncoded(catalog).find_product("women's"))) == ["900", "902"]
    assert ids(TwiceEncoded(catalog).find_product("red lamp")) == ids(catalog.find_product("red lamp"))


def test_more_distinct_words_than_lucene_takes_answer_nothing(catalog):
    words = " ".join(f"w{n}" for n in range(1_023))
    assert len(catalog.find_product(f"lamp {words}")) == 10
    assert catalog.find_product(f"lamp red {words}") == []


def test_pages_are_in_the_order_asked_and_ids_are_not_trimmed(catalog):
    pages = catalog.view_product_information("901,zz,900, 000,901")
    assert [p["product_id"] for p in pages] == ["901", "900", "901"]
    assert list(pages[0]) == ["attributes", "description", "product_id", "short_description", "sku_options"]
    assert pages[0]["attributes"] == {"material": ["leather", "suede"]}
    assert catalog.view_product_information("") == []


def test_raw_documents_are_found_by_id(catalog):
    assert catalog.get_product_raw("900")["title"] == "women's boots"
    assert catalog.get_product_raw("\ud800") is None
    assert list(catalog.get_products_raw(["901", "zz", "900", "901"])) == ["901", "900"]


def test_a_hostile_query_is_answered(catalog):
    for query in ("\ud800 lamp", "lamp\x00\x1b[31m", "é" * 5000 + " lamp", "_" * 3000 + " lamp"):
        assert ids(catalog.find_product(query))[0] == "000"


def test_a_search_that_asks_nothing_of_the_catalogue_is_not_one():
    assert read_search("", "1", None, None, None, None) is None
    assert read_search("x", "1", None, None, None, None).filtered is False
    assert read_search("x", "1", "s", None, None, None).filtered is True
