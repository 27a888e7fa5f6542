from pathlib import Path

from agent_tui.ui.screens.viewer import Viewer
from tests.support.screens import stage


async def test_a_skill_is_shown_with_its_text(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.send("/skills info one")
        await here.until(lambda: isinstance(here.app.screen, Viewer))
        await here.until(lambda: "Do the first thing." in here.picture())
        await here.press("escape")
        await here.send("/skills info two")
        await here.until(lambda: any("No skill named 'two'; there are one." in text for text in here.notices))


async def test_looking_again_also_takes_commands_anew(workspace: Path) -> None:
    async with stage(workspace) as here:
        for line in ("/reload-skills", "/skills reload"):
            before = len(here.notices)
            await here.send(line)
            await here.until(lambda before=before: len(here.notices) > before)
            assert here.notices[-1] == "1 skill for the model, as before.\n! /x/two: has no name"

        assert here.backend.house.calls.count(("reload_skills",)) == 2


async def test_what_skills_cannot_do_is_said(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.send("/skills info")
        await here.until(lambda: any("Write /skills, /skills info NAME" in text for text in here.notices))
