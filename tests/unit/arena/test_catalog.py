from collections import Counter

import pytest

from tracemill.arena.catalog import KINDS, generate_catalog, kind_of, lines_of
from tracemill.arena.params import CatalogParams
from tracemill.environment.products import check_product

FIELDS = {
    "product_id",
    "shop_id",
    "title",
    "price",
    "service",
    "sold_count",
    "sku_options",
    "attributes",
    "short_description",
    "description",
}


def test_the_default_catalogue_has_at_least_two_thousand_products_in_sn15s_schema(products):
    assert len(products) >= 2_000
    for number, product in enumerate(products):
        assert set(product) == FIELDS
        check_product(product, f"product {number}")


def test_products_are_sorted_by_id_and_ids_are_six_digits_without_repetition(products):
    ids = [product["product_id"] for product in products]
    assert ids == sorted(set(ids))
    assert all(len(i) == 6 and i.isdigit() for i in ids)


def test_the_same_parameters_give_the_same_catalogue_and_another_seed_another_one():
    small = CatalogParams(products=120, shops=20)
    assert generate_catalog(small) == generate_catalog(small)
    assert generate_catalog(small) != generate_catalog(CatalogParams(products=120, shops=20, seed=1))


def test_every_kind_of_line_occurs_and_is_told_from_its_members(products):
    kinds = Counter(kind_of(line) for line in lines_of(products).values())
    assert set(kinds) == set(KINDS)
    assert min(kinds.values()) > 50


@pytest.mark.parametrize(
    ("members", "kind"),
    [
        ([{}], "single"),
        ([{"price": 100.0}, {"price": 200.0}], "price"),
        ([{"service": ["COD"]}, {"service": ["official"]}], "service"),
        ([{"sku_options": {"1": {"size": "small"}}}, {"sku_options": {"1": {"size": "large"}}}], "option"),
        (
            [
                {"sku_options": {"1": {"c": "red", "s": "small"}, "2": {"c": "blue", "s": "large"}}},
                {"sku_options": {"1": {"c": "red", "s": "large"}, "2": {"c": "blue", "s": "small"}}},
            ],
            "combination",
        ),
        ([{"shop_id": "1"}, {"shop_id": "2"}], "shop"),
        ([{}, {}], None),
    ],
)
def test_what_decides_between_the_members_of_a_line(members, kind):
    plain = {"shop_id": "1", "price": 100.0, "service": [], "sku_options": {}}
    assert kind_of([{**plain, **member} for member in members]) == kind
