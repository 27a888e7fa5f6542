"""The guarded web client: checks every hop, follows redirects on one host, remembers pages for a quarter of an hour."""

import asyncio
import os
import re
import ssl
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urljoin

from agent_tui import __version__
from agent_tui.protocol.addresses import AddressPolicy, Resolver, is_public, resolve
from agent_tui.protocol.errors import ToolError
from agent_tui.toolkit.context import FetchedPage
from agent_tui.toolkit.web_address import WebUrl, allowed_addresses, check_url
from agent_tui.toolkit.web_transport import RawResponse, send

CACHE_S = 15 * 60
CACHE_LIMIT_BYTES = 32 << 20
REDIRECT_LIMIT = 5
MAX_TIMEOUT_S = 120.0
LOOKUP_LIMIT_S = 5.0
# A key goes nowhere but to its own service; a search address of one's own is the person's choice, wherever it is.
KEY_HOSTS: Mapping[str, str] = {
    "EXA_API_KEY": "api.exa.ai",
    "BRAVE_API_KEY": "api.search.brave.com",
    "TAVILY_API_KEY": "api.tavily.com",
}
URL_VARIABLE = "SEARXNG_URL"
_PLACEHOLDER = re.compile(r"\$\{([A-Z_]+)\}")
_AGENT = f"agent-tui/{__version__}"


class NotConfigured(ToolError):
    """A variable that a search service needs is not set; nothing was sent."""


@dataclass(frozen=True)
class _Cached:
    page: FetchedPage
    at: float


@dataclass(frozen=True)
class _Shown:
    addresses: tuple[str, ...]
    at: float


