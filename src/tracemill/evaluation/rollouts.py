"""Many episodes at once through one policy.

`play` takes live episodes to their ends. A batched policy is asked once a turn for all episodes that still live; a
policy that is a server plays each episode at its own pace. Whatever goes wrong in a policy or in the catalogue is the
outcome of its episode and never stops the others.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from tracemill.environment.episode import POLICY_ERROR, Episode
from tracemill.errors import TracemillError
from tracemill.evaluation.outcomes import ENVIRONMENT_ERROR
from tracemill.evaluation.policies import ConcurrentPolicy, Policy, Reply, Request, Sampling

logger = logging.getLogger(__name__)

Ended = Callable[[int, list[Reply]], None]
"""Called with the position of an episode that ended and its replies."""


def play(
    policy: Policy | ConcurrentPolicy,
    episodes: Sequence[Episode],
    sampling: Sampling | Sequence[Sampling],
    keys: Sequence[str] | None = None,
    on_end: Ended | None = None,
) -> list[list[Reply]]:
    """Play all episodes to their ends and return the replies of each, in the order given.

    `keys` name the episodes (default: their positions); with the seed of `sampling` (one for all, or one each) they
    decide what is drawn, so the k samples of one problem need k keys. Raises ValueError for keys that are not
    distinct.
    """
    names = list(keys) if keys is not None else [str(i) for i in range(len(episodes))]
    if len(set(names)) != len(episodes) or len(names) != len(episodes):
        raise ValueError(f"{len(episodes)} episodes need as many distinct keys, found {len(set(names))}")
    each = [sampling] * len(episodes) if isinstance(sampling, Sampling) else list(sampling)
    table = _Table(episodes, names, each, on_end)
    if isinstance(policy, ConcurrentPolicy):
        asyncio.run(_play_concurrently(policy, table))
    else:
        _play_in_batches(policy, table)
    return table.replies


class _Table:
    """The episodes of one call with their names, settings and replies so far."""

    def __init__(
        self, episodes: Sequence[Episode], keys: list[str], sampling: list[Sampling], on_end: Ended | None
    ) -> None:
        self.episodes, self.keys, self.sampling, self.on_end = episodes, keys, sampling, on_end
        self.replies: list[list[Reply]] = [[] for _ in episodes]

    def request(self, i: int) -> Request:
        episode = self.episodes[i]
        turn = len(self.replies[i])
        return Request(self.keys[i], turn, episode.messages, episode.tools, self.sampling[i], episode)

    def take(self, i: int, reply: Reply) -> bool:
        """Play the reply; whether the episode goes on."""
        episode = self.episodes[i]
        self.replies[i].append(reply)
        try:
            episode.step(reply.turn)
        except TracemillError as error:
            logger.warning("episode %s: the catalogue failed: %s", self.keys[i], error)
            episode.end(POLICY_ERROR, f"{ENVIRONMENT_ERROR}: {error}")
        if episode.done and self.on_end is not None:
            self.on_end(i, self.replies[i])
        return not episode.done


def _play_in_batches(policy: Policy, table: _Table) -> None:
    policy.reset()
    live = [i for i, episode in enumerate(table.episodes) if not episode.done]
    while live:
        replies = policy.act([table.request(i) for i in live])
        going = [table.take(i, reply) for i, reply in zip(live, replies, strict=True)]
        policy.forget([table.keys[i] for i, on in zip(live, going, strict=True) if not on])
        live = [i for i, on in zip(live, going, strict=True) if on]


async def _play_concurrently(policy: ConcurrentPolicy, table: _Table) -> None:
    gate = asyncio.Semaphore(policy.concurrency)

    async def play_one(i: int) -> None:
        async with gate:
            going = not table.episodes[i].done
            while going:
                going = table.take(i, await policy.act_one(table.request(i)))

    try:
        async with asyncio.TaskGroup() as group:
            for i in range(len(table.episodes)):
                group.create_task(play_one(i))
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed
    finally:
        await policy.aclose()
