"""Extensions that are programs of their own, in any language, spoken to by lines of JSON."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, assert_never

from agent_tui import __version__
from agent_tui.extensions.log import ServerLog
from agent_tui.extensions.plugged.child import Child
from agent_tui.extensions.plugged.faults import ExtensionFault
from agent_tui.extensions.plugged.manifest import Launch
from agent_tui.extensions.plugged.offers import Offer, command_offer, event_name, tool_offer
from agent_tui.extensions.plugged.person import Voice
from agent_tui.extensions.plugged.plug import Pace, State
from agent_tui.extensions.plugged.wire import (
    PROTOCOL,
    Confirm,
    Notify,
    Output,
    Ready,
    RegisterCommand,
    RegisterTool,
    Result,
    Said,
    SetStatus,
    Submit,
    Subscribe,
    read_message,
    written,
)
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.errors import ToolError
from agent_tui.toolkit.context import Report, ToolContext
from agent_tui.toolkit.extension import ToolReply

MAX_NOISE_LINES = 10_000
MAX_FAILURES = 3
_LOGGED_NOISE = 20
_LAST_WORDS_S = 0.4
"""Of the time to end, for the events that come before."""
_LOG = logging.getLogger(__name__)


@dataclass
class _Pending:
    """A request that waits for its result; `report` takes its live output."""

    answer: asyncio.Future[Result]
    report: Report | None


class ProcessPlug:
    """An extension in a process. It is started at once, and again when something is wanted of it after it ended.

    Three failures (an end by itself, a time limit, no handshake) without an answer in between leave it off until
    `restart`. What it offered first stays what the model sees. `on_change` is called on the loop when its state or its
    offer changed.
    """

    def __init__(
        self,
        name: str,
        origin: str,
        where: str,
        *,
        launch: Callable[[], Launch],
        voice: Voice,
        pace: Pace,
        on_change: Callable[[], None],
    ) -> None:
        self.name, self.origin, self.where = name, origin, where
        self.offer = Offer()
        self.state: State = "starting"
        self.problem = ""
        self.generation = 0
        self._launch = launch
        self._voice = voice
        self._pace = pace
        self._on_change = on_change
        self._log = ServerLog()
        self._child: Child | None = None
        self._offering = Offer()
        self._pending: dict[int, _Pending] = {}
        self._last_id = 0
        self._failures = 0
        self._noise = 0
        self._reason = ""
        self._has_offered = False
        self._wanted = asyncio.Event()
        self._changed = asyncio.Condition()
        self._wanted.set()

    # Its life.

    async def run(self) -> None:
        """Live: start, serve, end; again when something is wanted. Ends when cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            await self._become("starting")
            try:
                await self._live()
            except ExtensionFault as fault:
                await self._failed(str(fault))

    async def _live(self) -> None:
        """Raises ExtensionFault with why it is gone."""
        child = await Child.start(await asyncio.to_thread(self._launch))
        self._child, self._reason, self._noise, self._offering = child, "", 0, Offer()
        questions: set[asyncio.Task[None]] = set()
        errors = asyncio.get_running_loop().create_task(self._read_errors(child))  # owned: awaited below
        try:
            await self._handshake(child, questions)
            while (lines := await child.lines()) is not None:
                await self._take(lines, child, questions)
            await child.exited()
            self._reason = self._reason or f"the process {child.how()}"
            raise ExtensionFault(self._reason)
        finally:
            self._child = None
            if self.state == "ready":
                self.state = "ended"  # what is asked from now on waits for the next process
            self._fail_pending(self._reason or "the program ends")
            await self._ended(child, [errors, *questions])

    async def _ended(self, child: Child, tasks: list[asyncio.Task[None]]) -> None:
        try:
            await child.end(
                farewell=written({"type": "shutdown"}), limit_s=self._pace.shutdown_s - _LAST_WORDS_S
            )
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _handshake(self, child: Child, questions: set[asyncio.Task[None]]) -> None:
        """Raises ExtensionFault."""
        hello = {
            "type": "hello",
            "protocol": PROTOCOL,
            "version": __version__,
            "name": self.name,
            "workspace": str(self._voice.workspace),
        }
        try:
            async with asyncio.timeout(self._pace.handshake_s):
                await child.send(written(hello))
                while self.state != "ready":
                    lines = await child.lines()
                    if lines is None:
                        await child.exited()
                        raise ExtensionFault(self._reason or f"the process {child.how()} before it was ready")
                    await self._take(lines, child, questions)
        except TimeoutError:
            self._kill(f"was not ready within {self._pace.handshake_s:g} s")
            raise ExtensionFault(self._reason) from None

    async def given_up(self, problem: str) -> None:
        """Be off until it is restarted: `run` ended by a bug, and nobody may wait on."""
        self._wanted.clear()
        await self._become("off", problem)

    async def _become(self, state: State, problem: str = "") -> None:
        async with self._changed:
            self.state, self.problem = state, problem
            self._changed.notify_all()
        self._on_change()

    async def _failed(self, why: str) -> None:
        if why != _STOPPED:
            self._failures += 1
        last = self._log.last("stderr", 1)
        told = f"{why} ({last[0]})" if last else why
        self._log.add("state", told)
        if self._failures >= MAX_FAILURES or not (self._has_offered or self._wanted.is_set()):
            self._wanted.clear()
            await self._become("off", told)
        elif not self._wanted.is_set():
            await self._become("ended", told)

    async def restart(self) -> str:
        """End it and begin anew; what it offers then counts."""
        self._failures, self._has_offered = 0, False
        self._kill(_STOPPED)
        self.state = "starting"
        self._wanted.set()
        await self.settled()
        return f"{self.name} was not started: {self.problem}." if self.problem else f"{self.name} runs again."

    def log(self) -> list[str]:
        """Give the last lines of its log."""
        return self._log.lines()

    async def settled(self) -> None:
        """Wait until it is known what it offers."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.state != "starting")

    # What is asked of it.

    async def detail(self, tool: str, arguments: JsonObject) -> str:
        """Give the line for a call; one that comes too late costs nothing but the line."""
        answer = await self._asked({"type": "detail", "tool": tool, "arguments": arguments})
        return answer.detail or answer.content

    async def call(self, tool: str, arguments: JsonObject, ctx: ToolContext) -> ToolReply:
        """Run a tool; a call that is cancelled ends the process. Raises ToolError."""
        began = time.monotonic()
        message = {
            "type": "call",
            "tool": tool,
            "arguments": arguments,
            "call_id": ctx.call_id,
            "cwd": str(ctx.cwd),
        }
        try:
            answer = await self._asked(message, report=ctx.report)
        except asyncio.CancelledError:
            limit_s = self.offer.tools[tool].timeout_s
            ran_out = time.monotonic() - began >= limit_s - 0.2
            self._kill(f"{tool} did not answer within {limit_s} s" if ran_out else _STOPPED)
            raise
        return ToolReply(
            content=answer.error or answer.content,
            detail=answer.detail,
            output=answer.output,
            expanded=answer.expanded,
            is_error=bool(answer.error),
        )

    async def command(self, name: str, args: str, voice: Voice) -> None:
        """Run a command to its end. Raises ToolError."""
        answer = await self._asked({"type": "command", "command": name, "args": args})
        if answer.error:
            raise ToolError(answer.error)

    async def hear(self, event: JsonObject, voice: Voice) -> None:
        """Pass an event on; a process that is not there misses it."""
        if self._child is not None and self.state == "ready":
            await self._child.send(written({"type": "event", "event": event}))

    async def _asked(self, message: dict[str, Any], *, report: Report | None = None) -> Result:
        """Send a request and wait for its result. Raises ToolError."""
        child = await self._running()
        self._last_id += 1
        number = self._last_id
        answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._pending[number] = _Pending(answer, report)
        try:
            await child.send(written({**message, "id": number}))
            return await answer
        finally:
            self._pending.pop(number, None)

    async def _running(self) -> Child:
        """Give the process, started again if need be. Raises ToolError."""
        if self.state == "ended":
            self.state = "starting"
            self._wanted.set()
        await self.settled()
        if self.state == "ready" and self._child is not None:
            return self._child
        again = f"; /extensions restart {self.name} starts it again" if self.state == "off" else ""
        raise ToolError(f"The extension {self.name!r} is not there: {self.problem}{again}.")

    def _kill(self, why: str) -> None:
        """End the process at once; all that waits for it fails."""
        if self._child is None:
            return
        self._reason = self._reason or why
        self._child.kill()
        self._child, self.state, self.problem = None, "ended", self._reason
        self._fail_pending(self._reason)

    def _fail_pending(self, why: str) -> None:
        pending, self._pending = self._pending, {}
        for waiting in pending.values():
            if not waiting.answer.done():
                waiting.answer.set_exception(ToolError(f"The extension {self.name!r} is gone: {why}."))

    # What it says.

    async def _read_errors(self, child: Child) -> None:
        while (lines := await child.errors()) is not None:
            for line in lines:
                self._log.add("stderr", line)
            await asyncio.sleep(0)

    async def _take(self, lines: list[bytes], child: Child, questions: set[asyncio.Task[None]]) -> None:
        for line in lines:
            if not line.strip():
                continue
            try:
                message = read_message(line)
            except ValueError:
                self._take_noise(line)
                continue
            self._noise = 0
            await self._do(message, child, questions)
        await asyncio.sleep(0)  # a flood must not keep the screen waiting

    def _take_noise(self, line: bytes) -> None:
        self._noise += 1
        if self._noise <= _LOGGED_NOISE:
            self._log.add("noise", line[:2_000].decode("utf-8", "replace"))
        if self._noise > MAX_NOISE_LINES:
            self._kill(f"wrote more than {MAX_NOISE_LINES:,} lines that are no messages")

    async def _do(self, message: Said, child: Child, questions: set[asyncio.Task[None]]) -> None:
        match message:
            case RegisterTool() | RegisterCommand() | Subscribe():
                self._register(message)
            case Ready():
                await self._is_ready(message)
            case Result():
                self._answered(message)
            case Output():
                waiting = self._pending.get(message.id)
                if waiting is not None and waiting.report is not None:
                    await waiting.report(message.text)
            case Confirm():
                task = asyncio.get_running_loop().create_task(self._confirm(message, child))  # owned by _live
                questions.add(task)
                task.add_done_callback(questions.discard)
            case Notify():
                self._voice.notify(message.level, message.text)
            case Submit():
                self._voice.submit(message.text)
            case SetStatus():
                self._voice.set_status(message.text)
            case _:
                assert_never(message)

    def _register(self, message: RegisterTool | RegisterCommand | Subscribe) -> None:
        if self.state == "ready":
            self._log.add("state", f"{message.type} came after ready and was left out")
            return
        try:
            match message:
                case RegisterTool():
                    offered = tool_offer(
                        message.name,
                        message.description,
                        message.parameters,
                        readable=message.readable,
                        timeout_s=message.timeout_s,
                        has_detail=message.detail,
                    )
                    self._offering.add_tool(offered)
                case RegisterCommand():
                    self._offering.add_command(
                        command_offer(message.name, message.description, needs_args=message.needs_args)
                    )
                case Subscribe():
                    self._offering.events.update(event_name(name) for name in message.events)
        except ValueError as error:
            raise ExtensionFault(str(error)) from error

    async def _is_ready(self, message: Ready) -> None:
        """Raises ExtensionFault."""
        if message.protocol != PROTOCOL:
            raise ExtensionFault(f"speaks protocol {message.protocol}, this program {PROTOCOL}")
        if self.state == "ready":
            return
        if not self._has_offered:
            self._has_offered, self.offer = True, self._offering
        self.generation += 1
        await self._become("ready")

    def _answered(self, result: Result) -> None:
        waiting = self._pending.get(result.id)
        if waiting is None:
            self._log.add("state", f"an answer to {result.id}, which was not asked, was left out")
        elif not waiting.answer.done():
            self._failures = 0
            waiting.answer.set_result(result)

    async def _confirm(self, question: Confirm, child: Child) -> None:
        reply = await self._voice.confirm(
            question.title, question.message, yes=question.yes, no=question.no, danger=question.danger
        )
        await child.send(written({"type": "confirmed", "id": question.id, "ok": reply.ok}))


_STOPPED = "one of its calls was stopped"
