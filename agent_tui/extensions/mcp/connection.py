"""One live session with a server: the handshake, listing with pages, calls with progress and cancellation."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol, cast

import anyio.abc
import httpx2
import mcp_types as types
from mcp.client import ClientSession
from mcp.client.auth import OAuthFlowError
from mcp.shared.dispatcher import CallOptions, OnNotify, OnNotifyIntercept, OnRequest
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from pydantic import JsonValue, ValidationError

from agent_tui import __version__
from agent_tui.extensions.log import ServerLog
from agent_tui.extensions.mcp.aside import ASIDE
from agent_tui.extensions.mcp.faults import ConnectionGone, RequestFailed, ServerFault, leaves
from agent_tui.extensions.mcp.host import Host
from agent_tui.extensions.mcp.http import FALLS_BACK, HttpServer
from agent_tui.extensions.mcp.sign_in import needs_login, sign_in_fault
from agent_tui.extensions.mcp.spec import ServerSpec
from agent_tui.extensions.mcp.stdio import ReadStream, StdioServer, WriteStream
from agent_tui.extensions.plain import one_line
from agent_tui.protocol.data import JsonObject

MAX_PAGES = 100
MAX_ENTRIES = 20_000
Way = StdioServer | HttpServer


@dataclass(frozen=True)
class Listing:
    """What a paged list came to; `warning` is "" unless it was cut."""

    entries: tuple[JsonValue, ...]
    warning: str = ""


class Progress(Protocol):
    """Hears how far a call is."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None: ...


