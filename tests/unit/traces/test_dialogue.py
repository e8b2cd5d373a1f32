import json

import msgspec
import polars as pl
import pytest

from tracemill.environment.episode import Call, Episode, Turn
from tracemill.environment.grading import ProductTable
from tracemill.environment.problem import Problem
from tracemill.environment.problem_book import ProblemBook
from tracemill.environment.scorer import score_dialogue
from tracemill.traces.dialogue import canonical_messages, to_dialogue
from tracemill.traces.normalise import Normaliser
from tracemill.traces.raw_dialogues import read_dialogues
from tracemill.traces.score import problem_of, score_rows

LAMP = {"product_id": "11", "shop_id": "s1", "title": "Lamp <think>", "price": 5.0, "service": ["COD"], "sold_count": 1}
PROBLEM = Problem("p0", "product", "a red lamp", {"product_id": "11", "service": ["COD"]})


class Catalog(ProductTable):
    def find_product(self, **arguments):
        return [LAMP]

    def view_product_information(self, product_ids):
        return []


CATALOG = Catalog([LAMP])


def played():
    episode = Episode(CATALOG, PROBLEM)
    episode.step(Turn("I search.", "", [Call("find_product", {"q": "lamp"}), Call("find_product", {"q": "lamp"})]))
    episode.step(Turn("", "no thought", [Call("view_product_information", {"product_ids": "11"})]))
    episode.step(
        Turn(
            "Found.",
            "",
            [Call("recommend_product", {"product_ids": "11, 11"}), Call("terminate", {"status": "success"})],
        )
    )
    return episode


def envelope(**fields):
    return {"problem_id": "p0", "status": "SUCCESS", "dialogue": played().dialogue(), **fields}


def trajectories(tmp_path, *rows):
    """The canonical trajectories of some raw lines."""
    from tracemill.traces.lines import read_lines

    path = tmp_path / "raw.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    done = [Normaliser("snapshot").line(line) for line in read_lines(path, 100.0, 1 << 20)]
    return [row.trajectory for row in done]


def test_a_trajectory_becomes_the_dialogue_it_came_from(tmp_path):
    (trajectory,) = trajectories(tmp_path, envelope())
    raw, rebuilt = played().dialogue(), to_dialogue(trajectory)
    assert len(rebuilt) == 3
    for was, now in zip(raw, rebuilt, strict=True):
        assert now["extra_info"] == was["extra_info"]
        safe = json.loads(json.dumps(was["completion"]["message"]).replace("<think>", "< think>"))
        assert now["completion"]["message"] == safe


def test_only_the_format_score_can_differ_from_the_raw_dialogue(tmp_path):
    (trajectory,) = trajectories(tmp_path, envelope())
    raw = score_dialogue(PROBLEM, played().dialogue(), CATALOG)
    rebuilt = score_dialogue(PROBLEM, to_dialogue(trajectory), CATALOG)
    assert raw["format"] == pytest.approx(1 / 3)  # one result holds a role tag, one step has no thought
    assert rebuilt["format"] == pytest.approx(2 / 3)
    assert {**rebuilt, "format": None} == {**raw, "format": None}


def test_a_call_without_a_result_has_none(tmp_path):
    row = envelope()
    del row["dialogue"][0]["completion"]["message"]["tool_call"][1]["result"]
    (trajectory,) = trajectories(tmp_path, row)
    calls = to_dialogue(trajectory)[0]["completion"]["message"]["tool_call"]
    assert [call["result"] is None for call in calls] == [False, True]


def test_scores_come_from_the_problem_table_and_not_from_the_trace(tmp_path):
    lying = envelope(reward={"product_id": "12"}, query="a red lamp", score={"gt": 0})
    (trajectory,) = trajectories(tmp_path, lying)
    assert problem_of(trajectory, ProblemBook([PROBLEM])) == PROBLEM
    (row,) = score_rows(iter([trajectory]), ProblemBook([PROBLEM]), CATALOG)
    assert (row["success"], row["rule"], row["shop"], row["failures"], row["error"]) == (True, 1.0, None, "[]", None)


