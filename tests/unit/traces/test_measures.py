"""What the proxy log and the calls of an episode show."""

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace_episodes import as_envelope, call, example, step
from tracemill.traces.batches import read_batches
from tracemill.traces.draft import DraftCall, DraftTurn, ProxyCall, ProxyResponse, Usage
from tracemill.traces.lines import Line
from tracemill.traces.measures import read_evidence
from tracemill.traces.normalise import Normalised, Normaliser
from tracemill.traces.pairing import pair_results
from tracemill.traces.rejects import Rejected
from tracemill.traces.scan import Scanner
from tracemill.traces.table import TrajectoryWriter, read_trajectories


def inference(tokens, status=200):
    return ProxyCall("/inference/chat/completions", status, ProxyResponse(Usage(tokens)))


SEARCH = ProxyCall("/search/find_product", 200)
VIEW = ProxyCall("/search/view_product_information", 200, [])


def turn(*proxy, calls=1):
    return DraftTurn("t", "", [DraftCall("find_product", {}, b"1") for _ in range(calls)], None, list(proxy))


@pytest.mark.parametrize(
    ("turns", "tokens"),
    [
        ([turn(inference(40), SEARCH)], [40]),
        ([turn(inference(20), inference(50), SEARCH)], [50]),
        ([turn(SEARCH, inference(40))], [0]),
        ([turn(SEARCH, inference(40)), turn(SEARCH)], [0, 40]),
        ([turn(inference(40), SEARCH), turn(SEARCH)], [40, 0]),
        ([turn(inference(40), SEARCH, inference(60), SEARCH), turn(SEARCH)], [40, 0]),
        ([turn(inference(40), calls=0), turn(SEARCH)], [40, 40]),
        ([turn(inference(40)), turn()], [40, 0]),
        ([turn(inference(40, status=500), SEARCH)], [0]),
        ([turn(inference(None), SEARCH)], [0]),
        ([turn(inference(-5), SEARCH)], [0]),
    ],
)
def test_an_inference_call_counts_for_the_next_act_only(turns, tokens):
    assert [one.inference_tokens for one in read_evidence(turns).turns] == tokens


def test_totals_of_the_log():
    found = read_evidence([turn(inference(40), SEARCH), turn(inference(9), VIEW, inference(7, status=429))])
    assert (found.inference_calls, found.completion_tokens, found.searches, found.has_proxy_log) == (2, 49, 1, True)


def test_without_a_log_nothing_is_claimed():
    found = read_evidence([DraftTurn("t", "", []), DraftTurn("t", "", [])])
    assert not found.has_proxy_log
    assert [one.inference_tokens for one in found.turns] == [None, None]


def test_a_turn_with_two_calls_of_one_tool_is_batched():
    other = DraftTurn("t", "", [DraftCall("find_product", {}, b"1"), DraftCall("terminate", {}, b"1")])
    assert [one.batched for one in read_evidence([turn(calls=2), turn(calls=1), other]).turns] == [True, False, False]


def normalise(episode):
    import json

    raw = json.dumps(as_envelope(episode)).encode()
    text, flags = Scanner(48, lines=1).text(raw)
    return Normaliser("digest").line(Line(1, 0, flags, raw, 0, len(raw), text, True))


def test_structural_measures_of_an_episode():
    t = normalise(example()).trajectory
    assert (t.acting_turns, t.call_count, t.distinct_queries, t.think_characters) == (4, 5, 1, 13 + 6 + 21)
    assert (t.recommended_ids, t.recommend_count, t.terminated) == (["11"], 1, True)


def test_a_repeat_counts_unless_the_first_try_failed():
    ok = [{"product_id": "1"}]
    searches = [step("t", call("find_product", {"q": "A lamp"}, result)) for result in ("Error: timeout", ok, ok, ok)]
    t = normalise({"problem_id": "p", "query": "q", "steps": searches}).trajectory
    assert t.repeated_calls == 2


@pytest.mark.parametrize(
    ("steps", "verified"),
    [
        ([("view_product_information", "1, 2"), ("recommend_product", "2")], True),
        ([("view_product_information", "12"), ("recommend_product", "2")], False),
        ([("recommend_product", "2"), ("view_product_information", "2")], False),
        ([("view_product_information", ["2"]), ("recommend_product", "2")], True),
    ],
)
def test_a_view_before_the_recommendation_verifies_it(steps, verified):
    episode = {
        "problem_id": "p",
        "query": "q",
        "steps": [step("t", call(name, {"product_ids": ids}, "r")) for name, ids in steps],
    }
    assert normalise(episode).trajectory.verified_recommendation == verified


