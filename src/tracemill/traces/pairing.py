"""Which result belongs to which call of a turn.

Ids alone cannot say: SN15's id is a hash of name and parameters, so a call that is made twice has one id twice.
So a result goes to the first call of its turn that has its id and no result yet, and one without an id to the
first call without a result.
"""

from __future__ import annotations

import sys
from collections import defaultdict, deque
from collections.abc import Sequence

from tracemill.traces.draft import DraftCall
from tracemill.traces.rejects import BAD_SHAPE, Rejected

NOBODY = sys.maxsize


def pair_results(
    step: int, calls: Sequence[DraftCall], ids: Sequence[str | None], results: Sequence[tuple[str | None, bytes | None]]
) -> None:
    """Write the results of turn `step` (from 1) into its calls; `ids` are those of the calls, in order.

    A result that is None says that the source holds none for this call. Rejected when a result belongs to no call.
    """
    waiting: dict[str | None, deque[int]] = defaultdict(deque)  # the open calls of each id, in order
    everyone = deque(position for position, call in enumerate(calls) if call.result is None)
    for position in everyone:
        waiting[ids[position]].append(position)
    answered: set[int] = set()
    for identity, result in results:
        queues = [everyone] if identity is None else [waiting[identity], waiting[None]]
        first = min(_first(queue, answered) for queue in queues)
        if first == NOBODY:
            raise Rejected(BAD_SHAPE, f"step {step}: a result (id {str(identity)[:40]!r}) that belongs to no call")
        calls[first].result = result
        answered.add(first)


def _first(queue: deque[int], answered: set[int]) -> int:
    """The first position in a queue that has no answer yet, NOBODY where there is none."""
    while queue and queue[0] in answered:
        queue.popleft()
    return queue[0] if queue else NOBODY
