import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from tracemill.document import lookup, read_yaml, render_yaml
from tracemill.errors import ParamsError

PRINTABLE = st.characters(codec="ascii", exclude_categories=["Cc"])
SCALARS = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(PRINTABLE, max_size=12)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab-_.1", min_size=1), inner, max_size=3),
)


@given(st.dictionaries(st.text("abcn1", min_size=1, max_size=4), VALUES, max_size=4))
def test_what_is_rendered_reads_back_equal(value):
    assert YAML(typ="safe", pure=True).load(render_yaml(value)) == value


def test_rendering_is_block_style_with_plain_words(tmp_path):
    text = render_yaml({"stages": {"clean": {"cmd": "python -m x --y z", "deps": ["a/b.txt", "1e5", "true"]}}})
    assert text == (
        'stages:\n  clean:\n    cmd: python -m x --y z\n    deps:\n      - a/b.txt\n      - "1e5"\n      - "true"\n'
    )


def test_three_spellings_are_one_float(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("a: 1e-5\nb: 1.0e-5\nc: 0.00001\nd: 1e-06\n")
    assert read_yaml(path) == {"a": 0.00001, "b": 0.00001, "c": 0.00001, "d": 0.000001}


def test_what_is_no_yaml_is_named_with_its_file(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("a: [\n")
    with pytest.raises(ParamsError, match=r"x\.yaml: not a YAML document"):
        read_yaml(path)


def test_a_key_given_twice_is_refused(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("a: 1\na: 2\n")
    with pytest.raises(ParamsError, match="duplicate key"):
        read_yaml(path)


def test_lookup_follows_dots_and_names_what_is_missing():
    assert lookup({"a": {"b-c": 1}}, "a.b-c") == 1
    with pytest.raises(KeyError, match=r"a\.x"):
        lookup({"a": {}}, "a.x")
