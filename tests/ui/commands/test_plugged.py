import asyncio
from dataclasses import replace
from pathlib import Path

from agent_tui.ui.house import Listing
from agent_tui.ui.plugged import PluggedCommand
from agent_tui.ui.screens.confirm import Confirm
from agent_tui.ui.screens.help import Help
from agent_tui.ui.screens.picker import Picker
from tests.support.fake_backend import FakeBackend, say, wait_for
from tests.support.screens import Stage, stage

RELEASE = PluggedCommand("release", "Releases a version", True, "ship")
CHECK = PluggedCommand("checks", "Looks at the build", False, "ship")


def offering(workspace: Path, *commands: PluggedCommand) -> FakeBackend:
    backend = FakeBackend(workspace)
    backend.extensions.offered = list(commands)
    return backend


async def opened(here: Stage) -> None:
    await here.until(
        lambda: here.backend.extensions.person is not None and here.app.driver._backend is not None
    )
    await here.pilot.pause()


async def test_x07_a_command_runs_with_its_arguments(workspace: Path) -> None:
    async with stage(workspace, backend=offering(workspace, RELEASE, CHECK)) as here:
        await opened(here)
        await here.type("/release  v2 ")
        await here.press("enter")
        await here.until(lambda: here.backend.extensions.calls)

        assert here.backend.extensions.calls == [("release", "v2")]
        assert here.backend.prompts == []


async def test_x12_needs_args_puts_the_name_in_the_prompt(workspace: Path) -> None:
    async with stage(workspace, backend=offering(workspace, RELEASE, CHECK)) as here:
        await opened(here)
        here.app.actions.submit("/release")
        await here.pilot.pause()

        assert here.app.prompt.text == "/release "
        assert here.backend.extensions.calls == []
        here.app.actions.submit("/checks")
        await here.until(lambda: here.backend.extensions.calls == [("checks", "")])


async def test_x12_a_command_cannot_take_the_name_of_a_built_in_one(workspace: Path) -> None:
    taken = PluggedCommand("quit", "Not the real one", False, "ship")
    async with stage(workspace, backend=offering(workspace, taken)) as here:
        await opened(here)

        command = here.app.registry.find("quit")
        assert command is not None
        assert command.source == "built in"
        assert any("/quit of extension ship is left out: built in has one" in text for text in here.notices)


async def test_commands_show_their_source_in_popup_palette_and_help(workspace: Path) -> None:
    async with stage(workspace, backend=offering(workspace, RELEASE)) as here:
        await opened(here)
        await here.type("/relea")
        await here.pilot.pause()
        assert "Releases a version (extension ship)" in here.picture()
        await here.press("escape", "ctrl+c")
        here.app.actions.perform("palette")
        await here.until(lambda: isinstance(here.app.screen, Picker))
        await here.type("relea")
        await here.pilot.pause()
        assert "Releases a version (extension ship)" in here.picture()
        await here.press("escape")
        here.app.actions.show_help("/release")
        await here.until(lambda: isinstance(here.app.screen, Help))
        await here.pilot.pause()
        assert "(extension ship)" in here.picture()


async def test_commands_that_come_later_join_the_list_and_are_named_once(workspace: Path) -> None:
    async with stage(workspace, backend=offering(workspace)) as here:
        await opened(here)
        person = here.backend.extensions.person
        assert person is not None
        here.backend.extensions.offered = [RELEASE, PluggedCommand("quit", "x", False, "ship")]
        person.commands_changed()
        person.commands_changed()

        assert here.app.registry.find("release") is not None
        assert sum("/quit of extension ship" in text for text in here.notices) == 1


async def test_commands_that_are_gone_leave_the_list(workspace: Path) -> None:
    async with stage(workspace, backend=offering(workspace, RELEASE, CHECK)) as here:
        await opened(here)
        person = here.backend.extensions.person
        assert person is not None
        here.backend.extensions.offered = [CHECK]
        person.commands_changed()

        assert here.app.registry.find("release") is None
        assert here.app.registry.find("checks") is not None


async def test_a_failing_command_is_one_line(workspace: Path) -> None:
    backend = offering(workspace, CHECK)
    backend.extensions.fails["checks"] = "/checks of the extension 'ship' failed: no network"
    async with stage(workspace, backend=backend) as here:
        await opened(here)
        here.app.actions.submit("/checks")
        await here.until(lambda: any("no network" in text for text in here.notices))


async def test_x12_confirm_has_labels_and_danger_and_leaving_it_is_a_no(workspace: Path) -> None:
    async with stage(workspace, backend=offering(workspace)) as here:
        await opened(here)
        person = here.backend.extensions.person
        assert person is not None

        async def asked(key: str) -> bool:
            question = asyncio.ensure_future(
                person.confirm("ship: Release", "Release v2?", yes="Ship it", no="Wait", danger=True)
            )
            await here.until(lambda: isinstance(here.app.screen, Confirm))
            await here.pilot.pause()
            for word in ("ship: Release", "Release v2?", "Ship it", "Wait"):
                assert word in here.picture()
            await here.press(key)
            return await question

        assert await asked("enter") is False, "with danger the cursor stands on no"
        assert await asked("y") is True
        assert await asked("escape") is False


async def test_x12_notices_have_three_levels_and_the_status_stands_in_the_line_below(
    workspace: Path,
) -> None:
    async with stage(workspace, backend=offering(workspace)) as here:
        await opened(here)
        person = here.backend.extensions.person
        assert person is not None
        for level in ("info", "warning", "error"):
            person.notify(level, f"ship: {level}")
        here.backend.view = replace(here.backend.view, notes=("build green",))
        person.status_changed()
        await here.pilot.pause()

        assert [text for text in here.notices if "ship:" in text] == [
            "ship: info",
            "! ship: warning",
            "✗ ship: error",
        ]
        assert "build green" in here.picture()
        here.backend.view = replace(here.backend.view, notes=())
        person.status_changed()
        await here.pilot.pause()
        assert "build green" not in here.picture()


async def test_x07_submit_queues_a_message_and_never_runs_a_command(workspace: Path) -> None:
    gate = asyncio.Event()
    backend = offering(workspace)
    backend.script.append([wait_for(gate), say("one")])
    async with stage(workspace, backend=backend) as here:
        await opened(here)
        person = here.backend.extensions.person
        assert person is not None
        here.app.actions.submit("first")
        await here.until(lambda: here.app.driver.busy)
        person.submit("/yolo and more")
        assert here.backend.queue == [("/yolo and more", True)]
        gate.set()
        await here.until(lambda: here.backend.prompts == ["first", "/yolo and more"])
        assert here.backend.view.mode == "default"


async def test_extensions_lists_what_there_is_and_what_is_wrong_and_restarts(workspace: Path) -> None:
    backend = offering(workspace)
    backend.extensions.shown = Listing((("ship", "t, /release (~/ship.py)"),), ("odd: odd.py: line 1",))
    async with stage(workspace, backend=backend) as here:
        await opened(here)
        here.app.actions.submit("/extensions")
        await here.until(lambda: any("/release" in text for text in here.notices))
        assert any("! odd: odd.py: line 1" in text for text in here.notices)
        here.app.actions.submit("/extensions restart ship")
        await here.until(lambda: ("restart", "ship") in here.backend.extensions.calls)
        here.app.actions.submit("/extensions log ship")
        await here.until(lambda: "log of ship" in here.notices)
        here.app.actions.submit("/extensions what")
        await here.until(lambda: any("Write /extensions" in text for text in here.notices))
