"""What plays an episode: one interface for an in-process model, a server, and a script.

A policy is asked for the next turn of many live episodes at once. It answers every request, in order, and never raises
for something a model or a server did: that is a `Turn` whose `error` names it. `Reply` also says what the turn cost
and, where the policy sees tokens, which ones they were (training on rollouts needs them).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec

from tracemill.environment.episode import Episode, Turn


class Sampling(msgspec.Struct, frozen=True):
    """How tokens are drawn. Temperature 0 is greedy. Each turn's seed is derived from `seed`, episode and turn."""

    temperature: float = 0.0
    top_p: float = 1.0
    max_new_tokens: int = 256
    seed: int = 0


class Request(msgspec.Struct, frozen=True):
    """One live episode that waits for its next turn."""

    key: str
    """Names the episode among all that are played with one policy."""
    turn: int
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    sampling: Sampling
    episode: Episode | None = None
    """The live episode itself; for scripts, which know more than a model may."""
    fixed_seed: int | None = None
    """The turn's seed where it came from elsewhere (a client of `tracemill serve-model`)."""

    @property
    def seed(self) -> int:
        """The turn's own seed (53 bits, exact in any JSON): the same whatever else is played beside it."""
        if self.fixed_seed is not None:
            return self.fixed_seed
        text = f"{self.sampling.seed}\x1f{self.key}\x1f{self.turn}"
        return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big") >> 11


class Reply(msgspec.Struct, frozen=True):
    """The turn, its cost in tokens, and what was generated."""

    turn: Turn
    text: str = ""
    """The generated text as the model wrote it, without the end token; empty where the policy sees none."""
    finish: str = "stop"
    """`stop`, `length`, or the name of an error."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_ids: tuple[int, ...] = ()
    completion_ids: tuple[int, ...] = ()
    """Generated token ids with the end token where there was one."""
    logprobs: tuple[float, ...] = ()
    """Log-probability of each generated token under the model at temperature 1; only where asked for."""


class Policy(Protocol):
    """Plays turns. `name` goes into records; equal names mean interchangeable policies."""

    name: str

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Return one reply per request, in order."""
        ...

    def forget(self, keys: Sequence[str]) -> None:
        """Drop what is kept for episodes that ended."""
        ...

    def reset(self) -> None:
        """Drop all that is kept: what is played next must not depend on what was played before."""
        ...


@runtime_checkable
class StreamingPolicy(Protocol):
    """A policy that takes up new turns while others are under way, so that no episode waits for the slowest."""

    def advance(self, requests: Sequence[Request]) -> dict[str, Reply]:
        """Take up `requests` beside those under way; return the replies of some that have ended, at least one."""
        ...


@runtime_checkable
class ConcurrentPolicy(Protocol):
    """A policy whose turns do not wait for one another (a server); at most `concurrency` are under way at once."""

    name: str
    concurrency: int

    async def act_one(self, request: Request) -> Reply:
        """Return the reply to one request."""
        ...

    async def aclose(self) -> None:
        """Close connections; called at the end of each loop of events."""
        ...


class Actor(Protocol):
    """A script that plays by the problem and the whole results so far, such as the arena's expert."""

    def act(self, problem: Any, results: Sequence[list[Any]]) -> Turn:
        """Return the next turn."""
        ...


class ScriptedPolicy:
    """A script behind the interface of models: the upper bound of an evaluation, and the embedded teacher."""

    def __init__(self, actor: Actor, name: str = "expert") -> None:
        self.actor, self.name = actor, name

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Return the script's turns; the requests must carry their episodes."""
        return [Reply(self._turn(request)) for request in requests]

    def forget(self, keys: Sequence[str]) -> None:
        """Nothing is kept."""

    def reset(self) -> None:
        """Nothing is kept."""

    def _turn(self, request: Request) -> Turn:
        if request.episode is None:
            raise ValueError(f"episode {request.key}: a scripted policy needs the live episode in the request")
        return self.actor.act(request.episode.problem, request.episode.results)
