"""Schema of the section `evaluation` of params.yaml."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class EndpointParams(_Section):
    """An OpenAI-compatible server: vLLM, SGLang, a provider's API, or `tracemill serve-model`."""

    url: str = ""
    """Base of the API, such as http://localhost:8000/v1."""
    model: str = ""
    key_variable: str = "TRACEMILL_ENDPOINT_KEY"
    """Environment variable that holds the key; the key itself is in no file and no record."""
    concurrency: int = Field(default=16, ge=1)
    """Episodes under way at once."""
    requests_per_minute: int = Field(default=0, ge=0)
    """Most requests a minute; 0 for no limit."""
    timeout_seconds: float = Field(default=120.0, gt=0)
    attempts: int = Field(default=5, ge=1)
    """Tries of one request before its episode ends with the error's name."""
    backoff_seconds: float = Field(default=1.0, ge=0)
    """Wait before the second try; doubled each time, at most a minute, or as long as the server asks."""
    max_failed_share: float = Field(default=0.02, ge=0, le=1)
    """Share of episodes that may end with a fault of the server; above it the stage fails and nothing is kept of
    them.
    """
    send_reasoning: bool = True
    """Send the thoughts of earlier turns back (`reasoning_content`), as the training template renders them."""
    token_ids: bool = False
    """Ask for token ids (`return_token_ids`: vLLM, `tracemill serve-model`); training on rollouts needs them."""


class RolloutParams(_Section):
    """How checkpoints play. The backend is part of a result's identity: other kernels give other bytes."""

    backend: Literal["transformers", "vllm", "endpoint", "expert"] = "transformers"
    """`expert` is the scripted upper bound; `vllm` needs that package."""
    threads: int = Field(default=1, ge=1)
    """CPU threads of the in-process backend; another count gives other bytes."""
    wave: int = Field(default=128, ge=1)
    """Episodes that are played by one process and written down together; a run that was killed repeats waves."""
    live: int = Field(default=64, ge=1)
    """Episodes of a wave that are under way at once in process; one that ends makes room for the next."""
    max_context: int = Field(default=4096, ge=64)
    """Most tokens of prompt and answer together."""
    prefill_tokens: int = Field(default=16_384, ge=64)
    """Most prompt tokens in one forward pass."""
    endpoint: EndpointParams = EndpointParams()

    @model_validator(mode="after")
    def _reachable(self) -> RolloutParams:
        if self.backend == "endpoint" and not (self.endpoint.url and self.endpoint.model):
            raise ValueError("backend `endpoint` needs endpoint.url and endpoint.model")
        return self


class SamplingParams(_Section):
    """One greedy episode a problem for the success rate, and drawn ones for pass@k."""

    seed: int = Field(default=0, ge=0)
    max_new_tokens: int = Field(default=256, ge=1)
    """Most tokens of one turn."""
    samples: int = Field(default=8, ge=0)
    """Drawn episodes a problem; 0 leaves pass@k out."""
    temperature: float = Field(default=0.9, gt=0)
    top_p: float = Field(default=0.95, gt=0, le=1)
    most_problems: int = Field(default=0, ge=0)
    """Most problems that are drawn for pass@k; 0: all. Chosen by hash, so more problems keep the chosen ones."""


class SuiteParams(_Section):
    """Which problems are evaluated. The pool `never_touch` has no name here: `tracemill open-sealed` opens it."""

    names: tuple[Literal["eval", "protected"], ...] = ("eval", "protected")
    most_problems: int = Field(default=0, ge=0)
    """Most problems of a suite; 0: all. A limited result says so."""

    @model_validator(mode="before")
    @classmethod
    def _list(cls, value: Any) -> Any:
        if isinstance(value, dict) and isinstance(value.get("names"), list):
            return {**value, "names": tuple(value["names"])}
        return value


class LmEvalParams(_Section):
    """Tasks run through lm-evaluation-harness."""

    tasks: tuple[str, ...] = ("tracemill_next_action",)
    """Ours, or any that lm-eval knows (ifeval, mmlu): one that cannot be loaded fails the stage by name."""
    limit: int = Field(default=0, ge=0)
    """Most documents of a task; 0: all. A limited result says so."""
    batch: int = Field(default=32, ge=1)

    @model_validator(mode="before")
    @classmethod
    def _list(cls, value: Any) -> Any:
        if isinstance(value, dict) and isinstance(value.get("tasks"), list):
            return {**value, "tasks": tuple(value["tasks"])}
        return value


class EvaluationParams(_Section):
    """The section as a whole."""

    rollouts: RolloutParams
    sampling: SamplingParams
    suites: SuiteParams
    lm_eval: LmEvalParams
