"""The `vllm` backend with a real engine: it says what the model says, and follows a model in training.

`make test-vllm` runs them with vLLM's build for CPUs, which knows no heads narrower than 32.
"""

import csv
from importlib.util import find_spec

import msgspec
import pytest
from tests.unit.training.conftest import make_run, rows_file

from tiny_model import make_model
from tracemill.environment.episode import Episode
from tracemill.environment.params import PlayParams, ScorerParams
from tracemill.evaluation.backends import make_policy
from tracemill.evaluation.params import RolloutParams
from tracemill.evaluation.policies import Request, Sampling
from tracemill.training.params import GrpoParams, OptimiserParams

pytestmark = [pytest.mark.torch, pytest.mark.vllm]
if find_spec("vllm") is None:
    pytest.skip("vLLM is not installed: `make test-vllm`", allow_module_level=True)


@pytest.fixture(scope="module", autouse=True)
def little_memory():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACEMILL_VLLM_MEMORY", "0.1")
        yield


@pytest.fixture(scope="module")
def parent(tmp_path_factory, tokenizer):
    """A random checkpoint whose next tokens are far apart."""
    from tracemill.training.checkpoint import publish
    from tracemill.training.lineage import stage_record, write_lineage

    folder = tmp_path_factory.mktemp("models") / "parent"
    publish(make_model(len(tokenizer), head_dim=32), tokenizer, folder)
    write_lineage(folder, [stage_record("base", "tiny", {}, None, None)])
    return folder


def prompts_of(policy, scene, sampling):
    """The first prompt of six episodes, as tokens."""
    from tracemill.environment.index import open_index
    from tracemill.evaluation.records import read_records

    catalog = open_index(scene / "index")
    episodes = [Episode(catalog, record.problem) for record in read_records(scene / "teacher.jsonl.zst")]
    return [policy.prompt(Request(str(i), 0, e.messages, e.tools, sampling, e)) for i, e in enumerate(episodes)]


def test_the_engine_says_what_the_model_says(parent, scene):
    greedy = Sampling(max_new_tokens=12)
    theirs, ours = (make_policy(RolloutParams(backend=backend), parent) for backend in ("vllm", "transformers"))
    prompts = prompts_of(ours, scene, greedy)
    for _ in range(2):  # the second turn's prompt begins with the first turn
        answers = theirs.answer(prompts)
        for found, wanted in zip(answers, ours.answer(prompts), strict=True):
            assert (found.ids, found.ended) == (wanted.ids, wanted.ended)
            assert found.logprobs == pytest.approx(wanted.logprobs, abs=1e-3)
        prompts = [
            msgspec.structs.replace(p, ids=(*p.ids, *a.ids, 11, 12, 13)) for p, a in zip(prompts, answers, strict=True)
        ]
    drawn = [
        msgspec.structs.replace(p, sampling=Sampling(temperature=0.9, top_p=0.95, max_new_tokens=12)) for p in prompts
    ]
    once = theirs.answer(drawn)
    assert theirs.answer(drawn) == once
    assert [answer.ids for answer in once] != [answer.ids for answer in theirs.answer(prompts)]
    assert theirs.answer([msgspec.structs.replace(p, seed=p.seed + 1) for p in drawn]) != once


@pytest.fixture
def unpacked_weights(monkeypatch):
    """The build for CPUs packs its weights, and packed ones take no new values; a GPU's are not packed."""
    monkeypatch.setattr("vllm._custom_ops._supports_onednn", False)
    monkeypatch.setattr("torch.cpu._is_amx_tile_supported", lambda: False)


@pytest.mark.usefixtures("unpacked_weights")
def test_dr_grpo_plays_with_an_engine_that_follows_each_step(parent, tokenizer, scene, tmp_path, monkeypatch):
    from tracemill.training import grpo

    # Random weights never succeed, and equal rewards teach nothing.
    monkeypatch.setattr(grpo, "_outcome", lambda episode, _: float(len(str(episode.messages)) % 2))
    run = make_run("dr_grpo", parent, rows_file(tokenizer, tmp_path / "rows.parquet"), tmp_path)
    grpo.train_grpo(
        run,
        grpo.GrpoInputs(teacher=scene / "teacher.jsonl.zst", index=scene / "index"),
        OptimiserParams(max_steps=4, batch=8, device_batch=8, save_steps=4, learning_rate=3e-2, warmup_steps=1),
        GrpoParams(backend="vllm", group=4, groups=2, max_turn_tokens=8, max_completion_length=64, beta=0.01),
        (PlayParams(), ScorerParams()),
        threads=1,
    )
    with run.curve.open(encoding="utf-8") as file:
        steps = list(csv.DictReader(file))
    assert max(float(step["kl"]) for step in steps) > 1
    assert all(float(step["sampling/sampling_logp_difference/mean"]) < 0.2 for step in steps)
