"""The policy that a parameter names: a checkpoint in this process, a server, or the scripted expert.

What is not installed or not reachable fails here, by name; nothing is skipped, since a skip would be cached.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tracemill.errors import StageError
from tracemill.evaluation.params import RolloutParams
from tracemill.evaluation.policies import ConcurrentPolicy, Policy, ScriptedPolicy

if TYPE_CHECKING:
    from tracemill.evaluation.params import EndpointParams


def make_policy(params: RolloutParams, checkpoint: Path | None = None) -> Policy | ConcurrentPolicy:
    """Return the policy of `params.backend`. StageError where a checkpoint is needed and none is given, or none
    answers.
    """
    if params.backend == "expert":
        return expert_policy()
    if params.backend == "endpoint":
        return endpoint_policy(params.endpoint)
    if checkpoint is None:
        raise StageError(
            f"backend `{params.backend}` plays a checkpoint, none was given; name one, or use another backend"
        )
    if params.backend == "vllm":
        from tracemill.evaluation.vllm_policy import load_vllm

        return load_vllm(checkpoint, params.max_context)
    import torch

    from tracemill.evaluation.transformers_policy import load_policy

    torch.set_num_threads(params.threads)
    return load_policy(checkpoint, max_context=params.max_context, prefill_tokens=params.prefill_tokens)


def expert_policy() -> ScriptedPolicy:
    """The scripted expert of the arena, the upper bound of an evaluation."""
    from tracemill.arena.expert import Expert

    return ScriptedPolicy(Expert())


def endpoint_policy(params: EndpointParams) -> ConcurrentPolicy:
    """A client of the server that the parameters name; StageError when it does not answer."""
    from tracemill.evaluation.endpoint import EndpointPolicy, check_endpoint, read_key

    key = read_key(params)
    check_endpoint(params, key)
    return EndpointPolicy(params, key)
