"""The page is self-contained, the same bytes each time, and shows strangers' text as text."""

import base64
import gzip
import hashlib
import json
import re

from tracemill.report.blocks import Figure, Section, counts_table, interval, number, percent
from tracemill.report.graph import plot_graph
from tracemill.report.plots import plot_bars, plot_lines, plot_rates
from tracemill.report.render import render_page
from tracemill.report.trajectories import CHUNK, Entry, pack, page_messages

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"


def entry(position, text="red mug"):
    messages = page_messages([{"role": "assistant", "reasoning_content": text, "content": text}], 400)
    return Entry(f"t{position}", "corpus", "p", "product", text, "success", True, "2 turns", [text], messages)


def page(text="red mug"):
    figure = Figure(plot_bars({text: 3.0}, text, "rows"), text)
    section = Section("funnel", text, text, [counts_table(text, {text: 3}, "reason"), figure])
    return render_page(text, text, [section], *pack(entry(position, text) for position in range(3)))


def test_hostile_text_never_becomes_markup():
    html = page(HOSTILE)

    assert "<img src=x" not in html
    assert html.count("<script>") == 1
    assert "&lt;img src=x onerror=alert(1)&gt;" in html


def test_the_policy_names_each_script_by_its_digest_and_trusts_no_markup():
    html = render_page("t", "l", [], *pack([]), times="../builds.js")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)

    assert len(scripts) == 2
    for script in scripts:
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy
    assert "'strict-dynamic'" in policy
    assert "'strict-dynamic'" not in page()
    assert "unsafe" not in policy.replace("style-src 'unsafe-inline'", "")


def test_the_page_fetches_nothing():
    html = page()

    assert not re.findall(r"""(?:src|href)=["'](?!#)[^"']*""", html)
    assert "default-src 'none'" in html
    assert "@import" not in html


def test_a_line_has_the_colour_of_its_place_though_one_before_it_has_no_points():
    picture = plot_lines({"expert": [], "base": [(1, 2.0)], "sft": [(1, 3.0)]}, "pass@k", "k", "percent")

    assert "expert" not in picture
    assert "--series-0" not in picture
    assert "--series-1" in picture
    assert "--series-2" in picture


def test_the_same_data_gives_the_same_bytes():
    assert page() == page()


def test_plots_carry_page_colours_and_a_name_for_screen_readers():
    pictures = [
        plot_bars({"a": 1.0, "b": 2.0}, "Bars & <more>", "rows"),
        plot_rates({"product": {"base": (0.0, 0.0, 3.0), "sft": (70.0, 60.0, 80.0)}}, "Rates"),
        plot_lines({"sft": [(1, 2.0), (2, 1.0)], "kto": [(1, 2.0)]}, "Loss", "step", "loss"),
        plot_graph([("a", "b"), ("b", "c")], "Graph"),
    ]

    for svg in pictures:
        assert svg.startswith('<svg role="img" aria-label="')
        assert "var(--ink)" in svg
        assert not re.search(r"#0([1-9a])(?:0\1){2}\b", svg)
    assert 'aria-label="Bars &amp; &lt;more>"' in pictures[0]


def test_packed_trajectories_are_found_by_chunk_and_place():
    index, chunks = pack(entry(position, f"query {position}") for position in range(2 * CHUNK + 1))

    def unpack(text):
        return json.loads(gzip.decompress(base64.b64decode(text)))

    rows = unpack(index)
    assert [len(unpack(chunk)) for chunk in chunks] == [CHUNK, CHUNK, 1]
    last = rows[-1]
    assert (last["chunk"], last["place"], last["query"]) == (2, 0, f"query {2 * CHUNK}")
    assert unpack(chunks[2])[0]["messages"][0]["think"] == f"query {2 * CHUNK}"


def test_long_messages_are_cut_and_say_so():
    (message,) = page_messages([{"role": "tool", "name": "find_product", "content": "x" * 150}], 100)

    assert message["content"] == "x" * 100 + " … (50 more characters)"


def test_numbers_are_written_for_people():
    assert [number(12345), number(0.123456), number(None), number("a")] == ["12,345", "0.1235", "", "a"]
    assert (percent(0.427), percent(None)) == ("42.7", "")
    assert interval(0.1, 0.25) == "10.0 to 25.0"
