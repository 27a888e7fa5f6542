from pathlib import Path

from textual import events

from agent_tui.ui.app import FOCUS_CLICK_S
from agent_tui.ui.screens.approval.screen import ApprovalScreen
from agent_tui.ui.settings import AppSettings
from tests.support.approval_requests import bash_request
from tests.support.fake_backend import FakeBackend, approve
from tests.support.screens import Clock, stage


def state(screen: ApprovalScreen) -> str:
    return screen.round.rows[0].state


async def test_lead_3_1_7_a_click_that_only_focuses_the_window_decides_nothing(workspace: Path) -> None:
    backend = FakeBackend(workspace, script=[[approve(bash_request("c1"), bash_request("c2"))]])
    clock = Clock()
    settings = AppSettings(clock=clock, grace_s=0.0, typing_s=0.0)
    async with stage(workspace, backend=backend, size=(120, 40), settings=settings) as here:
        await here.send("go")
        screen = await here.approval()
        before = state(screen)

        here.app.post_message(events.AppBlur())
        await here.settle()
        here.app.post_message(events.AppFocus())
        await here.settle()
        await here.pilot.click("Hints", offset=(1, 0))
        await here.pilot.pause()

        assert state(screen) == before

        clock.now += FOCUS_CLICK_S + 0.1
        await here.pilot.click("Hints", offset=(1, 0))
        await here.until(lambda: state(screen) == "allowed")