def test_the_rewards_of_a_trace_count_where_no_table_has_the_problem(tmp_path):
    with_reward = envelope(reward={"product_id": "12", "service": ["official"]}, query="a red lamp")
    rows = trajectories(tmp_path, with_reward, envelope())
    found = list(score_rows(iter(rows), ProblemBook([]), CATALOG))
    assert [row["success"] for row in found] == [False, None]
    assert json.loads(found[0]["failures"])[0]["axis"] == "service"
    assert found[1]["error"] == "no problem with a reward is known"


def test_the_table_has_one_row_a_trajectory_in_order(tmp_path):
    from tracemill.traces.params import NormaliseParams
    from tracemill.traces.score import score_table
    from tracemill.traces.snapshot import normalise_snapshot

    raw = tmp_path / "raw.traces"
    raw.write_text("".join(json.dumps(row) + "\n" for row in [envelope(), envelope(miner_hotkey="m")]))
    outputs = {name: tmp_path / name for name in ("trajectories", "rejects", "problems", "summary")}
    limits = NormaliseParams(max_line_megabytes=1.0, max_inflation=100.0, max_broken_share=0.5)
    normalise_snapshot(raw, **outputs, params=limits, name="sim-a")
    counts = score_table(outputs["trajectories"], ProblemBook([PROBLEM]), CATALOG, tmp_path / "scores.parquet")
    assert counts == {"scored": 2, "successes": 2, "unscored": 0, "errors": 0}
    table = pl.read_parquet(tmp_path / "scores.parquet")
    assert table["success"].to_list() == [True, True]
    assert table["trajectory_id"].to_list() == pl.read_parquet(outputs["trajectories"])["trajectory_id"].to_list()


def test_a_table_that_normalise_wrote_is_scored(tmp_path):
    from tracemill.traces.params import NormaliseParams
    from tracemill.traces.snapshot import normalise_snapshot

    raw, table = tmp_path / "raw.traces", tmp_path / "trajectories.parquet"
    raw.write_text(json.dumps(envelope()) + "\n")
    limits = NormaliseParams(max_line_megabytes=1.0, max_inflation=100.0, max_broken_share=0.5)
    outputs = {"trajectories": table, "rejects": tmp_path / "r", "problems": None, "summary": None}
    normalise_snapshot(raw, **outputs, params=limits)
    (found,) = read_dialogues(table)
    assert (found.error, found.problem_id, found.query) == (None, "p0", "a red lamp")
    score = score_dialogue(PROBLEM, found.dialogue, CATALOG)
    assert (score["rule"], score["gt"]) == (1.0, 1.0)


def test_raw_files_are_read_as_written(tmp_path):
    path = tmp_path / "mine.jsonl"
    bare = played().dialogue()
    rows = [envelope(), bare, envelope(status="FAILED", dialogue=None)]
    path.write_text("\n".join([*(json.dumps(row) for row in rows), "{", "[" * 100_000]))
    found = list(read_dialogues(path))
    assert [(row.line, row.problem_id, row.query) for row in found[:3]] == [
        (1, "p0", "a red lamp"),
        (2, None, "a red lamp"),
        (3, "p0", None),
    ]
    assert found[0].dialogue == found[1].dialogue == bare
    assert found[2].error == "no dialogue (status FAILED)"
    assert all(row.error.startswith("no JSON") for row in found[3:])


def test_released_rows_are_scored_through_the_canonical_form(tmp_path):
    path = tmp_path / "released.jsonl"
    row = {"messages": played().messages, "tools": played().tools}
    path.write_text(json.dumps(row))
    (found,) = read_dialogues(path)
    assert found.error is None
    assert found.query == "a red lamp"
    score = score_dialogue(PROBLEM, found.dialogue, CATALOG)
    assert (score["rule"], score["gt"]) == (1.0, 1.0)


def test_an_episode_has_its_whole_results_in_canonical_messages():
    safe = {**LAMP, "title": "Lamp < think>"}
    whole = [m for m in canonical_messages(played()) if m["role"] == "tool"]
    assert [msgspec.json.decode(m["content"]) for m in whole][:3] == [[safe], [safe], []]


def test_a_document_over_many_lines_is_one_episode(tmp_path):
    path = tmp_path / "pretty.json"
    path.write_text(json.dumps(played().dialogue(), indent=2))
    (found,) = read_dialogues(path)
    assert found.dialogue == played().dialogue()
