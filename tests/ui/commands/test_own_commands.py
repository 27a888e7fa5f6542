import asyncio
from pathlib import Path

from agent_tui.ui.commands.registry import Command, CommandHost, Registry
from agent_tui.ui.own_commands import OwnCommand, OwnCommandDesk
from agent_tui.ui.screens.help import Help
from agent_tui.ui.screens.picker import Picker
from tests.support.fake_backend import FakeBackend, say
from tests.support.fake_own_commands import FakeOwnCommands
from tests.support.screens import stage

FIX = OwnCommand("fix", "project:fix", "Fix an issue", "NUMBER", "project")
STATUS = OwnCommand("status", "user:status", "Mine", "", "yours")


def with_commands(workspace: Path, *commands: OwnCommand, **more: object) -> FakeBackend:
    backend = FakeBackend(workspace, **more)
    backend.own.commands = list(commands)
    return backend


async def test_a90_a_command_of_a_file_stands_in_the_list_with_its_source_and_begins_a_turn(
    workspace: Path,
) -> None:
    async with stage(workspace, backend=with_commands(workspace, FIX)) as here:
        await here.until(lambda: here.app.registry.find("fix") is not None)
        await here.press("/", "f", "i", "x")
        await here.until(lambda: "Fix an issue (project)" in here.picture())
        assert "/fix NUMBER" in here.picture()
        await here.press("escape", *["backspace"] * 4)
        await here.send("/fix 12")
        await here.until(lambda: here.backend.prompts == ["project:fix: 12"])


async def test_a_built_in_command_is_never_hidden_and_that_is_said(workspace: Path) -> None:
    async with stage(workspace, backend=with_commands(workspace, STATUS)) as here:
        await here.until(lambda: here.app.registry.find("user:status") is not None)
        built_in = here.app.registry.find("status")
        assert built_in is not None
        assert built_in.source == "built in"
        assert "! /status is taken: the command of that name (yours) is /user:status." in here.notices
        await here.send("/user:status")
        await here.until(lambda: here.backend.prompts == ["user:status: "])


async def test_commands_lists_what_the_files_hold_now_and_what_is_wrong(workspace: Path) -> None:
    backend = with_commands(workspace, FIX)
    async with stage(workspace, backend=backend) as here:
        await here.until(lambda: here.app.registry.find("fix") is not None)
        backend.own.commands = [OwnCommand("fresh", "user:fresh", "A fresh one", "", "yours")]
        backend.own.wrong = ["/x/bad.md: the file is empty"]
        await here.send("/commands")
        await here.until(lambda: any("A fresh one (yours)" in text for text in here.notices))
        assert any("! /x/bad.md: the file is empty" in text for text in here.notices)
        assert here.app.registry.find("fix") is None
        await here.send("/fix 1")
        await here.until(lambda: any("There is no command /fix" in text for text in here.notices))


async def test_the_palette_and_the_help_name_the_source(workspace: Path) -> None:
    async with stage(workspace, backend=with_commands(workspace, FIX)) as here:
        await here.until(lambda: here.app.registry.find("fix") is not None)
        await here.press("ctrl+p")
        await here.until(lambda: isinstance(here.app.screen, Picker))
        await here.press("f", "i", "x")
        await here.until(lambda: "Fix an issue (project)" in here.picture())
        await here.press("escape")
        await here.send("/help fix")
        await here.until(lambda: isinstance(here.app.screen, Help))
        await here.until(lambda: "Fix an issue (project)" in here.picture())


async def test_item_62_a_command_sent_during_a_turn_waits_for_its_end(workspace: Path) -> None:
    gate = asyncio.Event()

    async def wait(_backend: FakeBackend) -> None:
        await gate.wait()

    backend = with_commands(workspace, FIX, script=[[wait], [say("fixed")]])
    async with stage(workspace, backend=backend) as here:
        await here.until(lambda: here.app.registry.find("fix") is not None)
        await here.send("first")
        await here.until(lambda: backend.prompts == ["first"])
        await here.send("/fix 3")
        await here.until(lambda: here.app.driver.queued() == [("/fix 3", True)])
        assert backend.prompts == ["first"]
        gate.set()
        await here.until(lambda: backend.prompts == ["first", "project:fix: 3"])


async def nothing(_host: CommandHost, _args: str) -> None:
    return None


async def test_names_that_were_taken_are_said_once() -> None:
    async def turn(_text: str) -> object:
        raise AssertionError

    registry = Registry([Command("fix", "built in", nothing)])
    own = FakeOwnCommands(turn)
    own.commands = [FIX]
    desk = OwnCommandDesk(registry, own)

    said = [await desk.refresh() for _ in range(2)]

    assert said == [["/fix is taken: the command of that name (project) is /project:fix."], []]
    assert [command.name for command in registry.all()] == ["fix", "commands", "project:fix"]


async def test_hooks_lists_what_is_in_force(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.send("/hooks")
        await here.until(lambda: any("pre_tool bash" in text for text in here.notices))
