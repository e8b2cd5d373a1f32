"""`tracemill leaks`: formats, ids, kinds of evidence."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from tracemill.cli import app
from tracemill.errors import InputError
from tracemill.leakage.cli import spread_protected

MUG = {
    "problem_id": "mug",
    "category": "product",
    "query": "Find a red clay mug with lid",
    "reward": {"product_id": "7"},
}
BENCH = [
    {"problem_id": "b-mug", "query": "find a RED clay  mug with lid"},
    {"problem_id": "b-kettle", "query": "steel kettle", "reward": {"product_id": "8"}},
    {"problem_id": "b-sofa", "query": "green velvet sofa with wooden legs"},
]


def _write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path.name


@pytest.fixture
def leaks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        result = CliRunner().invoke(app, ["leaks", *arguments])
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout) if "--json" in arguments else result.stdout

    run.folder = tmp_path
    return run


def _row(query, recommended=None, **more):
    call = {"name": "recommend_product", "arguments": json.dumps({"product_ids": recommended})}
    messages = [
        {"role": "system", "content": "You shop."},
        {"role": "user", "content": query},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function", "function": call}]},
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
    ]
    tool = {"type": "function", "name": "recommend_product", "description": "", "parameters": {"type": "object"}}
    return {"messages": messages if recommended else messages[:2], "tools": [tool], **more}


def test_verbatim_product_and_fuzzy_links_are_told_apart(leaks):
    corpus = [
        MUG,
        {"problem_id": "pot", "query": "tea pot", "reward": [{"product_id": "8"}, {"product_id": "9"}]},
        {"problem_id": "couch", "query": "sofa, velvet, green, legs of wood"},
        {"problem_id": "free", "query": "blue pen"},
    ]
    found = leaks(
        _write(leaks.folder / "c.jsonl", corpus), "--protected", _write(leaks.folder / "b.jsonl", BENCH), "--json"
    )
    assert found["protected"] == ["couch", "mug", "pot"]
    assert found["clusters"] == [["b-kettle", "pot"], ["b-mug", "mug"], ["b-sofa", "couch"]]
    assert found["edges"] == [
        {"a": "couch", "b": "b-sofa", "why": "text", "score": 1.0},
        {"a": "mug", "b": "b-mug", "why": "verbatim", "score": 1.0},
        {"a": "pot", "b": "b-kettle", "why": "product", "score": 1.0, "ids": ["8"]},
    ]


def test_the_text_output_counts_and_shows_evidence(leaks):
    _write(leaks.folder / "c.jsonl", [MUG, {"problem_id": "pot", "query": "tea pot", "reward": {"product_id": "8"}}])
    _write(leaks.folder / "b.jsonl", BENCH)
    told = leaks("c.jsonl", "--protected", "b.jsonl")
    assert "2 corpus problems (2 rows) leak into the protected ones" in told
    assert "verbatim: 1 pairs\n  mug  ~  b-mug  similarity 1.000" in told
    assert "by product: 1 pairs\n  pot  ~  b-kettle  products 8" in told
    assert "fuzzy: 0 pairs" in told


def test_a_row_without_id_is_file_and_line(leaks):
    _write(leaks.folder / "c.jsonl", [{"query": "blue pen"}, {"query": "red clay mug with lid"}])
    _write(leaks.folder / "b.jsonl", BENCH)
    assert leaks("c.jsonl", "--protected", "b.jsonl", "--json")["protected"] == ["c.jsonl:2"]


def test_equal_ids_in_two_files_are_prefixed_by_the_file(leaks):
    _write(leaks.folder / "c.jsonl", [MUG, {"problem_id": "own", "query": "blue pen"}])
    _write(leaks.folder / "d.jsonl", [{"problem_id": "mug", "query": "red clay mugs with lids"}])
    found = leaks("c.jsonl", "d.jsonl", "--json")
    assert found["clusters"] == [["c.jsonl:mug", "d.jsonl:mug"]]
    assert found["protected"] == []


def test_a_second_problem_under_one_id_is_named_by_its_line(leaks):
    _write(leaks.folder / "c.jsonl", [MUG, {"problem_id": "mug", "query": "red clay mugs with lids"}, MUG])
    assert leaks("c.jsonl", "--json")["clusters"] == [["c.jsonl:2", "mug"]]


def test_released_rows_leak_by_query_and_by_what_they_recommend(leaks):
    rows = [_row("red clay mug with lid"), _row("a quite different wish", recommended="5,8"), _row("blue pen", "77")]
    _write(leaks.folder / "rows.jsonl", rows)
    _write(leaks.folder / "b.jsonl", BENCH)
    found = leaks("rows.jsonl", "--protected", "b.jsonl", "--json")
    assert found["protected"] == ["rows.jsonl:1", "rows.jsonl:2"]
    assert {"a": "rows.jsonl:2", "b": "b-kettle", "why": "product", "score": 1.0, "ids": ["8"]} in found["edges"]


def test_recommendations_do_not_link_corpus_problems_to_each_other(leaks):
    _write(leaks.folder / "rows.jsonl", [_row("a quite different wish", "7"), _row("blue pen", "7")])
    _write(leaks.folder / "c.jsonl", [MUG])
    assert leaks("rows.jsonl", "c.jsonl", "--json")["clusters"] == []


def test_envelopes_are_read(leaks):
    step = {
        "completion": {"message": {"think": "t", "tool_call": [], "response": "done"}},
        "extra_info": {"step": 1, "query": "red clay mug with lid", "timestamp": 1},
    }
    failed = {"problem_id": "p-2", "status": "FAILED", "error": {"type": "E", "message": "m"}, "dialogue": None}
    envelope = {"problem_id": "p-1", "status": "SUCCESS", "error": None, "dialogue": [step]}
    _write(leaks.folder / "t.jsonl", [envelope, failed])
    _write(leaks.folder / "b.jsonl", BENCH)
    assert leaks("t.jsonl", "--protected", "b.jsonl", "--json")["protected"] == ["p-1"]


def test_what_leaks_through_a_third_problem_is_said(leaks):
    corpus = [
        {"problem_id": "near", "query": "tea pot", "reward": [{"product_id": "8"}, {"product_id": "9"}]},
        {"problem_id": "far", "query": "bread knife", "reward": {"product_id": "9"}},
    ]
    _write(leaks.folder / "c.jsonl", corpus)
    _write(leaks.folder / "b.jsonl", BENCH)
    assert leaks("c.jsonl", "--protected", "b.jsonl", "--json")["protected"] == ["far", "near"]
    assert "by way of another corpus problem: 1\n  far" in leaks("c.jsonl", "--protected", "b.jsonl")


@pytest.mark.parametrize("content", ["", "[1, 2]\n", "not json\n"])
def test_a_file_without_problems_is_an_error(leaks, content):
    (leaks.folder / "c.jsonl").write_text(content)
    with pytest.raises(InputError, match=r"c\.jsonl: no line holds a problem"):
        leaks("c.jsonl")


def test_the_real_suite_is_found_in_the_real_problems(leaks, shared):
    real = shared / "data/shoppingbench"
    found = leaks(str(real / "oro_suite_v3.jsonl"), "--protected", str(real / "problems.jsonl"), "--json")
    assert len(found["protected"]) == 30


@pytest.mark.parametrize(
    ("given", "understood"),
    [
        ("a b --protected c d --json", "a b --protected c --protected d --json"),
        ("a --json --protected c d", "a --json --protected c --protected d"),
        ("--protected c a", "--protected c a"),
        ("--json a --protected c --protected d e", "--json a --protected c --protected d --protected e"),
        ("--show 5 --protected c a b", "--show 5 --protected c a b"),
    ],
)
def test_protected_takes_every_file_up_to_the_next_option(given, understood):
    assert spread_protected(given.split()) == understood.split()


def test_several_protected_files_may_follow_one_option(leaks):
    _write(leaks.folder / "c.jsonl", [MUG])
    _write(leaks.folder / "b.jsonl", BENCH)
    _write(leaks.folder / "d.jsonl", [{"problem_id": "d-pen", "query": "blue pen"}])
    assert leaks("c.jsonl", "--protected", "d.jsonl", "b.jsonl", "--json")["protected"] == ["mug"]


@pytest.mark.parametrize("indent", [None, 1])
def test_an_array_of_problems_is_read_as_its_members(leaks, indent):
    (leaks.folder / "corpus.json").write_text(json.dumps([MUG, {"query": "steel kettle"}], indent=indent))
    bench = _write(leaks.folder / "bench.jsonl", BENCH)
    assert leaks("corpus.json", "--protected", bench, "--json")["protected"] == ["corpus.json:2", "mug"]


def test_tables_of_problems_and_of_rows_are_read(leaks):
    bench = _write(leaks.folder / "bench.jsonl", BENCH)
    problems = {
        "problem_id": ["pot", "mug"],
        "query": ["tea pot", MUG["query"]],
        "reward": ['[{"product_id": "8"}]', None],
    }
    pq.write_table(pa.table(problems), leaks.folder / "problems.parquet")
    rows = [json.dumps(_row(query, "8")["messages"]) for query in ("a tea pot", "cotton socks")]
    pq.write_table(pa.table({"messages": rows, "tools": ["[]", "[]"]}), leaks.folder / "rows.parquet")
    found = leaks("problems.parquet", "rows.parquet", "--protected", bench, "--json")
    assert found["protected"] == ["mug", "pot", "rows.parquet:1", "rows.parquet:2"]


def test_no_terminal_obeys_an_id(leaks):
    bench = _write(leaks.folder / "bench.jsonl", BENCH)
    hostile = "mug\x1b[2J\x9b31m\r\nforged line\u202e"
    corpus = _write(leaks.folder / "corpus.jsonl", [{**MUG, "problem_id": hostile}])
    told = leaks(corpus, "--protected", bench)
    assert all(line.isprintable() for line in told.split("\n"))
    assert "mug [2J 31m  forged line   ~  b-mug  similarity 1.000" in told
    assert leaks(corpus, "--protected", bench, "--json")["protected"] == [hostile]


@pytest.mark.parametrize(
    "more", [{"category": "Home & Living"}, {"category": 7}, {"reward": 1.0}, {"reward": "solved"}, {"voucher": "TEN"}]
)
def test_other_collections_may_use_the_names_of_our_fields_for_something_else(leaks, more):
    bench = _write(leaks.folder / "bench.jsonl", BENCH)
    corpus = _write(leaks.folder / "corpus.jsonl", [{"query": MUG["query"], **more}])
    assert leaks(corpus, "--protected", bench, "--json")["protected"] == ["corpus.jsonl:1"]
