from types import SimpleNamespace

import pytest

from tracemill.environment.episode import Turn
from tracemill.errors import StageError
from tracemill.evaluation.policies import Reply
from tracemill.training.grpo import DR_GRPO, check_dropout, grpo_arguments, messages_of, prompt_key, splice
from tracemill.training.params import GrpoParams, OptimiserParams


def reply(prompt, completion):
    return Reply(Turn(), prompt_ids=tuple(prompt), completion_ids=tuple(completion), logprobs=(-0.5,) * len(completion))


def test_what_the_environment_wrote_is_masked_out():
    prompt, completion, mask, scores, drifted = splice([reply([1, 2], [3, 4]), reply([1, 2, 3, 4, 9, 8], [5])])
    assert prompt == [1, 2]
    assert completion == [3, 4, 9, 8, 5]
    assert mask == [1, 1, 0, 0, 1]
    assert scores == [-0.5, -0.5, 0.0, 0.0, -0.5]
    assert not drifted


def test_a_sequence_ends_where_the_history_reads_as_other_tokens():
    prompt, completion, mask, _, drifted = splice([reply([1, 2], [3, 4]), reply([1, 2, 7, 9], [5])])
    assert (prompt, completion, mask, drifted) == ([1, 2], [3, 4], [1, 1], True)


def test_a_prompt_is_its_own_key():
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "é"}]
    assert messages_of(prompt_key(messages)) == messages


@pytest.mark.torch
def test_the_three_settings_of_dr_grpo_are_set_together(tmp_path):
    pytest.importorskip("torch")
    found = grpo_arguments(OptimiserParams(), GrpoParams(group=4, groups=2), tmp_path, 1)
    assert DR_GRPO == {"loss_type": "dr_grpo", "scale_rewards": "none", "disable_dropout": True}
    assert {key: found[key] for key in DR_GRPO} == DR_GRPO
    assert (found["num_generations"], found["generation_batch_size"]) == (4, 8)


@pytest.mark.torch
def test_the_engine_of_vllm_runs_in_each_process(tmp_path):
    pytest.importorskip("torch")
    found = grpo_arguments(OptimiserParams(), GrpoParams(backend="vllm", group=4, groups=2), tmp_path, 1)
    assert (found["use_vllm"], found["vllm_mode"]) == (True, "colocate")
    assert not grpo_arguments(OptimiserParams(), GrpoParams(), tmp_path, 1)["use_vllm"]


def test_dropout_in_the_model_is_refused():
    with pytest.raises(StageError, match="attention_dropout"):
        check_dropout(SimpleNamespace(to_dict=lambda: {"attention_dropout": 0.1, "hidden_dropout": 0.0}))
