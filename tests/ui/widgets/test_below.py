from pathlib import Path

from agent_tui.protocol.replay import ReplayBlock
from tests.support.screens import stage


async def test_new_messages_are_counted_once_and_a_click_goes_there(workspace: Path) -> None:
    async with stage(workspace, size=(80, 20)) as here:
        transcript = here.app.transcript
        transcript.load([ReplayBlock("notice", f"line {number}") for number in range(40)])
        await here.pilot.pause()
        transcript.go_home()
        transcript.add(ReplayBlock("notice", "one"))
        transcript.add(ReplayBlock("notice", "two"))
        await here.until(lambda: "2 new messages, " in here.picture())
        assert here.picture().count("new messages") == 1

        await here.pilot.click("#below")
        await here.until(lambda: "new messages" not in here.picture())
        assert transcript.new_messages == 0
