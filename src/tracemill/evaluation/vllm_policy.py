"""A checkpoint in vLLM as a policy: the engine in this process, on this machine's GPU.

vLLM is imported when it is asked for: `make vllm` installs it beside the locked packages, since its metadata asks for
older releases of some of them. Prompts are token ids of our own template; what earlier turns have in common is its
prefix cache's business.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tracemill.errors import StageError
from tracemill.evaluation.token_policy import TokenPolicy, end_token_ids
from tracemill.evaluation.tokens import Generated, Prompt


def require_vllm() -> Any:
    """The module `vllm`; StageError where it is not installed."""
    try:
        import vllm
    except ImportError as error:
        raise StageError(
            f"backend `vllm`: the package is not installed ({error}); run `make vllm`, or use the backend "
            "`transformers`, or `endpoint` with a vLLM server"
        ) from error
    return vllm


def memory_share(default: float) -> float:
    """The share of the device's memory that an engine takes: TRACEMILL_VLLM_MEMORY, in (0, 1], else `default`.

    StageError for anything else. It decides how many episodes fit at once, not what they say.
    """
    given = os.environ.get("TRACEMILL_VLLM_MEMORY", "")
    try:
        share = float(given or default)
    except ValueError:
        share = math.nan
    if not 0 < share <= 1:
        raise StageError(f"TRACEMILL_VLLM_MEMORY is {given!r}, expected a share of the memory, such as 0.5")
    return share


class VllmPolicy(TokenPolicy):
    """Plays with a `vllm.LLM`."""

    def __init__(self, engine: Any, tokenizer: Any, end_ids: Sequence[int], max_context: int) -> None:
        super().__init__(tokenizer, "vllm", max_context)
        self.engine, self.end_ids = engine, tuple(end_ids)

    def answer(self, prompts: Sequence[Prompt]) -> list[Generated]:
        """Return what the model answers to each prompt, in order."""
        if not prompts:
            return []
        settings = [require_vllm().SamplingParams(**sampling_options(p, self.end_ids)) for p in prompts]
        asked = [{"prompt_token_ids": list(p.ids)} for p in prompts]
        outputs = self.engine.generate(asked, sampling_params=settings, use_tqdm=False)
        return [read_output(output.outputs[0], self.end_ids) for output in outputs]

    def forget(self, keys: Sequence[str]) -> None:
        """Nothing is kept here."""

    def reset(self) -> None:
        """Drop the prefix cache: what is played next must not depend on what was played before."""
        self.engine.reset_prefix_cache()


def sampling_options(prompt: Prompt, end_ids: Sequence[int]) -> dict[str, Any]:
    """The arguments of `vllm.SamplingParams` for one prompt; its seed is the turn's own."""
    return {
        "temperature": prompt.sampling.temperature,
        "top_p": prompt.sampling.top_p,
        "max_tokens": prompt.sampling.max_new_tokens,
        "seed": prompt.seed,
        "stop_token_ids": list(end_ids),
        "logprobs": 0,
        "detokenize": False,
    }


def read_output(output: Any, end_ids: Sequence[int]) -> Generated:
    """What was generated: one `vllm.CompletionOutput`, whose log-probabilities are dicts by token id."""
    ids = tuple(int(token) for token in output.token_ids)
    logprobs = tuple(float(step[token].logprob) for token, step in zip(ids, output.logprobs, strict=True))
    return Generated(ids, logprobs, bool(ids) and ids[-1] in end_ids)


def load_vllm(folder: Path, max_context: int) -> VllmPolicy:
    """Open the checkpoint in `folder`. Raises StageError where vLLM is not installed or there is no checkpoint."""
    vllm = require_vllm()
    from transformers import AutoConfig, AutoTokenizer, GenerationConfig

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise StageError(f"{folder}: no checkpoint can be loaded ({error}); build the parent stage first") from error
    limit = min(max_context, int(config.max_position_embeddings))
    engine = vllm.LLM(
        model=str(folder),
        dtype=config.dtype,  # left to itself, vLLM runs a float32 checkpoint in half precision
        max_model_len=limit,
        gpu_memory_utilization=memory_share(0.9),
        seed=0,
        trust_remote_code=False,
    )
    named = GenerationConfig.from_pretrained(folder) if (folder / "generation_config.json").is_file() else None
    return VllmPolicy(engine, tokenizer, end_token_ids(named, tokenizer), limit)
