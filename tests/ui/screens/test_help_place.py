from pathlib import Path

from agent_tui.ui.screens.help import Help
from tests.support.approval_requests import mixed_round
from tests.support.approval_stage import asking
from tests.support.screens import stage


async def test_help_opens_at_the_keys_of_the_screen_it_was_asked_from(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, *mixed_round()), size=(80, 24)) as here:
        await here.send("go")
        screen = await here.approval()

        await here.press("f1")
        await here.until(lambda: "Approving calls" in here.picture())
        lines = here.picture().split("\n")
        head = next(n for n, line in enumerate(lines) if "Approving calls" in line)
        assert "y · 1" in lines[head + 1]
        shown = "\n".join(lines)
        for words in (
            "switch between allow and deny",
            "group by permission, tool, file, agent",
            "in this round",
        ):
            assert words in shown

        await here.press("f1", "escape")
        assert here.app.screen is screen

        await here.press("x", "enter")
        await here.idle()
        await here.send("/permissions")
        await here.press("f1")
        await here.until(lambda: isinstance(here.app.screen, Help))
        await here.until(lambda: "Permissions" in here.picture())
        assert "Commands" not in here.picture()
