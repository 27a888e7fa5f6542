from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent_tui.ui.house import TrustLine, TrustView
from agent_tui.ui.screens.help import Help
from agent_tui.ui.screens.picker import Picker
from agent_tui.ui.screens.trust import TrustScreen
from agent_tui.ui.screens.welcome import Welcome
from agent_tui.ui.settings import AppSettings
from tests.support.fake_backend import FakeBackend
from tests.support.screens import Stage, stage


@asynccontextmanager
async def first_start(
    tmp_path: Path, backend: FakeBackend | None = None, size: tuple[int, int] = (100, 30)
) -> AsyncIterator[tuple[Stage, list[tuple[str, str]]]]:
    kept: list[tuple[str, str]] = []
    settings = AppSettings(
        grace_s=0.0, typing_s=0.0, first_run=True, remember=lambda key, value: kept.append((key, value))
    )
    async with stage(tmp_path, backend=backend, settings=settings, size=size) as here:
        yield here, kept


async def test_the_first_start_greets_and_says_what_answers_and_what_asks(tmp_path: Path) -> None:
    async with first_start(tmp_path) as (here, kept):
        await here.until(lambda: "Welcome to agent-tui" in here.picture())

        assert "scripted:scripted-1" in here.picture()
        assert "before anything is written or run" in here.picture()
        assert "Shift+Tab changes it" in here.picture()
        assert kept == [("welcomed", "yes")]
        await here.press("enter")
        assert not here.app.in_dialog


async def test_other_starts_do_not_greet(tmp_path: Path) -> None:
    async with stage(tmp_path) as here:
        await here.settle()

        assert not here.app.in_dialog


async def test_what_is_typed_goes_on_to_the_prompt(tmp_path: Path) -> None:
    async with first_start(tmp_path) as (here, _):
        await here.until(lambda: isinstance(here.app.screen, Welcome))
        for key in "hello":
            await here.key(key)
        await here.until(lambda: here.app.prompt.text == "hello")

        assert not here.app.in_dialog


async def test_an_enter_that_comes_with_the_text_sends_it(tmp_path: Path) -> None:
    async with first_start(tmp_path) as (here, _):
        await here.until(lambda: isinstance(here.app.screen, Welcome))
        for key in ("h", "i", "x", "backspace", "enter"):
            await here.key(key)
        await here.until(lambda: here.backend.prompts == ["hi"])

        assert here.app.prompt.text == ""


async def test_it_comes_back_from_what_was_looked_at(tmp_path: Path) -> None:
    async with first_start(tmp_path) as (here, _):
        await here.until(lambda: isinstance(here.app.screen, Welcome))
        await here.press("down", "enter")
        await here.until(lambda: isinstance(here.app.screen, Picker))
        await here.press("escape")
        await here.until(lambda: isinstance(here.app.screen, Welcome))
        await here.press("end", "enter")
        await here.until(lambda: isinstance(here.app.screen, Help))
        await here.press("escape")
        await here.until(lambda: isinstance(here.app.screen, Welcome))
        await here.press("escape")
        await here.until(lambda: not here.app.in_dialog)


async def test_trust_is_asked_first(tmp_path: Path) -> None:
    backend = FakeBackend(tmp_path)
    backend.house.trust_view = TrustView(lines=(TrustLine("run", "x", "y", ".mcp.json"),), digest="d")
    async with first_start(tmp_path, backend) as (here, _):
        await here.until(lambda: isinstance(here.app.screen, TrustScreen))
        await here.press("escape")
        await here.until(lambda: isinstance(here.app.screen, Welcome))


@pytest.mark.parametrize("size", [(40, 12), (20, 5), (1, 1)])
async def test_it_fits_any_terminal(tmp_path: Path, size: tuple[int, int]) -> None:
    async with first_start(tmp_path, size=size) as (here, _):
        await here.until(lambda: isinstance(here.app.screen, Welcome))
        await here.press("down", "up", "enter")

        assert not here.app.in_dialog
