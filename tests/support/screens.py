import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from textual import events
from textual.keys import _character_to_key
from textual.pilot import Pilot

from agent_tui.ui.app import AgentApp
from agent_tui.ui.commands.registry import Command
from agent_tui.ui.screens.approval.screen import ApprovalScreen
from agent_tui.ui.settings import AppSettings
from tests.support.fake_backend import FakeBackend
from tests.support.patience import PATIENCE_S, at_rest


class Clock:
    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Stage:
    def __init__(self, app: AgentApp, pilot: Pilot[int], backend: FakeBackend) -> None:
        self.app, self.pilot, self.backend = app, pilot, backend

    async def until(self, condition: Callable[[], object]) -> None:
        end = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < end, "it did not happen"
            await self.pilot.pause(0.01)

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.key(key)
            await self.settle()

    async def key(self, key: str) -> None:
        """Press a key without waiting for what it does."""
        name = key if len(key) > 1 or key.isalnum() else _character_to_key(key)
        character = key if len(key) == 1 else _CHARACTERS.get(key)
        self.app.post_message(events.Key(name, character))

    async def settle(self) -> None:
        # pilot.press sleeps 40 ms a key; waiting for the queues costs a tenth of it.
        for _ in range(2):
            passed = asyncio.Event()
            if not self.app.call_later(passed.set):
                return  # the program is gone
            with suppress(TimeoutError):
                await asyncio.wait_for(passed.wait(), PATIENCE_S)
                await self.pilot._wait_for_screen(timeout=PATIENCE_S)
            await asyncio.sleep(0.003)
            await at_rest()

    async def type(self, text: str) -> None:
        await self.press(*[_NAMES.get(character, character) for character in text])

    async def send(self, text: str) -> None:
        self.app.prompt.put(text)
        self.app.completion.close()
        await self.press("enter")

    async def approval(self) -> ApprovalScreen:
        await self.until(lambda: isinstance(self.app.screen, ApprovalScreen))
        await self.pilot.pause()
        assert isinstance(self.app.screen, ApprovalScreen)
        return self.app.screen

    async def idle(self) -> None:
        await self.until(lambda: not self.app.driver.busy)
        await self.pilot.pause()

    @property
    def shown(self) -> list[tuple[str, str]]:
        document = self.app.transcript.document
        return [
            (block.data.kind, self.app.transcript.source(index))
            for index, block in enumerate(document.blocks)
        ]

    @property
    def notices(self) -> list[str]:
        return [
            block.data.text for block in self.app.transcript.document.blocks if block.data.kind == "notice"
        ]

    def picture(self) -> str:
        lines = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip) for strip in lines)


_NAMES = {" ": "space", "\n": "ctrl+j"}
_CHARACTERS = {"space": " ", "enter": "\r", "tab": "\t"}


@asynccontextmanager
async def stage(
    workspace: Path,
    *,
    backend: FakeBackend | None = None,
    size: tuple[int, int] = (100, 30),
    settings: AppSettings | None = None,
    initial_prompt: str = "",
    commands: Sequence[Command] = (),
) -> AsyncIterator[Stage]:
    core = backend or FakeBackend(workspace)

    async def load() -> FakeBackend:
        return core

    app = AgentApp(
        load,
        settings=settings or AppSettings(grace_s=0.0, typing_s=0.0),
        initial_prompt=initial_prompt,
        commands=commands,
    )
    async with app.run_test(size=size) as pilot:
        here = Stage(app, pilot, core)
        await here.until(lambda: app.link is not None)
        await pilot.pause()
        yield here
