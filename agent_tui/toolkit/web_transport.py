"""Sends one HTTP request to an address that was checked, and reads the answer within its limits."""

import ssl
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_tui.protocol.errors import ToolError
from agent_tui.toolkit.web_address import WebUrl

if TYPE_CHECKING:
    import httpx

BODY_LIMIT_BYTES = 5 << 20
CONNECT_TIMEOUT_S = 10.0
_NO_BODY = {204, 205}


@dataclass(frozen=True)
class RawResponse:
    """An answer: header names are lower case, `body` is decompressed, at most 5 MiB."""

    status: int
    headers: Mapping[str, str]
    body: bytes


async def send(
    url: WebUrl,
    addresses: Sequence[str],
    *,
    method: str,
    headers: Mapping[str, str],
    body: bytes = b"",
    tls: ssl.SSLContext,
) -> RawResponse:
    """Send a request to the first of `addresses` that answers; the name is only used for Host and TLS.

    No redirect is followed, no proxy and no variable of the environment is used. Raises ToolError.
    """
    import httpx  # 60 ms, only needed once something is fetched

    request_headers = {"accept-encoding": "gzip, deflate", "host": _host_header(url), **headers}
    transport = httpx.AsyncHTTPTransport(
        verify=tls, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0)
    )
    failure: Exception | None = None
    async with transport:
        for address in addresses:
            request = httpx.Request(
                method,
                httpx.URL(url.text).copy_with(host=address),
                headers=request_headers,
                content=body or None,
                extensions={"sni_hostname": url.host, "timeout": {"connect": CONNECT_TIMEOUT_S}},
            )
            try:
                async with _opened(transport, request) as response:
                    return await _read(response)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                failure = error
            except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
                raise ToolError(f"{url.text} could not be read: {_reason(error)}") from error
    raise ToolError(f"{url.host} does not answer: {_reason(failure)}") from failure


def _host_header(url: WebUrl) -> str:
    shown = f"[{url.host}]" if ":" in url.host else url.host
    return shown if url.port == (443 if url.scheme == "https" else 80) else f"{shown}:{url.port}"


def _reason(error: Exception | None) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


@asynccontextmanager
async def _opened(
    transport: "httpx.AsyncHTTPTransport", request: "httpx.Request"
) -> "AsyncGenerator[httpx.Response]":
    """Give the response of a request; its connection is closed at the end."""
    response = await transport.handle_async_request(request)
    try:
        yield response
    finally:
        await response.aclose()


async def _read(response: "httpx.Response") -> RawResponse:
    headers = {name.lower(): value for name, value in response.headers.items()}
    if 300 <= response.status_code < 400 or response.status_code in _NO_BODY:
        return RawResponse(response.status_code, headers, b"")
    length = headers.get("content-length", "")
    if length.isdigit() and int(length) > BODY_LIMIT_BYTES:
        raise ToolError(f"The response has {int(length):,} bytes, the limit is {BODY_LIMIT_BYTES:,}.")
    unpack = _Unpacker(headers.get("content-encoding", ""))
    return RawResponse(response.status_code, headers, await _limited(response.aiter_raw(), unpack))


async def _limited(chunks: AsyncIterator[bytes], unpack: "_Unpacker") -> bytes:
    """Collect and unpack the body. Raises ToolError once either size is over the limit."""
    body = bytearray()
    wire_bytes = 0
    async for chunk in chunks:
        wire_bytes += len(chunk)
        body += unpack.feed(chunk, room=BODY_LIMIT_BYTES + 1 - len(body))
        if wire_bytes > BODY_LIMIT_BYTES or len(body) > BODY_LIMIT_BYTES:
            raise ToolError(
                f"The response is larger than the limit of {BODY_LIMIT_BYTES:,} bytes; it was not read."
            )
    return bytes(body)


class _Unpacker:
    """Undoes gzip or deflate without ever making more than is asked for."""

    def __init__(self, encoding: str) -> None:
        name = encoding.strip().lower()
        if name not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise ToolError(f"The response is packed as {encoding!r}, which is not supported.")
        self._is_packed = name not in ("", "identity")
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
        self._is_first = True

    def feed(self, chunk: bytes, *, room: int) -> bytes:
        if not self._is_packed:
            return chunk
        try:
            return self._inflate.decompress(chunk, room) if room > 0 else b""
        except zlib.error as error:
            if self._is_first:  # some servers send deflate without its header
                self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
                self._is_first = False
                return self.feed(chunk, room=room)
            raise ToolError(f"The response is damaged: {error}.") from error
        finally:
            self._is_first = False