class WebClient:
    """Fetches for the web tools. `resolver` and `allows` can be replaced, for tests on loopback.

    `variables` holds the keys of search services, by default the environment. Implements `toolkit.context.Web`.
    """

    def __init__(
        self,
        *,
        resolver: Resolver = resolve,
        allows: AddressPolicy = is_public,
        variables: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._resolver = resolver
        self._allows = allows
        self._variables = os.environ if variables is None else variables
        self._clock = clock
        self._tls = tls
        self._cache: OrderedDict[str, _Cached] = OrderedDict()
        self._shown: dict[tuple[str, int], _Shown] = {}

    async def addresses(self, url: str) -> Sequence[str]:
        """Give the addresses of the host, which `get` dials for a quarter of an hour. Raises ToolError."""
        checked = check_url(url)
        try:
            async with asyncio.timeout(LOOKUP_LIMIT_S):
                found = await allowed_addresses(checked, resolver=self._resolver, allows=self._allows)
        except TimeoutError as error:
            raise ToolError(
                f"The host {checked.host!r} was not found within {LOOKUP_LIMIT_S:g} s."
            ) from error
        self._shown[checked.host, checked.port] = _Shown(tuple(found), self._clock())
        return found

    async def _dialled(self, url: WebUrl, allows: AddressPolicy) -> Sequence[str]:
        """Give the addresses a person was shown, else look them up. Raises ToolError."""
        shown = self._shown.get((url.host, url.port))
        if shown is not None and self._clock() - shown.at < CACHE_S:
            return shown.addresses
        return await allowed_addresses(url, resolver=self._resolver, allows=allows)

    async def get(self, url: str, *, timeout_s: float) -> FetchedPage:
        """Fetch a page by GET. A redirect to another host is not followed: `status` is 3xx and `url` where it leads.

        The time covers everything, name lookup included. Raises ToolError.
        """
        checked = check_url(url)
        known = self._cache.get(checked.text)
        if known is not None and self._clock() - known.at < CACHE_S:
            return known.page.model_copy(update={"from_cache": True})
        limit_s = min(timeout_s, MAX_TIMEOUT_S)
        try:
            async with asyncio.timeout(limit_s):
                page = await self._follow(checked)
        except TimeoutError as error:
            raise ToolError(f"{url} did not answer in full within {limit_s:g} s.") from error
        if page.status == 200:
            self._remember(checked.text, page)
        return page

    async def post_json(
        self, url: str, *, body: str, headers: Sequence[tuple[str, str]], timeout_s: float
    ) -> str:
        """Send `body` to a configured search service and give the response; an empty body makes it a GET.

        `${NAME}` in a header or at the start of `url` stands for a variable. Raises NotConfigured before anything
        is sent when it is not set, else ToolError.
        """
        own_server = url.startswith(f"${{{URL_VARIABLE}}}")
        checked = check_url(self._filled(url, host=""))
        filled = {name: self._filled(value, host=checked.host) for name, value in headers}
        try:
            async with asyncio.timeout(min(timeout_s, MAX_TIMEOUT_S)):
                response = await self._send(
                    checked,
                    method="POST" if body else "GET",
                    headers={"accept": "application/json", "content-type": "application/json", **filled},
                    body=body.encode("utf-8"),
                    allows=_anywhere if own_server else self._allows,
                )
        except TimeoutError as error:
            raise ToolError(f"{checked.host} did not answer within {timeout_s:g} s.") from error
        if not 200 <= response.status < 300:
            raise ToolError(_refused(checked.host, response))
        return response.body.decode("utf-8", "replace")

    def _filled(self, text: str, *, host: str) -> str:
        """Put variables in. Raises NotConfigured; ToolError when a key would go to another host than its own."""

        def value(found: re.Match[str]) -> str:
            name = found[1]
            if name != URL_VARIABLE and KEY_HOSTS.get(name) != host:
                raise ToolError(f"{name} is not sent to {host or 'this address'}.")
            stored = self._variables.get(name, "").strip()
            if not stored:
                raise NotConfigured(f"{name} is not set.")
            return stored.rstrip("/") if name == URL_VARIABLE else stored

        return _PLACEHOLDER.sub(value, text)

    async def _follow(self, url: WebUrl) -> FetchedPage:
        """Fetch `url` and what it redirects to on the same host."""
        here = url
        for _ in range(REDIRECT_LIMIT + 1):
            response = await self._send(
                here, method="GET", headers={"accept": "text/html, text/*;q=0.9, */*;q=0.5"}
            )
            if not 300 <= response.status < 400:
                return _page(here, response)
            location = response.headers.get("location", "").strip()
            if response.status == 304 or not location:
                raise ToolError(
                    f"{here.text} answered with status {response.status}, neither a page nor the place of one; "
                    "try another URL of it."
                )
            target = check_url(urljoin(here.text, location))
            if not _is_same_place(here, target):
                return FetchedPage(
                    url=target.text, status=response.status, content_type="", charset="", body=b""
                )
            here = target
        raise ToolError(f"{url.text} redirects more than {REDIRECT_LIMIT} times.")

    async def _send(
        self,
        url: WebUrl,
        *,
        method: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        allows: AddressPolicy | None = None,
    ) -> RawResponse:
        addresses = await self._dialled(url, allows or self._allows)
        tls = self._tls = self._tls or await asyncio.to_thread(_default_tls)
        return await send(
            url, addresses, method=method, headers={"user-agent": _AGENT, **headers}, body=body, tls=tls
        )

    def _remember(self, url: str, page: FetchedPage) -> None:
        self._cache.pop(url, None)
        self._cache[url] = _Cached(page, self._clock())
        while sum(len(entry.page.body) for entry in self._cache.values()) > CACHE_LIMIT_BYTES:
            self._cache.popitem(last=False)


def _anywhere(_address: object) -> bool:
    return True


def _is_same_place(here: WebUrl, target: WebUrl) -> bool:
    """Tell whether a redirect stays on its host; the step up to https counts as staying, the step down does not."""
    if here.host != target.host:
        return False
    upgrade = (here.scheme, here.port, target.scheme, target.port) == ("http", 80, "https", 443)
    return upgrade or (here.scheme, here.port) == (target.scheme, target.port)


def _page(url: WebUrl, response: RawResponse) -> FetchedPage:
    content_type, _, parameters = response.headers.get("content-type", "").partition(";")
    found = re.search(r"charset\s*=\s*[\"']?([^\s\"';]+)", parameters, re.IGNORECASE)
    return FetchedPage(
        url=url.text,
        status=response.status,
        content_type=content_type.strip().lower(),
        charset=found[1] if found else "",
        body=response.body,
    )


def _refused(host: str, response: RawResponse) -> str:
    excerpt = " ".join(response.body[:2_000].decode("utf-8", "replace").split())[:300]
    hint = "; check its key" if response.status in (401, 403) else ""
    return f"{host} answered with status {response.status}{hint}. {excerpt}".strip()


def _default_tls() -> ssl.SSLContext:
    import httpx  # 60 ms, only needed once something is fetched

    return httpx.create_ssl_context()
