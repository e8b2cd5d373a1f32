"""The four tools of the shopping environment: their definitions and what a call answers.

`TOOLS` is part of every prompt, so the order of its keys is fixed. A call that cannot be made is answered by
`{"error": "..."}`, never by an exception: the agent sees it and may try again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from tracemill.environment.backend import CatalogBackend


def _tool(name: str, description: str, properties: dict[str, dict[str, Any]], required: list[str]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


TOOLS: list[dict[str, Any]] = [
    _tool(
        "find_product",
        "Search the catalogue; ten products a page.",
        {
            "q": _text("Words to search for."),
            "page": {"type": "integer", "description": "Page, 1 to 5."},
            "shop_id": _text("Only this shop."),
            "price": _text("Price range such as 0-100 or 1000-."),
            "sort": _text("priceasc, pricedesc or order (units sold)."),
            "service": _text("Comma separated: official, freeShipping, COD, flashsale."),
        },
        ["q"],
    ),
    _tool(
        "view_product_information",
        "Show attributes and options of products.",
        {"product_ids": _text("Comma separated ids.")},
        ["product_ids"],
    ),
    _tool(
        "recommend_product",
        "Recommend the products, in the order asked for; only once.",
        {"product_ids": _text("Comma separated ids.")},
        ["product_ids"],
    ),
    _tool("terminate", "End the dialogue.", {"status": _text("success or failure.")}, ["status"]),
]
"""Nested OpenAI tool definitions; key order is part of the prompt."""

TOOL_NAMES: tuple[str, ...] = tuple(tool["function"]["name"] for tool in TOOLS)

_PROPERTIES = {tool["function"]["name"]: tuple(tool["function"]["parameters"]["properties"]) for tool in TOOLS}
_REQUIRED = {
    "find_product": ("q",),
    "view_product_information": ("product_ids",),
    "recommend_product": ("product_ids",),
}
_SHOWN = 60


class MalformedArguments(ValueError):
    """The arguments of a call are no JSON object."""


def parse_arguments(arguments: Any) -> dict[str, Any]:
    """Return the arguments of a call as an object; they may come as an object, JSON text, twice encoded text or
    nothing.

    Raises MalformedArguments for anything else, at most two layers of text deep.
    """
    for _ in range(2):
        if isinstance(arguments, (str, bytes)):
            if not arguments.strip():
                return {}
            try:
                arguments = msgspec.json.decode(arguments)
            except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
                raise MalformedArguments(f"arguments are no JSON: {error}") from error
    if arguments is None:
        return {}
    if not isinstance(arguments, dict):
        raise MalformedArguments(f"arguments are {type(arguments).__name__}, expected an object")
    return arguments


def call_tool(catalog: CatalogBackend, name: str, arguments: dict[str, Any]) -> Any:
    """Return the JSON value that tool `name` answers; `{"error": text}` where it cannot be called with these arguments.

    Scalars are passed as text, as they travel in the search server's query string. Exceptions of the catalogue itself
    (an unreachable server) are not caught: they are no part of the episode.
    """
    fault = _fault(name, arguments)
    if fault is not None:
        return {"error": fault}
    given = {key: value for key, value in arguments.items() if value is not None}
    if name == "find_product":
        return catalog.find_product(**{"page": "1", **{key: _as_text(value) for key, value in given.items()}})
    if name == "view_product_information":
        return catalog.view_product_information(_as_text(given["product_ids"]))
    if name == "recommend_product":
        return f"Having recommended the products to the user: {given['product_ids']}."
    return f"The interaction has been completed with status: {given.get('status', 'success')}"


def _fault(name: str, arguments: dict[str, Any]) -> str | None:
    known = _PROPERTIES.get(name)
    if known is None:
        return f"no tool {_shown(name)}; there are {', '.join(TOOL_NAMES)}"
    for key, value in arguments.items():
        if key not in known:
            return f"{name} has no argument {_shown(key)}; it takes {', '.join(known)}"
        if isinstance(value, (dict, list)) or (
            name == "recommend_product" and not isinstance(value, (str, type(None)))
        ):
            return f"{name}: {key} must be text"
    for key in _REQUIRED.get(name, ()):
        if arguments.get(key) is None:
            return f"{name}: {key} is missing"
    return None


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)
