"""Many episodes at once through one policy.

`play` takes live episodes to their ends. A model in this process answers all of them from one batch in which each goes
at its own pace; a policy that is a server plays each episode by itself. Whatever goes wrong in a policy or in the
catalogue is the outcome of its episode and never stops the others.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from tracemill.environment.episode import POLICY_ERROR, Episode
from tracemill.errors import TracemillError
from tracemill.evaluation.outcomes import ENVIRONMENT_ERROR
from tracemill.evaluation.policies import ConcurrentPolicy, Policy, Reply, Request, Sampling, StreamingPolicy

logger = logging.getLogger(__name__)

Ended = Callable[[int, list[Reply]], None]
"""Called with the position of an episode that ended and its replies."""


def play(
    policy: Policy | ConcurrentPolicy,
    episodes: Sequence[Episode],
    sampling: Sampling | Sequence[Sampling],
    keys: Sequence[str] | None = None,
    on_end: Ended | None = None,
    live: int = 0,
) -> list[list[Reply]]:
    """Play all episodes to their ends and return the replies of each, in the order given; at most `live` (0: all) are
    under way at once with a batched policy.

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
        _play_in_batches(policy, table, live or len(episodes))
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


def _play_in_batches(policy: Policy, table: _Table, live: int) -> None:
    """Keep `live` episodes under way: one that ends makes room for the next."""
    policy.reset()
    places = {key: i for i, key in enumerate(table.keys)}
    waiting = [i for i, episode in enumerate(table.episodes) if not episode.done]
    asked, under_way = waiting[:live], 0
    waiting = waiting[live:]
    while asked or under_way:
        replies = _some_replies(policy, [table.request(i) for i in asked])
        under_way += len(asked) - len(replies)
        going = {key: table.take(places[key], reply) for key, reply in replies.items()}
        policy.forget([key for key, on in going.items() if not on])
        asked = [places[key] for key, on in going.items() if on]
        room = live - under_way - len(asked)
        asked, waiting = [*asked, *waiting[:room]], waiting[room:]


def _some_replies(policy: Policy, requests: list[Request]) -> dict[str, Reply]:
    if isinstance(policy, StreamingPolicy):
        return policy.advance(requests)
    return {request.key: reply for request, reply in zip(requests, policy.act(requests), strict=True)}


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