class Dispatcher(JSONRPCDispatcher):
    """The SDK's dispatcher, which also tells when the connection is over."""

    def __init__(
        self, read_stream: ReadStream, write_stream: WriteStream, *, on_closed: Callable[[], None]
    ) -> None:
        super().__init__(read_stream, write_stream)
        self.is_closed = False
        self._on_closed = on_closed

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Run the receive loop until the connection ends."""
        try:
            await super().run(on_request, on_notify, on_notify_intercept, task_status=task_status)
        finally:
            self.close()

    def close(self) -> None:
        """Tell that no more answers will come."""
        if not self.is_closed:
            self.is_closed = True
            self._on_closed()


class Connection:
    """A session after its handshake. Requests may be made from any task of the loop."""

    def __init__(self, session: ClientSession, dispatcher: Dispatcher, way: Way) -> None:
        self._session = session
        self._dispatcher = dispatcher
        self._way = way

    @property
    def is_closed(self) -> bool:
        """Whether the connection is over."""
        return self._dispatcher.is_closed

    @property
    def version(self) -> str:
        """The protocol version that was agreed on."""
        return self._session.protocol_version or ""

    @property
    def title(self) -> str:
        """What the server calls itself, with its version."""
        info = self._session.server_info
        return one_line(f"{info.title or info.name} {info.version}", limit_chars=80) if info else ""

    async def ping(self) -> None:
        """Ask for a sign of life. Raises RequestFailed and ConnectionGone."""
        await self.request("ping", None)

    async def list_all(self, method: str, key: str) -> Listing:
        """Read all pages of a list. A cursor that stands still or more than 100 pages end it with a warning.

        A server that does not know the method has none. Raises RequestFailed and ConnectionGone.
        """
        entries: list[JsonValue] = []
        seen: set[str] = set()
        cursor = ""
        for _ in range(MAX_PAGES):
            try:
                page = await self.request(method, {"cursor": cursor} if cursor else None)
            except RequestFailed as error:
                if error.code == types.METHOD_NOT_FOUND and not seen:
                    return Listing(())
                raise
            found = page.get(key)
            new = (
                [entry for entry in found if entry not in entries[-1_000:]] if isinstance(found, list) else []
            )
            entries += new
            following = page.get("nextCursor")
            if not isinstance(following, str) or not following:
                return Listing(tuple(entries))
            if following in seen or len(entries) > MAX_ENTRIES:
                break
            seen.add(following)
            cursor = following
        return Listing(
            tuple(entries[:MAX_ENTRIES]), f"{method} never ends; {len(entries):,} entries were taken"
        )

    async def call(self, tool: str, arguments: JsonObject, progress: Progress) -> JsonObject:
        """Call a tool and give the raw result. Cancelling tells the server. Raises RequestFailed and ConnectionGone."""
        return await self.request("tools/call", {"name": tool, "arguments": arguments}, progress=progress)

    async def request(
        self, method: str, params: JsonObject | None, *, progress: Progress | None = None
    ) -> JsonObject:
        """Send a request and give the raw result. Raises RequestFailed and ConnectionGone."""
        options: CallOptions = {"headers": {MCP_PROTOCOL_VERSION_HEADER: self.version}}
        if progress is not None:
            options["on_progress"] = progress
        try:
            answer = await self._dispatcher.send_raw_request(method, params, options)
        except MCPError as error:
            raise self._failure(error) from error
        return cast("JsonObject", answer)

    def _failure(self, error: MCPError) -> Exception:
        status = self._way.status if isinstance(self._way, HttpServer) else 0
        signs_in = isinstance(self._way, HttpServer) and self._way.signs_in
        if error.code == types.CONNECTION_CLOSED and (not status or signs_in):
            return ConnectionGone(error.message)
        if status == 404:
            self._way.ended = "ended the session"
            self._dispatcher.close()  # a new session must be opened
            return ConnectionGone(self._way.ended)
        words = one_line(error.message, limit_chars=2_000) or "no reason given"
        return RequestFailed(f"{words} (HTTP {status})" if status >= 400 else words, code=error.code)


def quiet_libraries() -> None:
    """Let the SDK and its HTTP library log nothing: their records hold codes, tokens and what servers said."""
    for name in ("mcp", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


async def reach(
    spec: ServerSpec,
    *,
    host: Host,
    log: ServerLog,
    auth: httpx2.Auth | None,
    interactive: bool,
    on_closed: Callable[[], None],
    live: Callable[[Connection], Awaitable[None]],
) -> None:
    """Connect like `connect`; a server that only knows the old SSE transport gets a second try. Raises ServerFault."""
    quiet_libraries()
    way = way_to(spec, host, log, auth)
    try:
        await connect(spec, way=way, host=host, interactive=interactive, on_closed=on_closed, live=live)
    except ServerFault as error:
        if not falls_back(error, spec):
            raise
        log.add("state", f"{error}; trying the old SSE transport")
        old = replace(spec, transport="sse")
        try:
            await reach(
                old, host=host, log=log, auth=auth, interactive=interactive, on_closed=on_closed, live=live
            )
        except ServerFault as second:
            raise (second if second.login else error) from second
    if way.ended:
        raise ServerFault(way.ended)


async def connect(
    spec: ServerSpec,
    *,
    way: Way,
    host: Host,
    interactive: bool,
    on_closed: Callable[[], None],
    live: Callable[[Connection], Awaitable[None]],
) -> None:
    """Connect, call `live` with the session, and take everything down when it returns.

    Raises ServerFault when there is no session to be had, or what `live` raises.
    """
    held: list[Exception] = []

    async def serve(read: ReadStream, write: WriteStream) -> None:
        dispatcher = Dispatcher(read, write, on_closed=on_closed)
        session = ClientSession(
            dispatcher=dispatcher,
            sampling_callback=host.sample if interactive and host.desk.sampler else None,
            elicitation_callback=host.elicit if interactive else None,
            list_roots_callback=host.roots,
            logging_callback=host.take_log,
            message_handler=host.notice,
            client_info=types.Implementation(name="agent-tui", version=__version__),
        )
        async with session:
            try:
                async with asyncio.timeout(spec.start_s):
                    await session.initialize()
                await live(Connection(session, dispatcher, way))
            except Exception as error:  # told when the transport is down: a task group would wrap it
                held.append(error)

    try:
        await way.run(serve)
    except* Exception as group:  # the SDK's transports raise whatever their HTTP library does
        held += [error for error in leaves(group) if isinstance(error, Exception)]
    if held:
        raise fault(held[0], spec, way) from held[0]


def fault(error: Exception, spec: ServerSpec, way: Way) -> ServerFault:
    """Say in words why there is no session."""
    if isinstance(error, ServerFault):
        return error
    if isinstance(error, OAuthFlowError):
        return sign_in_fault(error, by_person=spec.signs_in)
    status = way.status if isinstance(way, HttpServer) else 0
    if status == 401 and spec.signs_in:
        return needs_login(spec)
    if status in (401, 403) and spec.oauth.grant != "authorization_code":
        return ServerFault(f"HTTP {status}: it did not take the token", lasting=True, status=status)
    if status in (401, 403):
        return ServerFault(
            f"HTTP {status}: it wants to know who asks; set its headers", lasting=True, status=status
        )
    if status >= 400:
        return ServerFault(f"answered with HTTP {status}", lasting=status < 500, status=status)
    if isinstance(error, TimeoutError):
        return ServerFault(f"did not answer within {spec.start_s:g} s")
    if isinstance(error, MCPError) and error.code == types.CONNECTION_CLOSED:
        return ServerFault(way.ended or "closed the connection")
    if isinstance(error, ValidationError):
        return ServerFault("its answer to the handshake is not what the protocol says")
    words = one_line(str(error), limit_chars=200) or type(error).__name__
    return ServerFault(words)


def way_to(spec: ServerSpec, host: Host, log: ServerLog, auth: httpx2.Auth | None = None) -> Way:
    """Choose the transport."""
    if spec.transport == "stdio":
        return StdioServer(spec, host.desk.roots[0], log)
    return HttpServer(spec, log, auth=auth, aside=ASIDE)


def falls_back(error: ServerFault, spec: ServerSpec) -> bool:
    """Tell whether the server may only know the old SSE transport."""
    return spec.transport == "http" and error.status in FALLS_BACK
