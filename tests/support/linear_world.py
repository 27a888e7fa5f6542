import asyncio
import io
import os
import termios
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from agent_tui.ui.linear.program import LinearProgram
from tests.support.fake_backend import FakeBackend
from tests.support.patience import until


class Talk:
    """A program that talks in lines over a real terminal; what it said is `said`."""

    def __init__(self, program: LinearProgram, backend: FakeBackend, out: io.StringIO, keyboard: int) -> None:
        self.program, self.backend = program, backend
        self._out, self._keyboard = out, keyboard
        self._read = 0

    @property
    def said(self) -> str:
        return self._out.getvalue()

    @property
    def new(self) -> str:
        return self.said[self._read :]

    async def until(self, told: str | Callable[[], object]) -> str:
        seen = told if callable(told) else lambda: told in self.new
        try:
            await until(seen)
        except TimeoutError:
            raise AssertionError(f"not said: {told!r}\n{self.said}") from None
        return self.new

    def type(self, text: str) -> None:
        self._read = len(self.said)
        os.write(self._keyboard, text.encode())

    async def answer(self, text: str, then: str) -> str:
        """Type a line once it is asked for, and wait for what is said then."""
        await self.until(lambda: self.said.endswith(": "))
        self.type(f"{text}\n")
        return await self.until(then)


@asynccontextmanager
async def talk(workspace: Path, backend: FakeBackend | None = None, prompt: str = "") -> AsyncIterator[Talk]:
    core = backend or FakeBackend(workspace)

    async def load() -> FakeBackend:
        return core

    keyboard, terminal = os.openpty()
    settings = termios.tcgetattr(terminal)
    settings[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, settings)
    out = io.StringIO()
    program = LinearProgram(load, fd=terminal, out=out, initial_prompt=prompt, grace_s=0.0)
    here = Talk(program, core, out, keyboard)
    try:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(program.run())
            await here.until("Model scripted" if not prompt else "Working.")
            yield here
            program._leave()
            await running
    finally:
        os.close(keyboard)
        os.close(terminal)
