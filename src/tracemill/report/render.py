"""One self-contained HTML page: no network, no font, no script but its own, whose digests the page's policy names.

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
    times: str = "",
) -> str:
    """Return the page; `index` and `chunks` are the packed trajectories (report.trajectories.pack), empty for none.

    `links` are names and relative addresses of neighbouring pages, followed only when a reader asks. `times` is the
    relative address of a file beside them that says how long stages took (report.builds); where it is absent the page
    is whole, and shows no links.
    """
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    page = files("tracemill.report") / "page"
    scripts = [(page / name).read_text(encoding="utf-8") for name in ("browser.js", "times.js")]
    trust = "'strict-dynamic' " if times else ""
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
        browser=scripts[0],
        times=times,
        times_script=scripts[1],
        digests=Markup(trust + " ".join(map(_source, scripts))),
    )


def _source(script: str) -> str:
    """What a policy calls a script by."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
