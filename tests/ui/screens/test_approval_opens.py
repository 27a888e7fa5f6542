"""The approval screen comes up in one piece: no layout on the way to the last one is written."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.geometry import Region

from agent_tui.protocol.permissions import PermissionRequest
from agent_tui.ui import settling
from agent_tui.ui.screens.approval.screen import ApprovalScreen
from tests.support.approval_requests import bash_request, edit_request
from tests.support.fake_backend import FakeBackend, approve
from tests.support.screens import Stage, stage

WROTE = App._display


@asynccontextmanager
async def opening(workspace: Path, *requests: PermissionRequest) -> AsyncIterator[Stage]:
    """Give the program when it has begun to open the screen."""
    async with stage(workspace, backend=FakeBackend(workspace, script=[[approve(*requests)]])) as here:
        await here.send("go")
        yield here


@pytest.mark.parametrize("count", [1, 6])
async def test_it_is_written_in_its_last_layout_only(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    written: list[Region] = []

    def write(app: Any, screen: Any, renderable: object) -> None:
        if isinstance(screen, ApprovalScreen):
            written.append(screen.query_one(".frame").region)
        WROTE(app, screen, renderable)

    monkeypatch.setattr(App, "_display", write)
    monkeypatch.setattr(settling, "MOST_S", 60.0)
    requests = [bash_request("c1", "touch made"), *(edit_request(f"c{n}") for n in range(2, count + 1))]
    async with opening(workspace, *requests) as here:
        screen = await here.approval()
        await here.until(lambda: written)
        await here.press("down", "up")

        assert set(written) == {screen.query_one(".frame").region}


async def test_frames_are_written_again_when_the_layout_is_never_found(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settling, "SAME_FRAMES", 10**9)
    monkeypatch.setattr(settling, "MOST_S", 0.01)
    async with opening(workspace, bash_request("c1", "touch made")) as here:
        await here.approval()

        await here.until(lambda: not here.app.holds_frames)


async def test_a_screen_that_goes_at_once_holds_nothing_back(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settling, "SAME_FRAMES", 10**9)
    monkeypatch.setattr(settling, "MOST_S", 60.0)
    async with opening(workspace, bash_request("c1", "touch made")) as here:
        await here.until(lambda: here.app.holds_frames)
        here.app.link.approver.lower()
        assert not here.app.holds_frames
