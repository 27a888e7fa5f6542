"""Extensions that are Python code of this process: a file's or an installed package's `extend` function."""

import asyncio
import inspect
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from agent_tui.extensions.hooks.events import EventName
from agent_tui.extensions.hooks.python import PythonHook, hook_name
from agent_tui.extensions.plugged.faults import ExtensionFault
from agent_tui.extensions.plugged.offers import Offer, command_offer, event_name, tool_offer
from agent_tui.extensions.plugged.person import ThreadVoice, Voice
from agent_tui.extensions.plugged.plug import State
from agent_tui.extensions.threads import in_daemon_thread
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.tools import ToolResult
from agent_tui.toolkit.context import ToolContext
from agent_tui.toolkit.extension import (
    CommandHandler,
    DetailHandler,
    EventHandler,
    HookHandler,
    ToolHandler,
    ToolReply,
)

ENTRY = "extend"


@dataclass(frozen=True)
class _Tool:
    handler: ToolHandler
    detail: DetailHandler | None


class Registration:
    """Implements `Extension`: collects and checks what `extend` registers."""

    def __init__(self, name: str, workspace: Path) -> None:
        self.offer = Offer()
        self.tools: dict[str, _Tool] = {}
        self.commands: dict[str, CommandHandler] = {}
        self.listeners: dict[str, list[EventHandler]] = {}
        self.hooks: list[tuple[EventName, HookHandler]] = []
        self._name = name
        self._workspace = workspace
        self._is_closed = False

    @property
    def name(self) -> str:
        """The extension's name."""
        return self._name

    @property
    def workspace(self) -> Path:
        """The project's real path."""
        return self._workspace

    def register_tool(
        self,
        name: str,
        description: str,
        schema: JsonObject | None,
        handler: ToolHandler,
        *,
        readable: bool = False,
        timeout_s: float = 0,
        detail: DetailHandler | None = None,
    ) -> None:
        """Offer a tool. Raises ValueError."""
        self._check(handler, f"the handler of {name!r}")
        if detail is not None:
            self._check(detail, f"the detail of {name!r}")
        offered = tool_offer(
            name,
            description,
            schema,
            readable=readable,
            timeout_s=timeout_s,
            has_detail=detail is not None,
        )
        self.offer.add_tool(offered)
        self.tools[name] = _Tool(handler, detail)

    def register_command(
        self, name: str, description: str, handler: CommandHandler, *, needs_args: bool = False
    ) -> None:
        """Add a command. Raises ValueError."""
        self._check(handler, f"the handler of /{name}")
        self.offer.add_command(command_offer(name, description, needs_args=needs_args))
        self.commands[name] = handler

    def on(self, event: str, handler: EventHandler) -> None:
        """Subscribe. Raises ValueError."""
        self._check(handler, f"the handler of {event!r}")
        self.offer.events.add(event_name(event))
        self.listeners.setdefault(event, []).append(handler)

    def hook(self, event: str, handler: HookHandler) -> None:
        """Add a hook. Raises ValueError."""
        self._check(handler, f"the hook {event!r}")
        name = hook_name(event)
        self.offer.hooks.add(str(name))
        self.hooks.append((name, handler))

    def close(self) -> None:
        """Take nothing more."""
        self._is_closed = True

    def _check(self, handler: object, what: str) -> None:
        if self._is_closed:
            raise ValueError(f"{self._name}: register everything while {ENTRY}() runs, not later")
        if not callable(handler):
            raise ValueError(f"{what} cannot be called")


