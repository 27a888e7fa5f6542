import re
from pathlib import Path

import pytest

from agent_tui.ui.bindings import ACTIONS
from agent_tui.ui.commands.builtin import builtin_commands
from agent_tui.ui.keymap import Keymap
from agent_tui.ui.screens.help import Help
from agent_tui.ui.screens.picker import Picker
from tests.support.fake_backend import FakeBackend
from tests.support.screens import Stage, stage


def listed(help_: Help) -> str:
    return "\n".join(line.plain for line in help_.lines(""))


async def opened(here: Stage, *keys: str) -> Help:
    await here.press(*keys)
    await here.until(lambda: isinstance(here.app.screen, Help))
    assert isinstance(here.app.screen, Help)
    return here.app.screen


async def test_a_new_user_finds_every_command_from_help_with_its_other_names(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 40)) as here:
        await here.send("/help")
        await here.until(lambda: isinstance(here.app.screen, Help))
        assert isinstance(here.app.screen, Help)
        shown = listed(here.app.screen)

    joined = " ".join(shown.split())
    for command in builtin_commands():
        assert re.search(rf"/{re.escape(command.name)}\b", shown), command.name
        for alias in command.aliases:
            assert f"/{alias}" in joined, (command.name, alias)


async def test_a_new_user_finds_every_command_from_the_palette(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 40)) as here:
        await here.press("ctrl+p")
        await here.until(lambda: isinstance(here.app.screen, Picker))
        picker = here.app.screen
        assert isinstance(picker, Picker)
        names = {row.split()[0] for row in picker._rows.texts if row.split()}

    assert {f"/{command.name}" for command in builtin_commands()} <= names


async def test_a_new_user_finds_every_command_by_typing_a_slash(tmp_path: Path) -> None:
    async with stage(tmp_path) as here:
        await here.type("/")
        await here.until(lambda: here.app.completion.count)
        offered = {text.split()[0] for text in here.app.completion.texts}

    assert {f"/{command.name}" for command in builtin_commands()} <= offered


@pytest.mark.parametrize("keys", [("f1",), ("?",), ("ctrl+x", "h")])
async def test_every_key_that_does_something_is_on_the_sheet(tmp_path: Path, keys: tuple[str, ...]) -> None:
    async with stage(tmp_path, size=(120, 40)) as here:
        shown = " ".join(listed(await opened(here, *keys)).split())

    keymap = Keymap()
    missing = [
        (context, action, key)
        for context, actions in ACTIONS.items()
        if context != "vim"  # shown where the preset is in force
        for action in actions
        for key in keymap.keys_of(context, action)
        if key not in shown
    ]
    assert missing == []


async def test_a_key_that_was_bound_anew_is_shown_as_it_is(tmp_path: Path) -> None:
    from agent_tui.ui.settings import AppSettings

    keymap = tmp_path / "keymap.toml"
    keymap.write_text('[global]\n"f1" = ""\n"f8" = "help"\n"ctrl+l" = ""\n')
    settings = AppSettings(grace_s=0.0, typing_s=0.0, keymap_file=keymap)
    async with stage(tmp_path, backend=FakeBackend(tmp_path), settings=settings, size=(120, 40)) as here:
        shown = listed(await opened(here, "f8"))

    line = next(line for line in shown.split("\n") if "show this sheet" in line)
    assert "F8" in line
    assert "F1" not in line
    assert "draw the screen again" not in shown


async def test_what_is_typed_in_help_finds_commands_and_keys(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 40)) as here:
        help_ = await opened(here, "f1")
        await here.type("less")
        await here.until(lambda: "/transcript" in here.picture())

        assert "Ctrl+O" in here.picture()
        assert "/theme" not in "\n".join(line.plain for line in help_.lines("less"))
