import asyncio
from pathlib import Path

from agent_tui.ui.commands.registry import Command, CommandHost
from agent_tui.ui.past import PointView
from agent_tui.ui.screens.picker import Picker
from tests.support.fake_backend import FakeBackend, wait_for
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


async def test_commands_that_never_ran_are_named_and_stay_apart_from_messages(workspace: Path) -> None:
    async with stage(workspace, backend=left(workspace, "//etc is what?", "/compact", "/model m")) as here:
        await here.until(lambda: here.app.prompt.text)

        assert here.app.prompt.text == "//etc is what?"
        assert "! 2 commands waited for the end of a turn and never ran: /compact, /model m" in here.notices


async def test_a_command_that_never_ran_comes_back_alone(workspace: Path) -> None:
    async with stage(workspace, backend=left(workspace, "/compact")) as here:
        await here.until(lambda: here.app.prompt.text)

        assert here.app.prompt.text == "/compact"
        assert here.backend.prompts == []


async def test_commands_that_wait_are_kept_until_they_run_or_are_taken_back(workspace: Path) -> None:
    gate = asyncio.Event()
    backend = FakeBackend(workspace, script=[[wait_for(gate)]])
    ran: list[str] = []

    async def run(_host: CommandHost, args: str) -> None:
        ran.append(args)

    async with stage(workspace, backend=backend, commands=[Command("petals", "count", run)]) as here:
        await here.send("begin")
        await here.until(lambda: here.app.driver.busy)
        await here.send("/petals one")
        await here.send("/petals two")
        await here.until(lambda: backend.kept_commands == ["/petals one", "/petals two"])
        here.app.driver.take_back()
        assert backend.kept_commands == ["/petals one"]
        gate.set()
        await here.until(lambda: ran)

        assert ran == ["one"]
        assert backend.kept_commands == []


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
