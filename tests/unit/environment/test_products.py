"""Catalogue files: formats told by content, damage named by line."""

import gzip

import pytest
import zstandard

from tracemill.environment.products import document_text, read_products, write_products
from tracemill.errors import InputError

PRODUCT = {"product_id": "1", "title": "lamp", "price": 2.5}
LINE = b'{"product_id":"1","title":"lamp","price":2.5}\n'


@pytest.mark.parametrize("name", ["c.jsonl", "c.jsonl.gz", "c.jsonl.zst"])
def test_what_is_written_is_read_and_the_bytes_repeat(tmp_path, name):
    products = [PRODUCT, {**PRODUCT, "product_id": "2", "attributes": {"a": ["ü"]}}]
    assert write_products(products, tmp_path / name) == 2
    assert list(read_products(tmp_path / name)) == products
    first = (tmp_path / name).read_bytes()
    write_products(products, tmp_path / name)
    assert (tmp_path / name).read_bytes() == first


def test_the_format_is_told_from_the_bytes(tmp_path):
    for number, data in enumerate(
        [gzip.compress(LINE), zstandard.compress(LINE), b"\n" + LINE, b"\xef\xbb\xbf" + LINE]
    ):
        path = tmp_path / f"{number}.dat"
        path.write_bytes(data)
        assert list(read_products(path)) == [PRODUCT]


def test_several_frames_are_one_file(tmp_path):
    path = tmp_path / "c.zst"
    path.write_bytes(zstandard.compress(LINE) * 3)
    assert len(list(read_products(path))) == 3
    path.write_bytes(gzip.compress(LINE) * 3)
    assert len(list(read_products(path))) == 3


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
def test_a_file_cut_short_is_an_error(tmp_path, compress):
    data = compress(b"".join(LINE.replace(b"1", str(n).encode()) for n in range(500)))
    path = tmp_path / "c"
    path.write_bytes(data[:-9])
    with pytest.raises(InputError, match="cut off after line"):
        list(read_products(path))


def test_damaged_compression_is_an_error(tmp_path):
    path = tmp_path / "c"
    for magic in (b"\x1f\x8b", b"\x28\xb5\x2f\xfd"):
        path.write_bytes(magic + b"x" * 50)
        with pytest.raises(InputError):
            list(read_products(path))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "c:2: no JSON object"),
        (b"[]", "c:2: list, expected a product"),
        (b'{"title":"x"}', "c:2: product_id is None"),
        (b'{"product_id":"1","title":"x","price":"9"}', "c:2: price of product '1' is '9'"),
        (b'{"product_id":"1","title":"\xff","price":9}', "c:2: no JSON object"),
        (b'{"id":"1","contents":"x"}', "c:2: NoneType, expected a product"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, message):
    path = tmp_path / "c"
    path.write_bytes(LINE + line + b"\n")
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        list(read_products(path))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        list(read_products(tmp_path / "none"))


def test_the_indexed_text_is_title_options_attributes_each_value_once():
    product = {
        **PRODUCT,
        "description": "not this",
        "sku_options": {"1": {"colour": "red", "size": "s"}, "2": {"colour": "red", "size": "m"}},
        "attributes": {"brand": ["acme"], "colour": ["red", "red"]},
    }
    assert document_text(product) == "lamp\nred s m\nacme red"
    assert document_text({**PRODUCT, "sku_options": None, "attributes": ["x", None, 3]}) == "lamp\n\nx 3"
