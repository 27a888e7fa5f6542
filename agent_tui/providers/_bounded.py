"""Bounds what an SDK reads whole of an answer: the start of an error, a list or a count of a size that can be true."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import httpx2

from agent_tui.providers._sse import MAX_EVENT_BYTES, TooLarge

ERROR_BYTES = 1024 * 1024
ERROR_S = 10.0


async def bound(response: httpx2.Response) -> None:
    """Bound the body of an answer before it is read; a hook for the responses of a client.

    An error ends after 1 MiB or 10 s: its start says enough. What was asked for and comes whole raises TooLarge
    beyond 64 MiB. Sizes are those of the unpacked body. Streamed replies are left as they are: who reads them counts.
    """
    comes_whole = (
        response.request.method == "GET" or "json" in response.headers.get("content-type", "").lower()
    )
    if response.is_success and not comes_whole:
        return
    packed = httpx2.Response(response.status_code, headers=response.headers, stream=response.stream)
    response.headers.pop("content-encoding", None)
    response.stream = _Whole(packed) if response.is_success else _Start(packed)


class _Start(httpx2.AsyncByteStream):
    """The first bytes of a body, unpacked."""

    def __init__(self, packed: httpx2.Response) -> None:
        self._packed = packed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield await self._read()

    async def _read(self) -> bytes:
        body = bytearray()
        try:
            async with asyncio.timeout(ERROR_S), aclosing(self._packed.aiter_bytes()) as chunks:
                async for chunk in chunks:
                    body += chunk
                    if len(body) >= ERROR_BYTES:
                        break
        except TimeoutError:
            pass  # what came by then is what the server said
        return bytes(body[:ERROR_BYTES])

    async def aclose(self) -> None:
        await self._packed.aclose()


class _Whole(httpx2.AsyncByteStream):
    """A body, unpacked, up to its limit."""

    def __init__(self, packed: httpx2.Response) -> None:
        self._packed = packed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async with aclosing(self._packed.aiter_bytes()) as chunks:
            async for chunk in chunks:
                size += len(chunk)
                if size > MAX_EVENT_BYTES:
                    raise TooLarge("a body is larger than 64 MiB")
                yield chunk

    async def aclose(self) -> None:
        await self._packed.aclose()
