"""All configured servers: started in the background, joined to the tools between turns, ended with the program.

What runs a server costs 20 ms to import and is imported with the first one: most runs have none.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from agent_tui.extensions.mcp.faults import ConnectionGone, RequestFailed, ServerFault
from agent_tui.extensions.mcp.guest import Desk
from agent_tui.extensions.mcp.spec import ServerSpec
from agent_tui.extensions.plain import one_line
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.near_names import did_you_mean
from agent_tui.toolkit.text import count

if TYPE_CHECKING:
    from agent_tui.extensions.mcp.offers import Prompt, Resource
    from agent_tui.extensions.mcp.pins import ChangedTool, PinStore
    from agent_tui.extensions.mcp.server import Pace, Server, State
    from agent_tui.extensions.mcp.sign_in import Visit
    from agent_tui.extensions.mcp.source import McpSource
    from agent_tui.extensions.mcp.tokens import TokenBox

LIST_S = 8.0
"""How long a list of resources or prompts may take, in seconds."""

T = TypeVar("T")
_LOG = logging.getLogger(__name__)


class Door(Protocol):
    """Where the tools of all sources stand side by side."""

    def add(self, name: str, source: McpSource, *, namespace: Literal["mcp"]) -> None: ...

    def remove(self, name: str) -> None: ...


@dataclass(frozen=True)
class ServerStatus:
    """One server for the panel. `tools` are the names that may be called, `changed` those that wait for a person."""

    name: str
    state: State
    detail: str
    origin: str
    file: str
    transport: str
    target: str
    title: str
    version: str
    tools: tuple[str, ...]
    changed: tuple[ChangedTool, ...]
    problems: tuple[str, ...]
    signs_in: bool = False


@dataclass(frozen=True)
class News:
    """A sentence for the person. `trouble` says that something is not as it should be."""

    text: str
    trouble: bool = False


@dataclass
class _Running:
    """A server with its task; `told` is the last trouble a person was told of."""

    server: Server
    source: McpSource
    task: asyncio.Task[None] | None = None
    told: str = ""
    joined: bool = False
    told_changes: tuple[ChangedTool, ...] = field(default=())


class Servers:
    """The servers of one run of the program. `state_dir` keeps what their tools were accepted as.

    `on_change` is called, on the loop, when a server's state or tools changed.
    """

    def __init__(
        self,
        specs: Sequence[ServerSpec],
        *,
        desk: Desk,
        state_dir: Path,
        on_change: Callable[[], None] = lambda: None,
        pace: Pace | None = None,
        box: TokenBox | None = None,
    ) -> None:
        self._desk = desk
        self._state_dir = state_dir
        self._given_box = box
        self._given_pace = pace
        self._started = False
        self.on_change = on_change
        self._running: dict[str, _Running] = {}
        self._gone: list[str] = []
        self._take_specs(specs)

    @cached_property
    def _pins(self) -> PinStore:
        from agent_tui.extensions.mcp.pins import PinStore

        return PinStore(self._state_dir)

    @cached_property
    def _box(self) -> TokenBox:
        from agent_tui.extensions.mcp.tokens import TokenBox

        return self._given_box or TokenBox(self._state_dir)

    @cached_property
    def _pace(self) -> Pace:
        from agent_tui.extensions.mcp.server import Pace

        return self._given_pace or Pace()

    # Their life.

    def start(self) -> None:
        """Start all servers in the background. Must be called on the main thread's loop."""
        self._started = True
        for running in self._running.values():
            if running.task is None:
                running.task = asyncio.get_running_loop().create_task(
                    self._guarded(running.server), name=f"mcp-{running.server.spec.name}"
                )  # owned: ended by reload and aclose

    async def _guarded(self, server: Server) -> None:
        while True:
            try:
                return await server.run()
            except Exception as error:  # a bug of ours costs one server, never the program
                _LOG.exception("MCP server %s", server.spec.name)
                why = f"{type(error).__name__}: {error}"
            await server.given_up(why)

    async def settled(self) -> None:
        """Wait until each server has started or has failed to; none takes longer than its start time."""
        waits = [r.server.settled() for r in self._running.values() if r.task is not None]
        async with asyncio.TaskGroup() as group:
            for wait in waits:
                group.create_task(wait)

    async def reload(self, specs: Sequence[ServerSpec]) -> None:
        """Take over new settings: what is gone or different is ended, what is new is started, the rest stays."""
        wanted = {spec.name: spec for spec in specs}
        ending = [r for name, r in self._running.items() if wanted.get(name) != r.server.spec]
        await _end(ending)
        for running in ending:
            del self._running[running.server.spec.name]
            if running.joined:
                self._gone.append(_door_name(running.server))
        self._take_specs(specs)
        if self._started:
            self.start()

    async def aclose(self) -> None:
        """End all servers and all that they started."""
        await _end(list(self._running.values()))

    def _take_specs(self, specs: Sequence[ServerSpec]) -> None:
        if not specs:
            return
        from agent_tui.extensions.mcp.names import server_names
        from agent_tui.extensions.mcp.server import Server
        from agent_tui.extensions.mcp.source import McpSource

        legal = server_names([spec.name for spec in specs])
        for spec in specs:
            if spec.name not in self._running:
                server = Server(
                    spec,
                    legal_name=legal[spec.name],
                    desk=self._desk,
                    pins=self._pins,
                    pin_key=self._pin_key(spec),
                    box=self._box,
                    on_change=self._changed,
                    pace=self._pace,
                )
                self._running[spec.name] = _Running(server, McpSource(server))

    def _changed(self) -> None:
        self.on_change()

    def _pin_key(self, spec: ServerSpec) -> str:
        """Tell servers apart: by name and by what is started; a project's also by the project."""
        where = str(self._desk.roots[0]) if spec.origin == "project" else ""
        return f"{spec.name}\n{spec.identity}\n{where}"

    # Their tools.

    def publish(self, door: Door, *, cached: bool = False, last: bool = False) -> list[News]:
        """Join what the servers offer now to the tools, behind the others, and tell what a person should know.

        Called between turns only: the tools of a turn stay as they are. `cached` says that the model may hold the
        start of this conversation in its cache, which other tools cost once. `last` says that nobody asks again before
        the model does: then a server that is still tried is missing too.
        """
        notices: list[News] = []
        costs = -1
        for name in self._gone:
            door.remove(name)
        self._gone.clear()
        for running in self._running.values():
            notices += self._trouble(running, last=last)
            if running.server.state == "off" and running.joined:
                from agent_tui.extensions.mcp.source import McpSource

                door.remove(_door_name(running.server))
                costs = len(notices)
                running.source, running.joined = McpSource(running.server), False
                notices.append(
                    News(f"The MCP server {running.server.spec.name!r} is off; its tools are gone.")
                )
            if running.server.state == "off" or running.server.generation in (0, running.source.generation):
                continue
            first = not running.joined
            came, went = running.source.take()
            if first:
                running.joined = True
                door.add(_door_name(running.server), running.source, namespace="mcp")
            if came or went:
                costs = len(notices)
            notices += _news(running, came, went, first=first)
        if cached and costs >= 0:  # once, however many servers joined
            notices[costs] = News(f"{notices[costs].text} The cached prefix is lost once.")
        return notices

    def troubles(self) -> list[News]:
        """Tell why servers are not there that nobody was told of yet."""
        return [news for running in self._running.values() for news in self._trouble(running, last=False)]

    def _trouble(self, running: _Running, *, last: bool) -> list[News]:
        """Tell once why a server is not there."""
        server = running.server
        missing = last and server.state == "restarting"
        if not missing and server.state not in ("failed", "needs login"):
            running.told = "" if server.state == "ready" else running.told
            return []
        if running.told == server.detail:
            return []
        running.told = server.detail
        why = one_line(server.detail, limit_chars=400)
        if server.state == "needs login":
            return [News(f"The MCP server {server.spec.name!r} {why}.", trouble=True)]
        return [News(f"The MCP server {server.spec.name!r} is not available: {why}", trouble=True)]

    def tools(self) -> list[str]:
        """Give the names of all tools that may be called now."""
        return [tool.name for running in self._running.values() for tool in running.server.offer.accepted]

    async def ask(self, name: str, arguments: JsonObject) -> str:
        """Call a tool for the program itself and give the text of its answer. Raises ToolError."""
        from agent_tui.extensions.mcp.results import answered_text

        for running in self._running.values():
            for tool in running.server.offer.accepted:
                if tool.name == name:
                    return answered_text(await running.server.call(tool, arguments, _no_progress))
        raise ToolError(f"No MCP server offers a tool named {name!r} now.")

    # What a panel and commands need.

    def statuses(self) -> list[ServerStatus]:
        """Describe all servers in the order of the settings."""
        return [_status(running.server) for running in self._running.values()]

    def names(self) -> list[str]:
        """Give the names of all servers."""
        return list(self._running)

    def offered(self) -> tuple[tuple[str, str, int, int], ...]:
        """Give what differs when some server offers something else than before."""
        return tuple(
            (name, r.server.state, r.server.generation, r.server.announced)
            for name, r in self._running.items()
        )

    def log(self, name: str) -> list[str]:
        """Give the last lines of a server's log. Raises ToolError for an unknown name."""
        return self._server(name).log.lines()

    def reconnect(self, name: str) -> None:
        """Start a server anew. Raises ToolError for an unknown name."""
        self._server(name).reconnect()

    def enable(self, name: str, on: bool) -> None:
        """Switch a server on or off for this run. Raises ToolError for an unknown name."""
        self._server(name).enable(on)

    def changed(self) -> list[tuple[str, ChangedTool]]:
        """List (server, tool) of what waits for a person."""
        return [(name, tool) for name, r in self._running.items() for tool in r.server.offer.changed]

    async def accept(self, name: str, tools: tuple[str, ...] | None = None) -> list[str]:
        """Accept the changed tools of a server (those in `tools`) as they are now; give their names.

        Raises ToolError for an unknown name and OSError.
        """
        return await self._server(name).accept(tools)

    async def login(self, name: str, visit: Visit) -> str:
        """Let the person sign in to a server, start it anew, and give a sentence. Raises ToolError."""
        server = self._server(name)
        await asyncio.to_thread(import_module, "agent_tui.extensions.mcp.login")
        from agent_tui.extensions.mcp.login import log_in

        try:
            asked = await log_in(server.spec, self._box, visit=visit, desk=self._desk, log=server.log)
        except ServerFault as error:
            raise ToolError(f"The MCP server {name!r}: {error}.") from error
        except OSError as error:
            raise ToolError(f"The sign-in to {name!r} cannot be kept: {error.strerror or error}.") from error
        if server.state != "off":
            server.reconnect()
        if not asked:
            return f"The MCP server {name!r} does not ask for a sign-in."
        return f"Signed in to {name!r}; the sign-in is kept in {self._box.place()}."

    async def logout(self, name: str) -> str:
        """Forget the sign-in to a server, start it anew, and give a sentence. Raises ToolError."""
        from agent_tui.extensions.mcp.tokens import token_key

        server = self._server(name)
        try:
            was = await asyncio.to_thread(self._box.forget, token_key(server.spec))
        except OSError as error:
            raise ToolError(
                f"The sign-in to {name!r} cannot be removed: {error.strerror or error}."
            ) from error
        if was and server.state != "off":
            server.reconnect()
        return f"Signed out of {name!r}." if was else f"There is no sign-in to {name!r}."

    async def resources(self) -> list[Resource]:
        """List the resources of all servers that run; one that fails has none."""
        if not self._running:
            return []
        from agent_tui.extensions.mcp.offers import resources_of

        return await self._of_all(resources_of)

    async def read_resource(self, name: str, uri: str) -> str:
        """Read a resource as text, for `@server:uri`. Raises ToolError."""
        from agent_tui.extensions.mcp.offers import resource_text

        return await self._ask(self._server(name), lambda server: resource_text(server, uri))

    async def prompts(self) -> list[Prompt]:
        """List the prompts of all servers that run; one that fails has none."""
        if not self._running:
            return []
        from agent_tui.extensions.mcp.offers import prompts_of

        return await self._of_all(prompts_of)

    async def prompt(self, name: str, prompt: str, arguments: dict[str, str]) -> str:
        """Give the text of a prompt, for `/mcp__server__prompt`. Raises ToolError."""
        from agent_tui.extensions.mcp.offers import prompt_text

        return await self._ask(self._server(name), lambda server: prompt_text(server, prompt, arguments))

    async def complete(
        self, name: str, prompt: str, argument: str, typed: str, given: Mapping[str, str]
    ) -> list[str]:
        """Ask for values of a prompt's argument, `given` the others. Raises ToolError."""
        from agent_tui.extensions.mcp.offers import completions

        return await self._ask(
            self._server(name), lambda server: completions(server, prompt, argument, typed, given)
        )

    async def _of_all(self, question: Callable[[Server], Awaitable[list[T]]]) -> list[T]:
        """Ask all servers that run at once; one that fails or is slow has nothing."""
        ready = [r.server for r in self._running.values() if r.server.state == "ready"]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._asked(server, question)) for server in ready]
        return [entry for task in tasks for entry in task.result()]

    async def _asked(self, server: Server, question: Callable[[Server], Awaitable[list[T]]]) -> list[T]:
        try:
            async with asyncio.timeout(LIST_S):
                return await self._ask(server, question)
        except (ToolError, TimeoutError) as error:
            server.log.add("state", str(error) or f"no list within {LIST_S:g} s")
            return []

    async def _ask(self, server: Server, question: Callable[[Server], Awaitable[T]]) -> T:
        """Raises ToolError."""
        name = server.spec.name
        try:
            return await question(server)
        except TimeoutError as error:
            raise ToolError(
                f"The MCP server {name!r} did not answer within {server.spec.call_s:g} s."
            ) from error
        except (RequestFailed, ConnectionGone) as error:
            raise ToolError(f"The MCP server {name!r}: {error}") from error

    def _server(self, name: str) -> Server:
        running = self._running.get(name)
        if running is None:
            raise ToolError(f"There is no MCP server {name!r}{did_you_mean(name, self._running, end='.')}")
        return running.server


