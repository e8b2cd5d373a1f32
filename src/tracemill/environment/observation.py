"""How a tool's result is shown to a model.

Training rows, rollouts, evaluation and RL all render through `render_observation`, so that what a model learned from is
what it meets. `compact` is one line a product, regular enough for a very small model:

    find_product              id | title | price | service | shop
    view_product_information  id | attribute=value; ... | option=value; ... / option=value; ...

`json` is the result as the search server sends it. Both leave out whole results to stay within the limit, and neither
lets text of a product become a control token, a new line or a new column.
"""

from __future__ import annotations

import json
from typing import Any

from tracemill.environment.control_tokens import neutralise
from tracemill.environment.params import ObservationParams

NOTHING = "none"
DONE = "ok"
_CELL = 400
_MEMBERS = 40
_ACKNOWLEDGED = ("recommend_product", "terminate")


def render_observation(name: str, result: Any, params: ObservationParams) -> str:
    """Return the text that a model sees for `result` of tool `name`: at most `params.limit` characters, control free.

    Any JSON value is accepted: results of tools that are not ours, and of any shape, are shown as JSON text.
    """
    if isinstance(result, dict) and "error" in result:
        text = f"error: {_cell(result['error'])}"
    elif isinstance(result, list) and name in ("find_product", "view_product_information"):
        row = (_search_row if name == "find_product" else _view_row) if params.format == "compact" else None
        text = _rows(result, row, params) if row else _json_rows(result, params)
    elif params.format == "compact" and name in _ACKNOWLEDGED and isinstance(result, str):
        text = f"error: {_cell(result)}" if result.lower().startswith("error") else DONE
    elif isinstance(result, str):
        text = result[: params.limit]
    else:
        text = _dump(_clipped(result, params.limit))[: params.limit]
    return neutralise(text)[: params.limit]


def _rows(result: list[Any], row: Any, params: ObservationParams) -> str:
    lines: list[str] = []
    room = params.limit
    for product in result[: params.results]:
        line = neutralise(row(product, params) if isinstance(product, dict) else _cell(product))
        if len(line) > room:
            if not lines:
                lines.append(line[:room])
            break
        lines.append(line)
        room -= len(line) + 1
    return "\n".join(lines) if lines else NOTHING


def _search_row(product: dict[str, Any], params: ObservationParams) -> str:
    title = _cell(product.get("title"))[: params.title].rstrip()
    service = product.get("service")
    services = ",".join(_cell(s) for s in service[:_MEMBERS]) if isinstance(service, list) else _cell(service)
    cells = (
        _cell(product.get("product_id")),
        title,
        _price(product.get("price")),
        services,
        _cell(product.get("shop_id")),
    )
    return " | ".join(cell or "-" for cell in cells)


def _view_row(product: dict[str, Any], params: ObservationParams) -> str:
    options = product.get("sku_options")
    members = options.values() if isinstance(options, dict) else options if isinstance(options, list) else ()
    shown = " / ".join(_pairs(option) for option in list(members)[:_MEMBERS])
    return " | ".join((_cell(product.get("product_id")) or "-", _pairs(product.get("attributes")) or "-", shown or "-"))


def _pairs(value: Any) -> str:
    if not isinstance(value, dict):
        return _cell(value)
    return "; ".join(f"{_cell(key)}={_values(member)}" for key, member in list(value.items())[:_MEMBERS])


def _values(value: Any) -> str:
    return ",".join(_cell(member) for member in value[:_MEMBERS]) if isinstance(value, list) else _cell(value)


def _cell(value: Any) -> str:
    """One cell: no line breaks, no column marks, at most 400 characters."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else _dump(_clipped(value, _CELL))
    # broken first, so that a result and its canonical form (broken already) are shown alike
    return " ".join(neutralise(text[: 2 * _CELL])[:_CELL].replace("|", "/").split())


def _price(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return _cell(value)


def _json_rows(result: list[Any], params: ObservationParams) -> str:
    """JSON list of as many leading results as fit; a first result that is too long alone is shown with its texts
    cut."""
    parts: list[str] = []
    room = params.limit - 2
    for member in result[: params.results]:
        part = neutralise(_dump(member))
        for cut in (200, 40, 8):
            if parts or len(part) <= room:
                break
            part = neutralise(_dump(_clipped(member, cut)))
        if len(part) > room:
            break
        parts.append(part)
        room -= len(part) + 2
    return f"[{', '.join(parts)}]"


def _clipped(value: Any, cut: int, depth: int = 0) -> Any:
    """The value with long texts and long members cut, so that showing it costs a bounded amount of work."""
    if isinstance(value, str):
        return value[:cut]
    if depth > 8 and isinstance(value, (dict, list)):
        return None
    if isinstance(value, dict):
        return {str(key)[:cut]: _clipped(member, cut, depth + 1) for key, member in list(value.items())[:_MEMBERS]}
    if isinstance(value, list):
        return [_clipped(member, cut, depth + 1) for member in value[:_MEMBERS]]
    return value


def _dump(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
    except (RecursionError, ValueError):
        return "null"
