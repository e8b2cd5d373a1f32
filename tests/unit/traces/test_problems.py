"""The problem of a rejected line is seen in whatever form the line keeps it."""

import json

import pytest

from trace_episodes import as_atif, as_dialogue, as_envelope, as_row, example, line
from tracemill.traces.problems import derived_id, find_problem

QUERY = "a red lamp under 100"
ENVELOPE = line(as_envelope(example(), reward={"product_id": "11"}, category="Product"))


def _row(**changes):
    return {**as_row(example()), **changes}


def _parts():
    row = as_row(example())
    row["messages"][1]["content"] = [{"type": "text", "text": "a red lamp "}, {"type": "text", "text": "under 100"}]
    return row


@pytest.mark.parametrize(
    "value",
    [
        as_envelope(example()),
        as_dialogue(example()),
        as_row(example()),
        as_atif(example()),
        _parts(),
        _row(messages=json.dumps(as_row(example())["messages"])),
        {"atif_json": json.dumps(as_atif(example())), "problem_id": "p-1"},
        {"atif_json": as_atif(example())},
    ],
    ids=["envelope", "dialogue", "row", "atif", "content parts", "messages as text", "atif as text", "atif nested"],
)
def test_every_format_tells_its_problem(value):
    found = find_problem(line(value))
    assert (found["problem_id"], found["query"]) == ("p-1", QUERY)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"1750000000001", b"NaN"),
        (b"1750000000001", b"-Infinity"),
        (b"Error: timeout", b"\xff\xfe"),
        (b"Error: timeout", rb"\ud800"),
        (b"Error: timeout", rb"\u0000"),
        (b'"Error: timeout"', b"[" * 60 + b"]" * 60),
    ],
)
def test_a_line_that_no_strict_reader_takes_tells_it_too(old, new):
    assert old in ENVELOPE
    found = find_problem(ENVELOPE.replace(old, new))
    assert (found["problem_id"], found["query"], found["category"]) == ("p-1", QUERY, "product")
    assert found["reward"] == {"product_id": "11"}


def test_rewards_of_a_table_are_opened():
    row = _row(reward=json.dumps([{"product_id": "1"}]), voucher=json.dumps({"budget": 5}), problem_id=None)
    found = find_problem(line(row))
    assert (found["reward"], found["voucher"]) == ([{"product_id": "1"}], {"budget": 5})
    assert found["problem_id"] == derived_id(QUERY)


def test_half_a_surrogate_in_the_query_is_replaced():
    broken = ENVELOPE.replace(b"a red lamp", rb"a \ud800 lamp")
    assert find_problem(broken)["query"] == "a \ufffd lamp under 100"


@pytest.mark.parametrize("raw", [b"", b"tru", b"7", b"[" * 5000, b"\x1f\x8b\x08", b'{"messages": "no json"}'])
def test_a_line_without_a_problem_tells_none(raw):
    assert find_problem(raw) is None
