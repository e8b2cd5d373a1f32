"""A catalogue over HTTP in the protocol of SN15's search server, so that other people's agents can run against it.

GET /find_product (q, page, shop_id, price, sort, service), /view_product_information and /get_product_raw (product_ids,
comma separated) answer JSON lists with sorted keys; /health and / answer as the original does. Of a repeated parameter
the first counts. A query that comes encoded twice is decoded once, as there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response

    from tracemill.environment.backend import CatalogBackend

SEARCH_ARGUMENTS = ("q", "page", "shop_id", "price", "sort", "service")
MAX_IDS = 1_000
"""Most products answered in one reply; further ids of a request are passed over."""


def make_app(catalog: CatalogBackend) -> FastAPI:
    """Return the web application that serves this catalogue."""
    from fastapi import FastAPI
    from starlette.routing import Route

    app = FastAPI(title="tracemill catalogue", docs_url=None, redoc_url=None, openapi_url=None)

    def find_product(request: Request) -> Response:
        return _reply(catalog.find_product(**{name: _first(request, name) for name in SEARCH_ARGUMENTS}))

    def view_product_information(request: Request) -> Response:
        product_ids = _first(request, "product_ids")
        if product_ids is None:
            return _reply({"error": "product_ids is missing: one or more ids, comma separated"}, 400)
        return _reply(catalog.view_product_information(_bounded(product_ids)))

    def get_product_raw(request: Request) -> Response:
        wanted = _bounded(_first(request, "product_ids") or "").split(",")
        found = catalog.get_products_raw(wanted)
        return _reply([found[product_id] for product_id in wanted if product_id in found])

    def health(_: Request) -> Response:
        return _reply({"status": "healthy", "service": "search-server"})

    def usage(_: Request) -> Response:
        arguments = ",".join(SEARCH_ARGUMENTS)
        return _reply({"/find_product": arguments, "/view_product_information": "product_ids"})

    app.router.routes += [
        Route("/", usage),
        Route("/health", health),
        Route("/find_product", find_product),
        Route("/view_product_information", view_product_information),
        Route("/get_product_raw", get_product_raw),
    ]
    return app


def serve(catalog: CatalogBackend, host: str, port: int) -> None:
    """Serve the catalogue until interrupted."""
    import uvicorn

    uvicorn.run(make_app(catalog), host=host, port=port, log_level="warning", access_log=False)


def _first(request: Request, name: str) -> str | None:
    values = request.query_params.getlist(name)
    return values[0] if values else None


def _bounded(product_ids: str) -> str:
    return ",".join(product_ids.split(",", MAX_IDS)[:MAX_IDS])


def _reply(value: Any, status: int = 200) -> Response:
    from fastapi import Response

    return Response(orjson.dumps(value, option=orjson.OPT_SORT_KEYS), status, media_type="application/json")
