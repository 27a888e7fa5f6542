"""Runs the person's own shell lines: the bash tool in the sandbox, shown like a call, without a question."""

import asyncio
import json
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from agent_tui.agent.notes import CLOSE
from agent_tui.executor.prepare import MakeContext
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.events import Event, ToolFinished, ToolOutput, ToolStarted
from agent_tui.protocol.tools import ToolResult
from agent_tui.toolkit.source import ToolSource
from agent_tui.toolkit.text import ENDED_AFTER, display_text

BASH = "bash"
MAX_TIMEOUT_MS = 600_000
_ENDED = "(ended by the person)"
_CLOSE_S = 1.5
"""How long closing waits for lines to end; what takes longer ends by itself, watched by its supervisor."""


class PersonShell:
    """Shell lines of one session. `say` gets their events, `tell` what the model is to know."""

    def __init__(
        self,
        tools: ToolSource,
        make_context: MakeContext,
        say: Callable[[Event], Awaitable[None]],
        tell: Callable[[str], None],
    ) -> None:
        self._tools = tools
        self._make_context = make_context
        self._say = say
        self._tell = tell
        self._running: set[asyncio.Task[object]] = set()

    @property
    def cwd(self) -> Path:
        """The folder in which commands run, the model's too."""
        return self._make_context("", "").shell.cwd

    @cwd.setter
    def cwd(self, folder: Path) -> None:
        self._make_context("", "").shell.cwd = folder

    async def run(self, command: str, *, private: bool) -> None:
        """Run `command` to its end. Raises ToolError when there is no bash tool.

        A cancelled caller ends it, and so does `aclose`; what it printed until then is shown and told like any other.
        """
        task = asyncio.current_task()
        assert task is not None  # a coroutine runs in one
        self._running.add(task)
        try:
            await self._run(command, private=private)
        finally:
            self._running.discard(task)

    async def aclose(self) -> None:
        """End the lines that run."""
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running, timeout=_CLOSE_S)

    async def _run(self, command: str, *, private: bool) -> None:
        if not self._tools.owns(BASH):
            raise ToolError("The bash tool is switched off in this run, and a shell line is one.")
        call_id = f"shell-{secrets.token_hex(4)}"
        arguments = json.dumps({"command": command, "timeout": MAX_TIMEOUT_MS})
        name, title = ("!!" if private else "!"), self._tools.title(BASH, arguments)
        printed: list[str] = []

        async def report(text: str) -> None:
            printed.append(text)
            await self._say(ToolOutput(turn_id="", call_id=call_id, text=text))

        ctx = replace(self._make_context(call_id, ""), report=report)
        await self._say(
            ToolStarted(
                turn_id="",
                call_id=call_id,
                tool=BASH,
                display_name=name,
                title=title,
                arguments_json=arguments,
            )
        )
        started = time.monotonic()
        cancelled = ran = False
        try:
            result = await self._tools.execute(BASH, arguments, ctx)
            ran = True
            if cancelled := _was_cancelled():  # the tool took over what was printed until then
                result = _ended(result, time.monotonic() - started)
        except ToolError as error:
            result = ToolResult.error(str(error))
        except asyncio.CancelledError:
            cancelled = True
            result = ToolResult.error(f"{''.join(printed)}\n{_ENDED}")
        display = self._tools.show(BASH, arguments, result) if ran else display_text(result.output)
        await self._say(
            ToolFinished(
                turn_id="",
                call_id=call_id,
                tool=BASH,
                display_name=name,
                title=title,
                is_error=result.is_error,
                output=result.output,
                display=display,
                elapsed_s=time.monotonic() - started,
                effect="cancelled" if cancelled else "ran",
            )
        )
        if not private:
            said = f"The person ran a shell line of their own:\n{command}\nIts output:\n{result.output}"
            self._tell(said.replace(CLOSE, CLOSE.replace("/", "\\/")))
        if cancelled:
            raise asyncio.CancelledError


def _was_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _ended(result: ToolResult, elapsed_s: float) -> ToolResult:
    """Give what a line printed until the person ended it, with that word behind it."""
    output = f"{result.output}\n{_ENDED}".lstrip()
    return ToolResult(output=output, is_error=True, data={**result.data, ENDED_AFTER: round(elapsed_s, 1)})
