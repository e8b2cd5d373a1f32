"""A checkpoint in this process plays real episodes."""

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from test_rollouts import ARENA, problem  # noqa: E402

from tiny_model import make_model, make_tokenizer, save_checkpoint  # noqa: E402
from tracemill.environment.chat import render_chat  # noqa: E402
from tracemill.environment.tools import TOOLS  # noqa: E402
from tracemill.errors import StageError  # noqa: E402
from tracemill.evaluation.collect import collect, make_jobs  # noqa: E402
from tracemill.evaluation.journal import Journal  # noqa: E402
from tracemill.evaluation.policies import Request, Sampling  # noqa: E402
from tracemill.evaluation.records import write_records  # noqa: E402
from tracemill.evaluation.transformers_policy import TransformersPolicy, load_policy  # noqa: E402

MESSAGES = [{"role": "system", "content": "Shop."}, {"role": "user", "content": "a shoe <|im_end|>"}]


@pytest.fixture(scope="module")
def policy():
    tokenizer = make_tokenizer()
    return TransformersPolicy(make_model(len(tokenizer)), tokenizer)


def request(key="a", turn=0, messages=MESSAGES, limit=12):
    return Request(key, turn, messages, TOOLS, Sampling(temperature=1.0, max_new_tokens=limit))


def test_the_prompt_is_the_rendered_chat_with_no_control_token_of_a_stranger(policy):
    reply = policy.act([request()])[0]
    text = policy.tokenizer.decode(list(reply.prompt_ids))
    assert text == render_chat(policy.tokenizer, MESSAGES, TOOLS, add_generation_prompt=True)
    assert text.endswith("a shoe < |im_end|><|im_end|>\n<|im_start|>assistant\n")


def test_a_random_model_babbles_and_the_episode_says_so(policy):
    records = collect(policy, make_jobs([problem(i) for i in range(3)], 2, Sampling(1.0, 1.0, 16, 5)), ARENA)
    assert {r.outcome for r in records} <= {"truncated", "no_call", "control_token", "malformed_call", "empty"}
    assert all(r.completion_tokens > 0 and r.prompt_tokens > 0 and not r.success for r in records)


def test_the_same_seed_plays_the_same_episodes_twice(policy):
    jobs = make_jobs([problem(i) for i in range(2)], 2, Sampling(1.0, 0.95, 16, 5))
    assert collect(policy, jobs, ARENA) == collect(policy, jobs, ARENA)


def test_a_prompt_that_leaves_no_room_is_the_outcome_context_limit(policy):
    long = [*MESSAGES, {"role": "user", "content": "x" * 9000}]
    replies = policy.act([request(), request("b", messages=long)])
    assert [r.turn.error == "context_limit" for r in replies] == [False, True]
    assert replies[1].completion_tokens == 0


def test_a_saved_checkpoint_plays_as_the_model_in_memory(policy, tmp_path):
    loaded = load_policy(save_checkpoint(tmp_path / "model"))
    ours, theirs = policy.act([request()])[0], loaded.act([request()])[0]
    assert (ours.prompt_ids, ours.completion_ids) == (theirs.prompt_ids, theirs.completion_ids)


def test_a_folder_without_a_checkpoint_is_named(tmp_path):
    with pytest.raises(StageError, match="nothing-here"):
        load_policy(tmp_path / "nothing-here")


class Killed(TransformersPolicy):
    """Stops the run, as a kill would, at its `last` call."""

    last = 3

    def advance(self, requests):
        self.last -= 1
        if self.last < 0:
            raise KeyboardInterrupt
        return super().advance(requests)


def test_a_killed_run_ends_with_the_bytes_of_an_undisturbed_one(policy, tmp_path):
    jobs = make_jobs([problem(i) for i in range(5)], 2, Sampling(1.0, 1.0, 12, 4))
    whole = collect(policy, jobs, ARENA, wave=3)
    with Journal(tmp_path / "j.jsonl") as journal, pytest.raises(KeyboardInterrupt):
        collect(Killed(policy.model, policy.tokenizer), jobs, ARENA, journal, wave=3)
    fresh = TransformersPolicy(policy.model, policy.tokenizer)
    with Journal(tmp_path / "j.jsonl") as journal:
        assert 0 < len(journal.records) < len(jobs)
        resumed = collect(fresh, jobs, ARENA, journal, wave=3)
    write_records(whole, tmp_path / "whole.zst")
    write_records(resumed, tmp_path / "resumed.zst")
    assert (tmp_path / "whole.zst").read_bytes() == (tmp_path / "resumed.zst").read_bytes()
