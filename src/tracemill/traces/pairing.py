"""Which result belongs to which call of a turn.

Ids alone cannot say: SN15's id is a hash of name and parameters, so a call that is made twice has one id twice.
So a result goes to the first call of its turn that has its id and no result yet, and one without an id to the
first call without a result.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracemill.traces.draft import DraftCall
from tracemill.traces.rejects import BAD_SHAPE, Rejected


def pair_results(
    step: int, calls: Sequence[DraftCall], ids: Sequence[str | None], results: Sequence[tuple[str | None, bytes | None]]
) -> None:
    """Write the results of turn `step` (from 1) into its calls; `ids` are those of the calls, in order.

    A result that is None says that the source holds none for this call. Rejected when a result belongs to no call.
    """
    open_calls = [position for position, call in enumerate(calls) if call.result is None]
    for identity, result in results:
        matching = [at for at in open_calls if identity is None or ids[at] is None or ids[at] == identity]
        if not matching:
            raise Rejected(BAD_SHAPE, f"step {step}: a result (id {str(identity)[:40]!r}) that belongs to no call")
        calls[matching[0]].result = result
        open_calls.remove(matching[0])
