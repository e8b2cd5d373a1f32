"""The evaluation of one checkpoint, from files to files, with the scripted expert in the checkpoint's place."""

import json

import polars as pl
import pytest

from tracemill.arena.catalog import generate_catalog
from tracemill.arena.params import CatalogParams, ProblemParams
from tracemill.arena.problems import generate_problems
from tracemill.environment.index import build_index
from tracemill.environment.params import PlayParams, ScorerParams
from tracemill.environment.problem import write_problems
from tracemill.evaluation.evaluate import (
    Inputs,
    Settings,
    describe,
    drawn_jobs,
    folder_digest,
    greedy_jobs,
    play_checkpoint,
)
from tracemill.evaluation.measure import Outputs, measure_checkpoint, summarise_suites
from tracemill.evaluation.params import EndpointParams, RolloutParams, SamplingParams, SuiteParams
from tracemill.evaluation.records import read_records
from tracemill.evaluation.suites import load_suites
from tracemill.leakage.nodes import problem_key


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    root = tmp_path_factory.mktemp("evaluate")
    catalog = generate_catalog(CatalogParams(products=600, shops=40))
    made = generate_problems(catalog, ProblemParams(problems=40))
    problems = list({problem_key(p.query, p.gold_ids): p for p in made}.values())[:24]
    build_index(catalog, root / "index")
    write_problems(problems, root / "problems.jsonl")
    write_problems(problems[:3], root / "protected.jsonl")
    pools = ("eval", "train", "never_touch")
    rows = [
        (problem_key(p.query, p.gold_ids), p.problem_id, p.category, "c", pools[i % 3], list(p.gold_ids))
        for i, p in enumerate(problems)
    ]
    columns = ["problem_key", "problem_id", "category", "cluster", "pool", "gold_ids"]
    pl.DataFrame(rows, schema=columns, orient="row").write_parquet(root / "pools.parquet")
    return root


def inputs(root):
    return Inputs(None, root / "problems.jsonl", [root / "protected.jsonl"], root / "pools.parquet", root / "index")


def evaluate(name, source, folder, suites, work):
    """Play and measure; returns the folder of the files."""
    folder.mkdir()
    episodes, played = folder / "episodes.jsonl.zst", folder / "played.json"
    play_checkpoint(name, source, episodes, played, suites, settings(), work)
    measure_checkpoint(episodes, played, Outputs(*(folder / n for n in ("metrics.json", "summary.json", "plot.csv"))))
    return folder


def settings(**rollouts):
    return Settings(
        RolloutParams(backend="expert", **rollouts), SamplingParams(samples=3), PlayParams(), ScorerParams()
    )


def test_the_expert_solves_its_suites_and_the_files_say_so(built, tmp_path):
    out = evaluate("expert", inputs(built), tmp_path / "out", SuiteParams(), tmp_path / "work")
    records = read_records(out / "episodes.jsonl.zst")
    summary, metrics = (json.loads((out / name).read_text()) for name in ("summary.json", "metrics.json"))
    assert set(summary["suites"]) == {"eval", "protected_clean", "protected_full"}
    assert summary["suites"]["eval"]["episodes"] == 8
    assert [summary["suites"][s]["contaminated"] for s in sorted(summary["suites"])] == [False, False, True]
    assert (summary["suites"]["protected_full"]["episodes"], summary["suites"]["protected_clean"]["episodes"]) == (3, 2)
    assert metrics["success"] > 0.95
    assert metrics["problems"] == 8
    assert all(r.outcome == "terminated" and r.problem_key for r in records)
    assert (out / "plot.csv").read_text() == "k,low,high,pass_at_k\n"


def test_two_evaluations_are_equal_bytes(built, tmp_path):
    made = [
        evaluate("expert", inputs(built), tmp_path / name, SuiteParams(), tmp_path / f"work-{name}") for name in "ab"
    ]
    first, second = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in made)
    assert len(first) == 5
    assert first == second


def test_a_limited_suite_says_so(built, tmp_path):
    out = evaluate("expert", inputs(built), tmp_path / "out", SuiteParams(most_problems=2), tmp_path / "work")
    block = json.loads((out / "summary.json").read_text())["suites"]["eval"]
    assert (block["episodes"], block["whole"], block["limited"]) == (2, 8, True)


def test_nothing_to_evaluate_is_no_error_and_no_number(built, tmp_path):
    write_problems([], tmp_path / "none.jsonl")
    empty = Inputs(None, tmp_path / "none.jsonl", [], built / "pools.parquet", built / "index")
    out = evaluate("base", empty, tmp_path / "out", SuiteParams(), tmp_path / "work")
    assert json.loads((out / "summary.json").read_text())["suites"] == {}
    assert json.loads((out / "metrics.json").read_text()) == {}


def test_drawn_episodes_are_for_the_eval_pool_and_a_smaller_choice_stays_inside_a_larger_one(built):
    problems = load_suites(
        *(inputs(built).problems, inputs(built).protected, inputs(built).pools), ["eval", "protected"]
    )
    assert len(greedy_jobs(problems.problems, SamplingParams())) == 10
    few = drawn_jobs(problems.problems, SamplingParams(samples=3, most_problems=2))
    more = drawn_jobs(problems.problems, SamplingParams(samples=3, most_problems=4))
    assert len(few) == 6
    assert {job.key for job in few} < {job.key for job in more}
    assert len({job.key for job in more}) == 12


def test_settings_are_told_apart_by_what_changes_an_episode(built):
    base = settings().digest()
    assert settings().digest() == base
    assert settings(max_context=2048).digest() != base
    slow = RolloutParams(backend="expert", endpoint=EndpointParams(timeout_seconds=9.0, key_variable="OTHER"))
    assert Settings(slow, SamplingParams(samples=3), PlayParams(), ScorerParams()).digest() == base


def test_a_checkpoint_is_named_by_its_bytes_and_not_by_its_card(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"abc")
    before = folder_digest(tmp_path)
    (tmp_path / "README.md").write_text("card")
    assert folder_digest(tmp_path) == before
    (tmp_path / "model.safetensors").write_bytes(b"abd")
    assert folder_digest(tmp_path) != before


def test_pass_at_k_is_described_with_its_settings(built):
    problems = load_suites(inputs(built).problems, [], inputs(built).pools, ["eval"])
    summary = summarise_suites(describe("x", problems, None, settings()), [])
    assert "pass_at" not in summary["suites"]["eval"]
    assert summary["suites"]["eval"]["success"]["value"] is None
