"""Keeps one server running: starts it in the background, lists its tools, restarts it, and calls it."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from agent_tui.extensions.log import ServerLog
from agent_tui.extensions.mcp.catalogue import Catalogue, McpTool, read_catalogue
from agent_tui.extensions.mcp.faults import ConnectionGone, RequestFailed, ServerFault
from agent_tui.extensions.mcp.guest import Desk
from agent_tui.extensions.mcp.pins import ChangedTool, PinStore
from agent_tui.extensions.mcp.spec import ServerSpec
from agent_tui.extensions.mcp.timer import CallTimer
from agent_tui.extensions.mcp.tokens import TokenBox
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.errors import ToolError

if TYPE_CHECKING:  # 0.4 s of CPU for the SDK: imported in a thread when the first server starts
    import httpx2

    from agent_tui.extensions.mcp.connection import Connection, Listing, Progress
    from agent_tui.extensions.mcp.host import Host

State = Literal["waiting", "starting", "ready", "restarting", "failed", "needs login", "off"]

RESTARTS = 5
FIRST_TRIES = 2
STEADY_AFTER_S = 60.0
MAX_DELAY_S = 30.0
WAIT_FOR_RESTART_S = 15.0
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pace:
    """How patient we are, in seconds.

    A server that ended starts again after `restart_s`, twice that, and so on. A list that changed is read again after
    `settle_s`, but at most every `calm_s`. A server that let a call run out of time has `ping_s` for a sign of life.
    """

    restart_s: float = 1.0
    settle_s: float = 0.3
    calm_s: float = 3.0
    ping_s: float = 5.0


@dataclass(frozen=True)
class Offer:
    """What a server offers now. `accepted` may be called, `changed` are switched off until a person accepts them."""

    accepted: tuple[McpTool, ...] = ()
    changed: tuple[ChangedTool, ...] = ()
    fresh: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class Server:
    """One configured server. `state` and `detail` say how it is; `generation` grows when its offer changes, 0 before the first.

    `legal_name` stands in the names of its tools; `on_change` is called when its state or offer changed.
    """

    def __init__(
        self,
        spec: ServerSpec,
        *,
        legal_name: str,
        desk: Desk,
        pins: PinStore,
        pin_key: str,
        box: TokenBox,
        on_change: Callable[[], None],
        pace: Pace,
    ) -> None:
        self.spec = spec
        self.legal_name = legal_name
        self.state: State = "waiting"
        self.detail = ""
        self.title = ""
        self.version = ""
        self.log = ServerLog()
        self.offer = Offer()
        self.generation = 0
        self.announced = 0  # how often it said that its prompts or resources changed
        self._listed: tuple[McpTool, ...] = ()
        self._desk = desk
        self._pins = pins
        self._pin_key = pin_key
        self._box = box
        self._on_change = on_change
        self._pace = pace
        self._connection: Connection | None = None
        self._nudge = asyncio.Event()
        self._stirred = asyncio.Condition()
        self._relist = self._suspect = self._again = False
        self._enabled = spec.enabled
        self._life = 0
        self._last_end = (0, "")  # which life ended last, and why
        self._listed_at = 0.0
        self._timers: set[CallTimer] = set()
        self._one_call = asyncio.Lock()

    # Its life.

    async def run(self) -> None:
        """Keep the server running until cancelled."""
        failures = 0
        while True:
            if self.spec.problem or not self._enabled:
                await self._become("failed" if self._enabled else "off", self.spec.problem)
                await self._until_wanted()
                failures = 0
                continue
            began = time.monotonic()
            self._life += 1
            fault = await self._live_once()
            _go_if_cancelled()
            self._last_end = (self._life, str(fault))
            steady = self._listed_at > began and time.monotonic() - began > STEADY_AFTER_S
            failures = 1 if steady else failures + 1
            if self._again or not self._enabled:
                self._again, failures = False, 0
                continue
            limit = RESTARTS if self._listed_at > began or failures > FIRST_TRIES + 1 else FIRST_TRIES
            if fault.lasting or failures > limit:
                await self._become("needs login" if fault.login else "failed", str(fault))
                await self._until_wanted()
                failures = 0
            else:
                await self._become("restarting", str(fault))
                await self._until_wanted(min(self._pace.restart_s * 2 ** (failures - 1), MAX_DELAY_S))

    async def _live_once(self) -> ServerFault:
        """Start, serve until the end, and say why it ended."""
        began = datetime.now()
        await self._become("starting", "")
        try:
            await self._live_over(self.spec)
        except ServerFault as error:
            return self._with_last_words(error, since=began)
        except Exception as error:  # foreign code (SDK, HTTP library, server): it costs this server only
            _LOG.warning("MCP server %s", self.spec.name, exc_info=True)
            return ServerFault(f"{type(error).__name__}: {error}")
        finally:
            self._connection = None
        return ServerFault("the connection ended")

    async def _live_over(self, spec: ServerSpec) -> None:
        """Connect, with the sign-in that is kept, and serve. Raises ServerFault."""
        await asyncio.to_thread(import_module, "agent_tui.extensions.mcp.connection")  # 0.4 s of CPU
        from agent_tui.extensions.mcp.connection import reach
        from agent_tui.extensions.mcp.host import Host

        host = Host(
            server=self.spec.name,
            desk=self._desk,
            log=self.log,
            waiting=self._hold_timers,
            lists_changed=self._lists_changed,
            in_call=lambda: bool(self._timers),
            others_changed=self._others_changed,
        )
        await reach(
            spec,
            host=host,
            log=self.log,
            auth=await self._auth(spec, host),
            interactive=self._desk.interactive,
            on_closed=self._nudge.set,
            live=self._serve,
        )

    async def _auth(self, spec: ServerSpec, host: "Host") -> "httpx2.Auth | None":
        """Give the sign-in that the settings hold, else that which a person did. Raises ServerFault."""
        if spec.oauth.grant == "authorization_code":
            from agent_tui.extensions.mcp.consent import visitor
            from agent_tui.extensions.mcp.sign_in import kept_sign_in

            return await kept_sign_in(spec, self._box, visitor(host))
        from agent_tui.extensions.mcp.credentials import standing_sign_in  # few have it

        return await standing_sign_in(spec, self._desk.roots[0])

    def _with_last_words(self, fault: ServerFault, *, since: datetime) -> ServerFault:
        said = self.log.last("stderr", since=since)
        words = f"{fault} ({' | '.join(said)})" if said else str(fault)
        return ServerFault(words, lasting=fault.lasting, status=fault.status, login=fault.login)

    async def _serve(self, connection: "Connection") -> None:
        """List the tools and look after the session until it ends. Raises ServerFault."""
        self.title, self.version = connection.title, connection.version
        async with asyncio.timeout(self.spec.start_s):
            await self._list(connection)
        self._connection = connection
        self._listed_at = time.monotonic()
        await self._become("ready", "")
        while not (connection.is_closed or self._again or not self._enabled):
            await self._nudge.wait()
            self._nudge.clear()
            if self._suspect:
                await self._check(connection)
            if self._relist and not connection.is_closed:
                await self._list_again(connection)

    async def _check(self, connection: "Connection") -> None:
        """Ask a server that let a call run out of time for a sign of life. Raises ServerFault."""
        self._suspect = False
        try:
            async with asyncio.timeout(self._pace.ping_s):
                await connection.ping()
        except TimeoutError as error:
            raise ServerFault("does not answer any more") from error
        except RequestFailed:
            pass  # an answer is a sign of life
        except ConnectionGone as error:
            raise ServerFault(str(error)) from error

    async def _list_again(self, connection: "Connection") -> None:
        """List anew after a pause, so that a burst of announcements costs one request."""
        rest_s = self._pace.calm_s - (time.monotonic() - self._listed_at)
        await asyncio.sleep(max(self._pace.settle_s, rest_s))
        self._relist = False
        try:
            async with asyncio.timeout(self.spec.start_s):
                await self._list(connection)
        except (RequestFailed, TimeoutError) as error:
            self.log.add("state", f"the tools cannot be listed again: {error}")
        except ConnectionGone:
            return
        self._listed_at = time.monotonic()
        await self._become("ready", "")

    async def _list(self, connection: "Connection") -> None:
        """Raises ServerFault, RequestFailed and ConnectionGone."""
        listing: Listing = await connection.list_all("tools/list", "tools")
        found, offer = await asyncio.to_thread(self._sorted, listing)
        for problem in offer.problems:
            self.log.add("state", problem)
        self._listed = found.tools
        if not self.generation or (offer.accepted, offer.changed) != (
            self.offer.accepted,
            self.offer.changed,
        ):
            self.generation += 1
        self.offer = offer

    def _sorted(self, listing: "Listing") -> tuple[Catalogue, Offer]:
        """Raises ServerFault."""
        found = read_catalogue(self.spec, self.legal_name, listing.entries)
        problems = [*found.problems, *([listing.warning] if listing.warning else [])]
        try:
            sorting = self._pins.sort(self._pin_key, found.tools)
        except OSError as error:
            raise ServerFault(f"what its tools were cannot be looked up: {error}", lasting=True) from error
        return found, Offer(sorting.accepted, sorting.changed, sorting.fresh, tuple(problems))

    async def given_up(self, detail: str) -> None:
        """Be failed until somebody wants the server again: `run` ended by a bug, and nobody may wait on."""
        await self._become("failed", detail)
        await self._until_wanted()

    async def _become(self, state: State, detail: str) -> None:
        async with self._stirred:
            if (state, detail) != (self.state, self.detail):
                self.log.add("state", f"{state}{f': {detail}' if detail else ''}")
            self.state, self.detail = state, detail
            self._stirred.notify_all()
        self._on_change()

    async def _until_wanted(self, limit_s: float | None = None) -> None:
        """Wait until somebody wants the server again, or `limit_s` is over."""
        try:
            async with asyncio.timeout(limit_s):
                while not self._again:
                    self._nudge.clear()
                    await self._nudge.wait()
        except TimeoutError:
            pass
        self._again = False

    def reconnect(self) -> None:
        """Start the server anew, also when it gave up."""
        self._again = True
        self._nudge.set()

    def enable(self, on: bool) -> None:
        """Switch the server on or off for this run."""
        self._enabled = on
        self.reconnect()

    async def settled(self) -> None:
        """Wait until the first start came to an end, well or not."""
        async with self._stirred:
            await self._stirred.wait_for(lambda: self.state not in ("waiting", "starting"))

    async def accept(self, names: "tuple[str, ...] | None" = None) -> list[str]:
        """Accept the changed tools (those in `names`) as they are now and give their names. Raises OSError."""
        wanted = [
            c.name for c in self.offer.changed if names is None or c.name in names or c.original in names
        ]
        await asyncio.to_thread(self._pins.accept, self._pin_key, self._listed, wanted)
        sorting = await asyncio.to_thread(self._pins.sort, self._pin_key, self._listed)
        self.offer = Offer(sorting.accepted, sorting.changed, (), self.offer.problems)
        self.generation += 1
        self._on_change()
        return wanted

    # Its use.

    async def call(self, tool: McpTool, arguments: JsonObject, report: "Progress") -> JsonObject:
        """Call a tool and give the raw result. Raises ToolError in every other case."""
        name = self.spec.name
        life = self._life
        try:
            async with self.session() as (connection, timer):
                self._check_offer(tool)
                life = self._life

                async def on_progress(progress: float, total: float | None, message: str | None) -> None:
                    timer.extend()
                    await report(progress, total, message)

                return await connection.call(tool.original, arguments, on_progress)
        except TimeoutError as error:
            self._suspect = True
            self._nudge.set()
            raise ToolError(
                f"The MCP server {name!r} timed out after {self.spec.call_s:g} s; the call was cancelled."
            ) from error
        except RequestFailed as error:
            raise ToolError(f"The MCP server {name!r} refused the call: {error}") from error
        except ConnectionGone as error:
            why = await self._obituary(life) or str(error)
            raise ToolError(
                f"The MCP server {name!r} ended during the call: {why}. It is started again when it is needed."
            ) from error

    def _check_offer(self, tool: McpTool) -> None:
        """Refuse what is not offered any more, or not as it was shown. Raises ToolError."""
        now = next((t for t in self.offer.accepted if t.name == tool.name), None)
        if now is None and any(changed.name == tool.name for changed in self.offer.changed):
            raise ToolError(
                f"The MCP server {self.spec.name!r} describes {tool.original!r} differently than before. "
                "The tool is switched off until a person accepts the change (/mcp)."
            )
        if now is None:
            raise ToolError(
                f"The tool {tool.original!r} is no longer offered by the MCP server {self.spec.name!r}."
            )
        if now.fingerprint != tool.fingerprint:
            raise ToolError(
                f"The tool {tool.original!r} changed while it was being asked for; call it again."
            )

    @asynccontextmanager
    async def session(self) -> AsyncGenerator[tuple["Connection", CallTimer]]:
        """Give the session within one call's time. On stdio one call runs at a time.

        Raises ToolError when the server is not there, TimeoutError, RequestFailed, ConnectionGone.
        """
        connection = await self._ready()
        if self.spec.transport == "stdio":
            async with self._one_call, self._timed() as timer:
                yield connection, timer
        else:
            async with self._timed() as timer:
                yield connection, timer

    @asynccontextmanager
    async def _timed(self) -> AsyncGenerator[CallTimer]:
        timer = CallTimer(self.spec.call_s)
        self._timers.add(timer)
        try:
            async with timer:
                yield timer
        finally:
            self._timers.discard(timer)

    async def _ready(self) -> "Connection":
        """Wait a moment for a server that is being started, and start one that gave up. Raises ToolError."""
        if self.state == "off":
            raise ToolError(f"The MCP server {self.spec.name!r} is switched off.")
        if self.state in ("failed", "needs login") and not self.spec.problem:
            self.reconnect()
            await asyncio.sleep(0)
        try:
            async with asyncio.timeout(WAIT_FOR_RESTART_S), self._stirred:
                await self._stirred.wait_for(lambda: self._connection is not None or self._gave_up())
        except TimeoutError:
            pass
        if self._connection is None:
            raise ToolError(f"The MCP server {self.spec.name!r} is not running: {self.detail or self.state}.")
        return self._connection

    def _gave_up(self) -> bool:
        return self.state in ("failed", "needs login", "off") and not self._again

    async def _obituary(self, life: int) -> str:
        """Wait a moment until it is known why that life ended; "" when it does not get known."""
        try:
            async with asyncio.timeout(3), self._stirred:
                await self._stirred.wait_for(lambda: self._last_end[0] >= life)
        except TimeoutError:
            return ""
        ended, why = self._last_end
        return why if ended == life else ""

    def _hold_timers(self, on: bool) -> None:
        for timer in self._timers:
            timer.hold(on)

    def _others_changed(self) -> None:
        self.announced += 1
        self._on_change()

    def _lists_changed(self) -> None:
        self._relist = True
        self._nudge.set()


def _go_if_cancelled() -> None:
    """Raise the cancellation that a task group of the SDK dropped because its connection failed at the same moment."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
