"""Search: the ASCII shortcut against the automaton, and the compiled ranking against the arrays, on any text."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tracemill.environment import catalog as embedded
from tracemill.environment import ranking, word_break
from tracemill.environment.index import build_index, open_index
from tracemill.environment.word_break import MAX_TOKEN_UNITS, split_words

ASCII = st.text(alphabet=st.characters(max_codepoint=127), max_size=60)
JOINED = st.text(alphabet="aZ09_.:,;'\" -", max_size=80)
MIXED = st.text(alphabet="ab1_'.:\u00e9\u05d0\"\u30ab\u3042\u5b57\u0e01\u0e31\u200d\ufe0f\u20e3👍🏽🇵", max_size=40)
WORDS = st.lists(st.sampled_from("red lamp lamps café the 3.5mm wood x".split()), max_size=9).map(" ".join)  # noqa: SIM905


@given(st.one_of(ASCII, JOINED))
def test_the_ascii_shortcut_is_the_automaton(text):
    assert split_words(text) == list(word_break._split_unicode(text))


@given(st.integers(240, 270), JOINED, st.sampled_from("a_1"))
def test_the_shortcut_cuts_long_words_like_the_automaton(count, tail, letter):
    text = letter * count + tail
    assert split_words(text) == list(word_break._split_unicode(text))


@given(MIXED)
def test_words_are_pieces_of_the_text_in_order_and_short_enough(text):
    rest = text
    for word in split_words(text):
        assert word
        assert len(word.encode("utf-16-le")) // 2 <= MAX_TOKEN_UNITS
        _, found, rest = rest.partition(word)
        assert found


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(st.lists(WORDS, max_size=25), st.lists(WORDS, min_size=1, max_size=4))
def test_compiled_and_array_ranking_agree(tmp_path_factory, monkeypatch, titles, queries):
    monkeypatch.setattr(embedded, "WINDOW", 4)
    folder = tmp_path_factory.mktemp("any") / "index"
    build_index(({"product_id": str(n), "title": t, "price": n} for n, t in enumerate(titles)), folder)
    catalog = open_index(folder)
    for query in queries:
        spans = catalog._spans(query)
        for limit in (1, 3, 10_000):
            documents, scores = catalog._rank_compiled(spans, limit)
            expected = ranking.rank_arrays(catalog._postings, spans, limit)
            assert (documents.tolist(), scores.tolist()) == (expected[0].tolist(), expected[1].tolist())