def test_results_go_to_the_first_call_of_their_id_that_has_none():
    calls = [DraftCall("a", {}, None) for _ in range(4)]
    pair_results(1, calls, ["x", "x", "y", None], [("y", b"1"), ("x", b"2"), ("x", b"3"), (None, b"4")])
    assert [one.result for one in calls] == [b"2", b"3", b"1", b"4"]
    with pytest.raises(Rejected, match=r"step 1: a result \(id 'x'\) that belongs to no call"):
        pair_results(1, calls, ["x", "x", "y", None], [("x", b"5")])


@given(
    st.lists(st.tuples(st.sampled_from([None, "x", "y"]), st.booleans()), max_size=8),
    st.lists(st.sampled_from([None, "x", "y", "z"]), max_size=8),
)
def test_pairing_is_that_of_a_search_from_the_first_call_on(made, told):
    ids = [identity for identity, _ in made]
    calls = [DraftCall("a", {}, b"0" if has else None) for _, has in made]
    expected, fits = [call.result for call in calls], True
    for number, identity in enumerate(told, 1):
        at = (n for n, one in enumerate(ids) if expected[n] is None and (None in (identity, one) or one == identity))
        first = next(at, None)
        fits = fits and first is not None
        if fits:
            expected[first] = b"%d" % number
    results = [(identity, b"%d" % number) for number, identity in enumerate(told, 1)]
    if fits:
        pair_results(1, calls, ids, results)
        assert [call.result for call in calls] == expected
    else:
        with pytest.raises(Rejected, match="belongs to no call"):
            pair_results(1, calls, ids, results)


@pytest.mark.parametrize("order", [1, -1])
def test_a_turn_of_very_many_calls_is_paired_in_one_pass(order):
    count = 200_000
    calls = [DraftCall("a", {}, None) for _ in range(count)]
    ids = [str(n) for n in range(count)]
    pair_results(1, calls, ids, [(identity, identity.encode()) for identity in ids[::order]])
    assert [call.result for call in calls] == [identity.encode() for identity in ids]


def test_tables_of_several_row_groups_read_back_in_order(tmp_path, monkeypatch):
    from tracemill.traces import table

    monkeypatch.setattr(table, "_GROUP_ROWS", 3)
    row = normalise(example())
    with TrajectoryWriter(tmp_path / "t.parquet") as writer:
        for _ in range(8):
            writer.add(row)
    assert list(read_trajectories(tmp_path / "t.parquet")) == [row.trajectory] * 8


def test_a_row_group_is_bounded_by_all_that_its_rows_hold(tmp_path, monkeypatch):
    from tracemill.traces import table

    monkeypatch.setattr(table, "_GROUP_BYTES", 100_000)
    trajectory, *texts = normalise(example())
    long = "x" * 60_000
    turns = [msgspec.structs.replace(trajectory.turns[0], timestamp=long)]
    for change in ({"turns": turns}, {"arena_score": {"note": long}}, {"problem_id": long}):
        row = Normalised(msgspec.structs.replace(trajectory, **change), *texts)
        with TrajectoryWriter(tmp_path / "t.parquet") as writer:
            for _ in range(4):
                writer.add(row)
        assert pq.ParquetFile(tmp_path / "t.parquet").num_row_groups == 2
        assert list(read_trajectories(tmp_path / "t.parquet")) == [row.trajectory] * 4


def test_a_batch_holds_one_row_group_at_most(tmp_path):
    path = tmp_path / "t.parquet"
    with pq.ParquetWriter(path, pa.schema([("text", pa.string())])) as writer:
        for number in range(6):
            writer.write_table(pa.table({"text": [f"{number}a", f"{number}b"]}))
    found = [batch.to_pydict()["text"] for batch in read_batches(path, 512)]
    assert found == [[f"{number}a", f"{number}b"] for number in range(6)]
    assert [batch.num_rows for batch in read_batches(path, 1, ["text"])] == [1] * 12
    before = pa.total_allocated_bytes()
    with pq.ParquetWriter(path, pa.schema([("text", pa.string())])) as writer:
        for _ in range(40):
            writer.write_table(pa.table({"text": ["x" * 1_000_000]}))
    batches = read_batches(path, 512)
    assert next(batches).num_rows == 1
    assert pa.total_allocated_bytes() - before < 10_000_000


def test_tokens_beyond_any_model_are_a_bad_shape_and_no_overflow():
    assert read_evidence([turn(inference(1 << 40))]).completion_tokens == 1 << 40
    with pytest.raises(Rejected, match="bad_shape: an inference call of 999999999999999999 completion tokens"):
        read_evidence([turn(inference(10**18 - 1))])