class PythonPlug:
    """An extension whose handlers are called in this process: async ones on the loop, others in threads."""

    def __init__(self, name: str, origin: str, where: str, registered: Registration) -> None:
        self.name, self.origin, self.where = name, origin, where
        self.offer = registered.offer
        self.state: State = "ready"
        self.problem = ""
        self._registered = registered

    async def run(self) -> None:
        """Nothing has to be kept alive."""

    async def given_up(self, problem: str) -> None:
        """Be off; `run` does nothing that could end by a bug."""
        self.state, self.problem = "off", problem

    async def settled(self) -> None:
        """It is loaded."""

    async def detail(self, tool: str, arguments: JsonObject) -> str:
        """Give the line for a call."""
        handler = self._registered.tools[tool].detail
        if handler is None:
            return ""
        line = await self._called(handler, arguments)
        return line if isinstance(line, str) else ""

    async def call(self, tool: str, arguments: JsonObject, ctx: ToolContext) -> ToolReply | ToolResult:
        """Run a tool."""
        answer = await self._called(self._registered.tools[tool].handler, arguments, ctx)
        if isinstance(answer, str):
            return ToolReply(answer)
        if isinstance(answer, ToolReply | ToolResult):
            return answer
        raise ToolError(
            f"The tool {tool!r} of the extension {self.name!r} returned {type(answer).__name__}; "
            "its author should return a text or a ToolReply."
        )

    async def command(self, name: str, args: str, voice: Voice) -> None:
        """Run a command to its end."""
        await self._spoken(self._registered.commands[name], args, voice)

    async def hear(self, event: JsonObject, voice: Voice) -> None:
        """Call the listeners one after the other; the first that fails is raised when all were called."""
        failed: Exception | None = None
        for handler in self._registered.listeners.get(str(event["type"]), ()):
            try:
                await self._spoken(handler, event, voice)
            except Exception as error:  # foreign code: a listener must not cost the next one its event
                failed = failed or error
        if failed is not None:
            raise failed

    def hooks(self) -> Sequence[PythonHook]:
        """Give its hooks, in the order in which they were registered."""
        return [
            PythonHook(self.name, event, partial(self._called, handler))
            for event, handler in self._registered.hooks
        ]

    async def restart(self) -> str:
        """Python code cannot be loaded anew."""
        return f"{self.name} is Python code of this program: leave and start again to load it anew."

    def log(self) -> list[str]:
        """It has no log of its own."""
        return []

    async def _spoken(self, handler: Callable[..., object], argument: object, voice: Voice) -> None:
        if is_async(handler):
            await self._called(handler, argument, voice)
        else:
            await self._called(handler, argument, ThreadVoice(voice, asyncio.get_running_loop()))

    async def _called(self, handler: Callable[..., object], *arguments: object) -> object:
        if is_async(handler):
            answer = handler(*arguments)
        else:
            answer = await in_daemon_thread(lambda: handler(*arguments), name=f"extension-{self.name}")
        return await answer if inspect.isawaitable(answer) else answer


def is_async(handler: Callable[..., object]) -> bool:
    """Tell whether calling `handler` gives a coroutine; a plain one runs in a thread of its own."""
    call: object = getattr(handler, "__call__", None)  # noqa: B004  # an object with an async __call__ counts too
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(call)


def extended(find: Callable[[], object], name: str, workspace: Path, *, limit_s: float) -> Registration:
    """Call `find` and the `extend` function it gives, in a thread that may take `limit_s`. Raises ExtensionFault."""
    done: queue.SimpleQueue[Registration | ExtensionFault] = queue.SimpleQueue()

    def load() -> None:
        try:
            done.put(_registered(find(), name, workspace))
        except ExtensionFault as fault:
            done.put(fault)
        except (
            BaseException
        ) as error:  # foreign code: a file's fault must not cost the rest, nor its sys.exit()
            done.put(ExtensionFault(_told(error)))

    threading.Thread(target=load, name=f"load-{name}", daemon=True).start()
    try:
        answer = done.get(timeout=limit_s)
    except queue.Empty:
        raise ExtensionFault(f"did not load within {limit_s:g} s") from None
    if isinstance(answer, ExtensionFault):
        raise answer
    return answer


def _registered(found: object, name: str, workspace: Path) -> Registration:
    """Raises ExtensionFault, and whatever `extend` raises."""
    extend: Any = getattr(found, ENTRY, None) if inspect.ismodule(found) else found
    if not callable(extend):
        raise ExtensionFault(f"has no function {ENTRY}(agent)")
    if is_async(extend):
        raise ExtensionFault(f"{ENTRY}() must be a plain function, not async")
    registration = Registration(name, workspace)
    try:
        extend(registration)
    finally:
        registration.close()
    return registration


def _told(error: BaseException) -> str:
    if isinstance(error, ValueError) and not isinstance(error, UnicodeError):
        return str(error)
    return f"{ENTRY}() failed: {type(error).__name__}: {error}"
