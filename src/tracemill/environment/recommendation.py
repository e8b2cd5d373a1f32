"""What an agent recommended: the one definition that the scorer, the filter and the leak guard share."""

from __future__ import annotations

from typing import Any


def recommended_ids(dialogue: Any) -> list[str]:
    """Product ids of the last recommendation: split at commas only, stripped, without repetition, in order.

    A call without ids wipes earlier ones; ids that are no text are no ids. A step that cannot be read is passed over
    from the call on that cannot be read. This is the one definition of what an agent recommended.
    """
    given: Any = ""
    for step in dialogue or ():
        try:
            message = step["completion"]["message"]
            if message and "tool_call" in message and message["tool_call"]:
                for call in message["tool_call"]:
                    if call["name"] == "recommend_product":
                        given = call["parameters"].get("product_ids", "")
        except (KeyError, TypeError, AttributeError):
            continue
    return split_ids(given)


def split_ids(given: Any) -> list[str]:
    """Ids in one `product_ids` argument as production reads them; none where it is no text."""
    if not isinstance(given, str):
        return []
    return list(dict.fromkeys(part for part in map(str.strip, given.split(",")) if part))
