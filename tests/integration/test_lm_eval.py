"""Our lm-eval tasks, run by the real harness: episodes score as in our own engine, and nothing is skipped."""

import json
import subprocess
import sys

import msgspec
import polars as pl
import pytest

pytest.importorskip("lm_eval")
pytestmark = pytest.mark.torch

from tiny_model import save_checkpoint  # noqa: E402
from tracemill.arena.catalog import generate_catalog  # noqa: E402
from tracemill.arena.params import CatalogParams, ProblemParams  # noqa: E402
from tracemill.arena.problems import generate_problems  # noqa: E402
from tracemill.environment.index import build_index  # noqa: E402
from tracemill.environment.params import PlayParams, ScorerParams  # noqa: E402
from tracemill.environment.problem import write_problems  # noqa: E402
from tracemill.errors import StageError  # noqa: E402
from tracemill.evaluation.evaluate import Inputs, Settings, play_checkpoint  # noqa: E402
from tracemill.evaluation.lm_eval_run import LmInputs, flat_scores, run_lm_eval, run_tasks  # noqa: E402
from tracemill.evaluation.measure import Outputs, measure_checkpoint  # noqa: E402
from tracemill.evaluation.params import LmEvalParams, RolloutParams, SamplingParams, SuiteParams  # noqa: E402
from tracemill.leakage.nodes import problem_key  # noqa: E402


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A small catalogue with problems, half of them in the eval pool, a random checkpoint, and both evaluated."""
    root = tmp_path_factory.mktemp("lm")
    catalog = generate_catalog(CatalogParams(products=600, shops=40))
    problems = generate_problems(catalog, ProblemParams(problems=24))
    build_index(catalog, root / "index")
    write_problems(problems, root / "problems.jsonl")
    rows = [
        (problem_key(p.query, p.gold_ids), p.problem_id, p.category, "c", ("eval", "train")[i % 2], list(p.gold_ids))
        for i, p in enumerate(problems)
    ]
    columns = ["problem_key", "problem_id", "category", "cluster", "pool", "gold_ids"]
    pl.DataFrame(rows, schema=columns, orient="row").write_parquet(root / "pools.parquet")
    save_checkpoint(root / "random")
    for name, model in (("expert", None), ("random", root / "random")):
        folder = root / f"of-{name}"
        folder.mkdir()
        episodes, played = folder / "episodes.jsonl.zst", folder / "played.json"
        play_checkpoint(
            name,
            Inputs(model, root / "problems.jsonl", [], root / "pools.parquet", root / "index"),
            episodes,
            played,
            SuiteParams(),
            settings("expert" if model is None else "transformers"),
            root / "work" / name,
        )
        files = (folder / name for name in ("metrics.json", "summary.json", "plot.csv"))
        measure_checkpoint(episodes, played, Outputs(*files))
    return root


def settings(backend="transformers"):
    return Settings(
        rollouts=RolloutParams(backend=backend, wave=16),
        sampling=SamplingParams(max_new_tokens=24, samples=2),
        play=PlayParams(),
        scorer=ScorerParams(),
    )


def inputs(root):
    return LmInputs(
        root / "random",
        root / "of-expert" / "episodes.jsonl.zst",
        root / "problems.jsonl",
        root / "pools.parquet",
        root / "index",
    )


def test_the_stage_leaves_scores_with_versions_counts_and_digests(built):
    expert = json.loads((built / "of-expert/summary.json").read_text())["suites"]["eval"]
    params = LmEvalParams(tasks=("tracemill_next_action", "tracemill_episode"), batch=16)
    results, metrics = built / "results.json", built / "metrics.json"
    run_lm_eval("random", inputs(built), settings(), params, results=results, metrics=metrics)
    found = json.loads(results.read_text())
    steps = found["tasks"]["tracemill_next_action"]
    assert steps["documents"]["effective"] == round(expert["steps"] * expert["episodes"])
    assert steps["version"] == 1.1
    spread = steps["intervals"]["exact,none"]
    assert 0 <= spread["low"] <= steps["scores"]["exact,none"] <= spread["high"] < 1
    assert len(steps["task_digest"]) == len(found["digests"]["settings"]) == 64
    assert json.loads(metrics.read_text()) == flat_scores(found)
    first = results.read_bytes()
    run_lm_eval("random", inputs(built), settings(), params, results=results, metrics=metrics)
    assert results.read_bytes() == first


@pytest.mark.parametrize(("name", "backend"), [("expert", "expert"), ("random", "transformers")])
def test_episodes_through_the_harness_score_as_in_our_own_engine(built, name, backend):
    own = json.loads((built / f"of-{name}/summary.json").read_text())["suites"]["eval"]
    params = LmEvalParams(tasks=("tracemill_episode",), batch=16)
    scores = run_tasks(name, inputs(built), settings(backend), params)["tasks"]["tracemill_episode"]["scores"]
    assert scores["success,none"] == pytest.approx(own["success"]["value"])
    assert scores["success,none"] == (1.0 if name == "expert" else 0.0)
    for key in ("rule", "format", "hallucinated_ids", "steps"):
        assert scores[f"{key},none"] == pytest.approx(own[key])


def test_repeats_give_pass_at_k(built):
    params = LmEvalParams(tasks=("tracemill_episode_pass",), limit=3)
    found = run_tasks("expert", inputs(built), settings("expert"), params)
    block = found["tasks"]["tracemill_episode_pass"]
    assert [block["scores"][f"success,k{k}"] for k in (1, 2, 4, 8)] == [1.0] * 4
    assert (found["limited"], block["limited"], block["documents"]["effective"]) == (True, True, 3)


@pytest.mark.parametrize("most", [24, 40])
def test_a_turn_may_be_as_long_as_in_rollouts(built, monkeypatch, most):
    from tracemill.evaluation.generation import Generator

    asked = []
    generate = Generator.generate
    monkeypatch.setattr(Generator, "generate", lambda self, prompts: asked.extend(prompts) or generate(self, prompts))
    given = settings()
    sampling = given.sampling.model_copy(update={"max_new_tokens": most})
    changed = msgspec.structs.replace(given, sampling=sampling)
    run_tasks("random", inputs(built), changed, LmEvalParams(tasks=("tracemill_next_action",), limit=2))
    assert [prompt.sampling.max_new_tokens for prompt in asked] == [most, most]


def test_a_task_that_is_not_there_fails_by_name(built):
    with pytest.raises(StageError, match="no_such_task"):
        run_tasks("random", inputs(built), settings(), LmEvalParams(tasks=("no_such_task",)))


SCIQ = {"question": "what melts?", "support": "Ice melts.", "distractor1": "stone", "distractor2": "sand"}


def test_a_task_that_lm_eval_brings_runs_beside_ours(built, tmp_path, monkeypatch):
    data = tmp_path / "allenai/sciq"  # the hub's name of its data, found here before the hub is asked
    data.mkdir(parents=True)
    rows = [SCIQ | {"distractor3": "salt", "correct_answer": f"ice {n}"} for n in range(3)]
    for split in ("train", "validation", "test"):
        (data / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    found = run_tasks(
        "random", inputs(built), settings(), LmEvalParams(tasks=("sciq", "tracemill_next_action"), limit=2)
    )
    block = found["tasks"]["sciq"]
    assert (block["version"], block["documents"]) == (1.0, {"original": 3, "effective": 2})
    assert set(block["scores"]) == {"acc,none", "acc_norm,none"}
    assert block["scores"]["acc,none"] in (0.0, 0.5, 1.0)
    assert "tracemill_next_action" in found["tasks"]


def test_a_task_whose_data_cannot_be_had_fails_by_name_before_any_model_plays(built, tmp_path, monkeypatch):
    import datasets
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    nothing = LmInputs(*[tmp_path / "missing"] * 5)
    tasks = ("tracemill_next_action", "mmlu_abstract_algebra")
    with pytest.raises(
        StageError, match=r"lm-eval task 'mmlu_abstract_algebra' cannot be loaded: .*cais/mmlu"
    ) as caught:
        run_tasks("random", nothing, settings(), LmEvalParams(tasks=tasks))
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_the_command_line_of_lm_eval_runs_a_task_by_hand(built):
    metadata = json.dumps({"episodes": str(built / "of-expert/episodes.jsonl.zst")})
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tracemill.evaluation.lm_eval_main", "run", "--model", "hf"),
            *("--model_args", f"pretrained={built / 'random'}", "--metadata", metadata, "--device", "cpu"),
            *("--tasks", "tracemill_next_action", "--limit", "2"),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "tracemill_next_action" in done.stdout
