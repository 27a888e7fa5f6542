from pathlib import Path

import pytest

from agent_tui.protocol.permissions import PermissionRequest
from agent_tui.ui.screens.approval.hints import Hints
from tests.support.approval_requests import bash_request, edit_request
from tests.support.fake_backend import FakeBackend, approve
from tests.support.screens import stage

ONE = (bash_request("c1"),)
TWO = (bash_request("c1"), bash_request("c2", "rm x", pattern=""))


async def test_a_screen_of_eighty_columns_names_every_key_of_a_round_and_what_submitting_denials_does(
    workspace: Path,
) -> None:
    backend = FakeBackend(workspace, script=[[approve(*TWO)]])
    async with stage(workspace, backend=backend, size=(80, 24)) as here:
        await here.send("go")
        screen = await here.approval()
        await here.settle()
        assert all(hint in here.picture() for hint in ("? Why", "Y Allow all", "x Deny all", "Esc Later"))

        await here.press("x")
        assert screen.note == "All decided. Enter tells the model."
        await here.settle()
        assert "Enter Send" in here.picture()


@pytest.mark.parametrize("requests", [ONE, TWO])
async def test_a_narrow_screen_keeps_comment_and_why_below_the_call(
    workspace: Path, requests: tuple[PermissionRequest, ...]
) -> None:
    backend = FakeBackend(workspace, script=[[approve(*requests)]])
    async with stage(workspace, backend=backend, size=(60, 24)) as here:
        await here.send("go")
        screen = await here.approval()
        await here.settle()
        hints = screen.query_one(Hints)

        assert "c Comment" in here.picture()
        assert "? Why" in here.picture()
        assert hints.region.height == 2

        second = hints.render().plain.split("\n")[1]
        await here.pilot.click(hints, offset=(second.index("Comment" if "Comment" in second else "Why"), 1))
        await here.settle()
        assert hints.display is ("Comment" not in second)


@pytest.mark.parametrize("size", [(20, 5), (30, 8), (40, 15), (60, 20), (76, 11)])
@pytest.mark.parametrize(
    ("requests", "before", "vital"),
    [
        (ONE, "", ("y", "n", "Esc")),
        (TWO, "", ("y", "n", "Enter", "Esc")),
        (TWO, "x", ("Enter", "Esc")),
        ((edit_request("c1"),), "h", ("Enter", "Esc")),
    ],
)
async def test_every_size_names_the_keys_that_decide_send_and_leave(
    workspace: Path,
    requests: tuple[PermissionRequest, ...],
    before: str,
    vital: tuple[str, ...],
    size: tuple[int, int],
) -> None:
    backend = FakeBackend(workspace, script=[[approve(*requests)]])
    async with stage(workspace, backend=backend, size=size) as here:
        await here.send("go")
        screen = await here.approval()
        await here.press(*before)
        await here.settle()
        line = screen.query_one(Hints).render().plain

        assert [word for word in vital if word not in line.split()] == []
        assert all(text in here.picture() for text in line.split("\n"))


async def test_the_permissions_name_no_key_that_is_for_one_call(workspace: Path) -> None:
    backend = FakeBackend(workspace, script=[[approve(*TWO)]])
    async with stage(workspace, backend=backend, size=(120, 40)) as here:
        await here.send("go")
        await here.approval()
        await here.settle()
        assert "c Comment" in here.picture()

        await here.press("tab")
        await here.settle()
        assert "c Comment" not in here.picture()
        assert "a Session" in here.picture()

        await here.press("escape")
        await here.settle()
        assert "c Comment" in here.picture()
