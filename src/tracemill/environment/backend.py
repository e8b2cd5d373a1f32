"""What an episode needs of a catalogue, whichever process holds it: search, product pages, full documents.

Two things satisfy `CatalogBackend`: the embedded index (`environment.index.open_index`) and `HttpCatalog`, a client
of SN15's search server or of `tracemill serve-catalog`, which speaks the same protocol. Arguments are those of the
server's query string: text, where a missing argument is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol
from urllib.parse import quote_plus

from tracemill.environment.search import read_search
from tracemill.errors import InputError

DEFAULT_TIMEOUT_SECONDS = 120.0
CONNECT_RETRIES = 2
IDS_PER_REQUEST = 100
MAX_ID_CHARACTERS = 200
"""Longer ids are not asked for over HTTP: no catalogue has them, and an address must end somewhere."""
MAX_QUERY_CHARACTERS = 8_000
"""A longer query answers nothing over HTTP, where servers limit the length of an address."""


class CatalogBackend(Protocol):
    """A catalogue of products that can be searched, shown and looked up."""

    def find_product(
        self,
        q: str | None = "",
        page: str | None = "1",
        shop_id: str | None = None,
        price: str | None = None,
        sort: str | None = None,
        service: str | None = None,
    ) -> list[dict[str, Any]]:
        """Return one page of at most ten products, best first.

        Each has product_id, shop_id, title, price, service and sold_count.
        """

    def view_product_information(self, product_ids: str) -> list[dict[str, Any]]:
        """Return the pages of the products named (comma separated), in that order; unknown ids are left out."""

    def get_product_raw(self, product_id: str) -> dict[str, Any] | None:
        """Return the full document of one product, None where there is none."""

    def get_products_raw(self, product_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the full documents of those products that exist, by id."""


class HttpCatalog:
    """Client of a search server that speaks SN15's protocol.

    It asks GET /find_product, /view_product_information and /get_product_raw, the latter two with `product_ids`.
    """

    def __init__(self, url: str, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS) -> None:
        import httpx

        self.url = url.rstrip("/")
        transport = httpx.HTTPTransport(retries=CONNECT_RETRIES)
        self._client = httpx.Client(timeout=timeout_seconds, trust_env=False, transport=transport)

    def __enter__(self) -> HttpCatalog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def find_product(
        self,
        q: str | None = "",
        page: str | None = "1",
        shop_id: str | None = None,
        price: str | None = None,
        sort: str | None = None,
        service: str | None = None,
    ) -> list[dict[str, Any]]:
        """Return what the server answers to this search; arguments that break it are not sent and answer nothing.

        Raises InputError when the server cannot be reached or answers with an error or with something else than a list.
        """
        if read_search(q, page, shop_id, price, sort, service) is None or len(q or "") > MAX_QUERY_CHARACTERS:
            return []
        return self._get(
            "/find_product",
            {"q": q, "page": page, "shop_id": shop_id, "price": price, "sort": sort, "service": service},
        )

    def view_product_information(self, product_ids: str) -> list[dict[str, Any]]:
        """Return the product pages that the server shows; raises InputError as `find_product` does."""
        pages: list[dict[str, Any]] = []
        for batch in _batches(product_ids.split(",")):
            pages += self._get("/view_product_information", {"product_ids": batch})
        return pages

    def get_product_raw(self, product_id: str) -> dict[str, Any] | None:
        """Return one full document, None where the server has none; raises InputError as `find_product` does."""
        return self.get_products_raw([product_id]).get(product_id)

    def get_products_raw(self, product_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the full documents by id, a hundred ids a request; raises InputError as `find_product` does."""
        wanted = [i for i in dict.fromkeys(product_ids) if "," not in i]
        found: dict[str, dict[str, Any]] = {}
        for batch in _batches(wanted):
            for product in self._get("/get_product_raw", {"product_ids": batch}):
                found[str(product.get("product_id"))] = product
        return {i: found[i] for i in wanted if i in found}

    def _get(self, path: str, arguments: dict[str, str | None]) -> list[dict[str, Any]]:
        import httpx

        given = {
            key: value.encode("utf-8", "replace").decode() for key, value in arguments.items() if value is not None
        }
        where = f"{self.url}{path}"
        try:
            response = self._client.get(where, params=given)
            response.raise_for_status()
            answer = response.json()
        except httpx.HTTPStatusError as error:
            raise InputError(
                f"{where}: status {error.response.status_code}, expected 200; look at the search server's log"
            ) from error
        except (httpx.HTTPError, UnicodeError) as error:
            raise InputError(f"{where}: no answer ({error}); is the search server running at this address?") from error
        except ValueError as error:
            raise InputError(f"{where}: the answer is no JSON ({error}); expected SN15's search server") from error
        if not isinstance(answer, list) or not all(isinstance(product, dict) for product in answer):
            raise InputError(f"{where}: answered {type(answer).__name__}, expected a list of objects")
        return answer


def _batches(product_ids: Sequence[str]) -> Iterator[str]:
    """Yield the ids that a catalogue may have, comma separated, a request's worth at a time."""
    sent = [i for i in product_ids if 0 < len(i) <= MAX_ID_CHARACTERS]
    for start in range(0, len(sent), IDS_PER_REQUEST):
        yield ",".join(sent[start : start + IDS_PER_REQUEST])


class TwiceEncoded:
    """A catalogue asked as SN15's template agent asks: the query is percent-encoded once more than it should be.

    The server then sees `women%27s` for `women's`, and finds by the words `women` and `27s`.
    """

    def __init__(self, catalog: CatalogBackend) -> None:
        self._catalog = catalog

    def find_product(
        self,
        q: str | None = "",
        page: str | None = "1",
        shop_id: str | None = None,
        price: str | None = None,
        sort: str | None = None,
        service: str | None = None,
    ) -> list[dict[str, Any]]:
        """Search for the encoded query."""
        encoded = None if q is None else quote_plus(q, errors="replace")
        return self._catalog.find_product(encoded, page, shop_id, price, sort, service)

    def view_product_information(self, product_ids: str) -> list[dict[str, Any]]:
        """Pass the call on as it is."""
        return self._catalog.view_product_information(product_ids)

    def get_product_raw(self, product_id: str) -> dict[str, Any] | None:
        """Pass the call on as it is."""
        return self._catalog.get_product_raw(product_id)

    def get_products_raw(self, product_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Pass the call on as it is."""
        return self._catalog.get_products_raw(product_ids)
