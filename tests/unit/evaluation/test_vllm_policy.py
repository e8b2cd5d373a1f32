"""What can be known about the vLLM backend where vLLM is not installed: its arguments, its answers, its absence.

What a real engine says is in tests/unit/training/test_vllm.py.
"""

from importlib.util import find_spec
from types import SimpleNamespace

import pytest

from tracemill.errors import StageError
from tracemill.evaluation.backends import make_policy
from tracemill.evaluation.params import RolloutParams
from tracemill.evaluation.policies import Sampling
from tracemill.evaluation.tokens import Generated, Prompt
from tracemill.evaluation.vllm_policy import memory_share, read_output, sampling_options


def test_each_prompt_brings_its_own_seed_and_ends_at_the_end_of_a_turn():
    prompt = Prompt("t1#0", (1, 2), 77, Sampling(temperature=0.9, top_p=0.95, max_new_tokens=32, seed=5))
    assert sampling_options(prompt, (7, 9)) == {
        "temperature": 0.9,
        "top_p": 0.95,
        "max_tokens": 32,
        "seed": 77,
        "stop_token_ids": [7, 9],
        "logprobs": 0,
        "detokenize": False,
    }


def test_an_answer_carries_the_log_probability_of_each_token_drawn():
    def step(**logprobs):
        return {int(token[1:]): SimpleNamespace(logprob=value) for token, value in logprobs.items()}

    ended = SimpleNamespace(token_ids=[4, 7], logprobs=[step(_4=-0.5, _3=-0.1), step(_7=-0.25)])
    assert read_output(ended, (7,)) == Generated((4, 7), (-0.5, -0.25), True)
    cut = SimpleNamespace(token_ids=[4], logprobs=[step(_4=-0.5)])
    assert read_output(cut, (7,)) == Generated((4,), (-0.5,), False)


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is installed")
def test_a_missing_vllm_is_one_line_that_says_what_to_do(tmp_path):
    with pytest.raises(StageError, match=r"backend `vllm`: the package is not installed .*run `make vllm`"):
        make_policy(RolloutParams(backend="vllm"), tmp_path)


def test_the_memory_of_an_engine_is_set_where_it_runs(monkeypatch):
    monkeypatch.delenv("TRACEMILL_VLLM_MEMORY", raising=False)
    assert memory_share(0.3) == 0.3
    monkeypatch.setenv("TRACEMILL_VLLM_MEMORY", "0.5")
    assert memory_share(0.3) == 0.5
    for wrong in ("half", "0", "1.5", "nan"):
        monkeypatch.setenv("TRACEMILL_VLLM_MEMORY", wrong)
        with pytest.raises(StageError, match=f"TRACEMILL_VLLM_MEMORY is '{wrong}', expected a share"):
            memory_share(0.3)