def _door_name(server: Server) -> str:
    return f"mcp:{server.spec.name}"


async def _end(ending: list[_Running]) -> None:
    """Cancel the tasks and wait for what they clean up."""
    tasks = [running.task for running in ending if running.task is not None]
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


def _news(running: _Running, came: list[str], went: list[str], *, first: bool) -> list[News]:
    """Say what changed in the tools of a server."""
    name, offer = running.server.spec.name, running.server.offer
    news: list[News] = []
    if first and came:
        news.append(News(f"The MCP server {name!r} joined with {count(len(came), 'tool')}."))
    elif came or went:
        parts = [f"{len(came)} new ({', '.join(came[:5])})"] if came else []
        parts += [f"{len(went)} gone ({', '.join(went[:5])})"] if went else []
        text = f"The tools of the MCP server {name!r} changed: {'; '.join(parts)}."
        news.append(News(text))
    if offer.changed and offer.changed != running.told_changes:
        names = ", ".join(one_line(tool.original, limit_chars=60) for tool in offer.changed[:5])
        text = (
            f"The MCP server {name!r} describes {count(len(offer.changed), 'tool')} differently than when you "
            f"accepted it ({names}). What changed is switched off until you accept it: "
            f"agent-tui mcp accept {name} shows old and new."
        )
        news.append(News(text, trouble=True))
    running.told_changes = offer.changed
    news += [
        News(f"The MCP server {name!r}: {problem}", trouble=True) for problem in offer.problems[:5] if first
    ]
    return news


def _status(server: Server) -> ServerStatus:
    spec = server.spec
    return ServerStatus(
        name=spec.name,
        state=server.state,
        detail=server.detail,
        origin=spec.origin,
        file=spec.file,
        transport=spec.transport,
        target=one_line(spec.target, limit_chars=300),
        title=server.title,
        version=server.version,
        tools=tuple(tool.name for tool in server.offer.accepted),
        changed=server.offer.changed,
        problems=server.offer.problems,
        signs_in=spec.signs_in,
    )


async def _no_progress(progress: float, total: float | None, message: str | None) -> None:
    """Tell nobody how far a call is."""
