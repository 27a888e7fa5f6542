from pathlib import Path

from agent_tui.ui.screens.approval.screen import ApprovalScreen
from tests.support.approval_requests import bash_request
from tests.support.fake_backend import FakeBackend, approve, say
from tests.support.screens import Stage, stage

LONG = "".join(f"Step {number} of the plan.\n\n" for number in range(30)) + "So I delete the folder."


def is_clear(here: Stage, screen: ApprovalScreen) -> bool:
    """Whether the last words stand above the box."""
    transcript, top = here.app.transcript, screen.query_one(".frame").region.y
    rows = [strip.text for strip in transcript.render_lines(transcript.size.region)]
    found = [transcript.region.y + at for at, row in enumerate(rows) if "So I delete the folder." in row]
    return transcript.region.bottom <= top and bool(found) and found[0] < top


async def test_the_box_of_one_call_leaves_the_words_before_it_in_sight(workspace: Path) -> None:
    backend = FakeBackend(workspace, script=[[say(LONG), approve(bash_request("c1"))]])
    async with stage(workspace, backend=backend, size=(100, 40)) as here:
        await here.send("go")
        screen = await here.approval()
        await here.until(lambda: is_clear(here, screen))

        await here.press("escape")
        await here.until(lambda: not isinstance(here.app.screen, ApprovalScreen))
        await here.until(lambda: here.app.transcript.region.height > 30)


async def test_the_box_of_a_round_leaves_the_words_before_it_in_sight_at_every_size(workspace: Path) -> None:
    asked = approve(bash_request("c1"), bash_request("c2", "rm x", pattern=""))
    backend = FakeBackend(workspace, script=[[say(LONG), asked]])
    async with stage(workspace, backend=backend, size=(100, 50)) as here:
        await here.send("go")
        screen = await here.approval()
        for height in (50, 36, 44):
            await here.pilot.resize_terminal(100, height)
            await here.until(lambda size=height: screen.size.height == size and is_clear(here, screen))
