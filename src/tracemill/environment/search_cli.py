"""Commands `search` and `serve-catalog`: the catalogue at the console and over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracemill.terminal import printable

if TYPE_CHECKING:
    from tracemill.environment.backend import CatalogBackend

CatalogOption = Annotated[
    Path, typer.Option("--catalog", help="Catalogue file (.jsonl, .gz, .zst) or index folder.", metavar="PATH")
]
TwiceOption = Annotated[
    bool, typer.Option("--twice-encoded", help="Encode the query twice, as SN15's template agent does.")
]


def register_search(app: typer.Typer) -> None:
    """Add the commands to the console command."""
    app.command("search")(search)
    app.command("serve-catalog")(serve_catalog)


def open_catalog(path: Path) -> CatalogBackend:
    """Open an index folder, or index a catalogue file into a temporary folder that is gone at once.

    Raises InputError when the path is neither.
    """
    import tempfile

    from tracemill.environment.index import build_index, open_index
    from tracemill.environment.products import read_products

    if path.is_dir():
        return open_index(path)
    with tempfile.TemporaryDirectory(prefix="tracemill-") as folder:
        index = Path(folder) / "index"
        build_index(read_products(path), index)
        return open_index(index)  # what is mapped stays: nothing is left behind, however the process ends


def search(
    query: Annotated[str, typer.Argument(help="Words to search for.")],
    catalog: CatalogOption,
    page: Annotated[str, typer.Option(help="Page, 1 to 5.")] = "1",
    price: Annotated[str | None, typer.Option(help="Price range such as 0-100 or 1000-.")] = None,
    sort: Annotated[str | None, typer.Option(help="priceasc, pricedesc or order (units sold).")] = None,
    service: Annotated[
        str | None, typer.Option(help="Comma separated: official, freeShipping, COD, flashsale.")
    ] = None,
    shop_id: Annotated[str | None, typer.Option("--shop-id", help="Only this shop.")] = None,
    twice_encoded: TwiceOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what the server would send.")] = False,
) -> None:
    """Search a catalogue as the arena's search server does."""
    from tracemill.environment.backend import TwiceEncoded

    backend = open_catalog(catalog)
    asked: CatalogBackend = TwiceEncoded(backend) if twice_encoded else backend
    found = asked.find_product(query, page, shop_id, price, sort, service)
    if as_json:
        import orjson

        typer.echo(orjson.dumps(found, option=orjson.OPT_SORT_KEYS).decode())
        return
    for product in found:
        typer.echo(_line(product))
    if not found:
        typer.echo("no product matches", err=True)


def serve_catalog(
    catalog: CatalogOption,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen at.", min=1, max=65535)] = 5632,
) -> None:
    """Serve a catalogue in the protocol of SN15's search server, until interrupted."""
    from tracemill.environment.server import serve

    backend = open_catalog(catalog)
    typer.echo(f"serving {catalog} at http://{host}:{port}", err=True)
    serve(backend, host, port)


def _line(product: dict[str, Any]) -> str:
    title = " ".join(printable(str(product["title"])).split())
    services = product["service"]
    offered = ",".join(map(str, services)) if isinstance(services, list) else str(services)
    return printable(f"{product['product_id']}  {product['price']}  shop {product['shop_id']}  [{offered}]  {title}")
