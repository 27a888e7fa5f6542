from pathlib import Path

from agent_tui.ui.past import PointView
from agent_tui.ui.screens.picker import Picker
from tests.support.fake_backend import FakeBackend
from tests.support.screens import stage


def left(workspace: Path, *texts: str) -> FakeBackend:
    backend = FakeBackend(workspace)
    backend.left = list(texts)
    return backend


async def test_what_was_never_sent_comes_back_into_the_prompt_with_one_notice(workspace: Path) -> None:
    async with stage(workspace, backend=left(workspace, "use tabs", "then test")) as here:
        await here.until(lambda: here.app.prompt.text)

        assert here.app.prompt.text == "use tabs\nthen test"
        assert [text for text in here.notices if "never sent" in text] == [
            "! 2 messages typed ahead were never sent. The words come back; nothing is sent by itself."
        ]
        assert here.backend.prompts == []
        assert here.backend.queue == []


async def test_what_was_never_sent_does_not_touch_a_draft(workspace: Path) -> None:
    backend = left(workspace, "use tabs")
    async with stage(workspace, backend=FakeBackend(workspace)) as here:
        here.app.prompt.put("my draft")
        here.backend.left = backend.left
        await here.app.actions.open_session("s-2")

        assert here.app.prompt.text == "my draft"
        assert any("use tabs" in text for text in here.notices)


async def test_esc_twice_on_an_empty_prompt_opens_the_rewind_menu(workspace: Path) -> None:
    backend = FakeBackend(workspace)
    backend.past.views = [PointView("e1", "make petals", 0.0, 0, active=True)]
    async with stage(workspace, backend=backend) as here:
        await here.press("escape")
        assert not here.app.in_dialog
        await here.press("escape")
        await here.until(lambda: isinstance(here.app.screen, Picker))

        assert "make petals" in here.picture()


async def test_esc_twice_on_a_draft_clears_it_and_keeps_it_in_the_history(workspace: Path) -> None:
    async with stage(workspace) as here:
        here.app.prompt.put("half a thought")
        await here.press("escape", "escape")

        assert here.app.prompt.text == ""
        assert not here.app.in_dialog
        await here.press("up")
        assert here.app.prompt.text == "half a thought"
