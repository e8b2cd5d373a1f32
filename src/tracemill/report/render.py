"""One self-contained HTML page: no network, no font, no script but its own, whose digest the page's policy names.

Everything that came from a trace goes through the template's escaping or through textContent; the only markup taken as
it is are our own style, script and plots.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib.resources import files

from tracemill.report.blocks import Section


def render_page(
    title: str,
    lead: str,
    sections: Sequence[Section],
    index: str = "",
    chunks: Sequence[str] = (),
    links: Mapping[str, str] | None = None,
) -> str:
    """Return the page; `index` and `chunks` are the packed trajectories (report.trajectories.pack), empty for none.

    `links` are names and relative addresses of neighbouring pages, followed only when a reader asks.
    """
    from jinja2 import Environment, StrictUndefined

    page = files("tracemill.report") / "page"
    script = (page / "browser.js").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    template = environment.from_string((page / "report.html.jinja").read_text(encoding="utf-8"))
    return template.render(
        title=title,
        lead=lead,
        sections=sections,
        index=index,
        chunks=chunks,
        links=links or {},
        style=(page / "style.css").read_text(encoding="utf-8"),
        script=script,
        script_digest="sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
