"""Carries messages over streamable HTTP, and over SSE for old servers, with bounded answers."""

from collections.abc import AsyncIterator

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from agent_tui.extensions.lines import MAX_LINE_BYTES
from agent_tui.extensions.log import ServerLog
from agent_tui.extensions.mcp.faults import ServerFault
from agent_tui.extensions.mcp.spec import ServerSpec
from agent_tui.extensions.mcp.stdio import Serve

CONNECT_S = 30.0
SILENCE_S = 300.0
FALLS_BACK = frozenset({400, 404, 405})
"""What a server that only knows the old SSE transport answers to the new one."""


class HttpServer:
    """The way to one server over HTTP. `status` is that of its last answer, 0 before the first.

    `auth` signs in to it; its own requests, marked `aside`, do not count as the server's.
    """

    def __init__(
        self, spec: ServerSpec, log: ServerLog, *, auth: httpx2.Auth | None = None, aside: str = ""
    ) -> None:
        self._auth, self._aside = auth, aside
        self.status = 0
        self.ended = ""
        self._spec = spec
        self._log = log

    @property
    def signs_in(self) -> bool:
        """Whether its requests carry a sign-in, whose failure ends the connection."""
        return self._auth is not None

    async def run(self, serve: Serve) -> None:
        """Call `serve` with the streams of a session and end the session when it returns."""
        if self._spec.transport == "sse":
            await self._run_sse(serve)
            return
        async with (
            self._client() as client,
            streamable_http_client(
                self._spec.url, http_client=client, max_sse_event_size=MAX_LINE_BYTES
            ) as streams,
        ):
            await serve(*streams)

    async def _run_sse(self, serve: Serve) -> None:
        def factory(
            headers: dict[str, str] | None = None,
            timeout: httpx2.Timeout | None = None,
            auth: httpx2.Auth | None = None,
        ) -> httpx2.AsyncClient:
            return self._client()

        async with sse_client(self._spec.url, httpx_client_factory=factory) as streams:
            await serve(*streams)

    def _client(self) -> httpx2.AsyncClient:
        # A compressed answer of some KiB can unfold to gigabytes: none is asked for and none is taken.
        headers = {"Accept-Encoding": "identity", **self._spec.headers}
        return httpx2.AsyncClient(
            headers=headers,
            auth=self._auth,
            timeout=httpx2.Timeout(CONNECT_S, read=SILENCE_S),
            event_hooks={"response": [self._look_at]},
        )

    async def _look_at(self, response: httpx2.Response) -> None:
        """Note the status of an answer and bound what is read of it. Raises ServerFault."""
        aside = self._aside in response.request.extensions
        if not aside and (response.request.method == "POST" or response.status_code != 405):
            self.status = response.status_code
        if response.status_code >= 400 and not aside:
            self._log.add("state", f"HTTP {response.status_code} for {response.request.method}")
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise ServerFault("sends compressed answers, which are not taken")
        if not self._is_events(response, aside=aside) and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Bounded(response.stream)

    def _is_events(self, response: httpx2.Response, *, aside: bool) -> bool:
        """Tell whether an answer is read event by event, which are bounded each; all others are read whole."""
        if aside or not response.is_success:
            return False
        if self._spec.transport == "sse" and response.request.method == "POST":
            return False
        return response.headers.get("content-type", "").lower().startswith("text/event-stream")


class _Bounded(httpx2.AsyncByteStream):
    """The body of an answer, at most 16 MiB of it."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > MAX_LINE_BYTES:
                raise httpx2.StreamError(f"the answer has more than {MAX_LINE_BYTES:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
