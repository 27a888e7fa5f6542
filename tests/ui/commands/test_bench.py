from pathlib import Path

import pytest

from agent_tui.ui.commands.builtin import builtin_commands
from agent_tui.ui.screens.picker import Picker
from agent_tui.ui.settings import AppSettings
from tests.support.fake_backend import FakeBackend, wait_for
from tests.support.screens import stage


def settings(kept: dict[str, str]) -> AppSettings:
    return AppSettings(grace_s=0.0, typing_s=0.0, remember=kept.__setitem__)


async def test_vim_switches_the_modes_on_and_off_and_remembers_it(workspace: Path) -> None:
    kept: dict[str, str] = {}
    async with stage(workspace, settings=settings(kept)) as here:
        await here.send("/vim")
        await here.until(lambda: here.app.prompt.vim is not None)
        assert kept == {"keys": "vim"}
        assert "INSERT" in here.picture()
        await here.type("ab")
        await here.press("escape", "x")
        assert here.app.prompt.text == "a"
        assert "NORMAL" in here.picture()

        await here.press("i")
        await here.send("/vim")
        await here.until(lambda: here.app.prompt.vim is None)
        assert kept == {"keys": "default"}
        assert "NORMAL" not in here.picture()


async def test_keymap_chooses_a_preset_and_refuses_others(workspace: Path) -> None:
    kept: dict[str, str] = {}
    async with stage(workspace, settings=settings(kept)) as here:
        await here.send("/keymap emacs")
        await here.until(lambda: kept)
        here.app.prompt.put("ab")
        await here.press("ctrl+b", "X")
        assert here.app.prompt.text == "aXb"

        here.app.prompt.clear()
        await here.send("/keymap vi")
        await here.until(lambda: any("There is no preset 'vi'" in text for text in here.notices))


async def test_the_status_line_shows_what_was_chosen(workspace: Path) -> None:
    kept: dict[str, str] = {}
    async with stage(workspace, settings=settings(kept)) as here:
        await here.send("/statusline model | folder context")
        await here.until(lambda: kept)
        line = here.app.status.render().plain
        assert line.startswith("scripted-1")
        assert line.rstrip().endswith("context 6 %")
        assert kept == {"status": "model | folder context"}

        await here.send("/statusline modell")
        await here.until(lambda: any("no segment 'modell'" in text for text in here.notices))
        await here.send("/statusline reset")
        await here.until(lambda: here.app.status.render().plain.startswith("ask"))


async def test_segments_are_switched_one_by_one_in_a_list(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.send("/statusline")
        await here.until(lambda: isinstance(here.app.screen, Picker))
        await here.press(*"model", "enter")
        await here.until(lambda: "scripted-1" not in here.app.status.render().plain)
        await here.until(lambda: isinstance(here.app.screen, Picker))
        await here.press("escape")
        await here.until(lambda: not here.app.in_dialog)

        assert "ask" in here.app.status.render().plain


async def test_any_waiting_message_can_be_taken_back_and_changed(workspace: Path) -> None:
    import asyncio

    gate = asyncio.Event()
    async with stage(workspace, backend=FakeBackend(workspace, script=[[wait_for(gate)]])) as here:
        await here.send("go")
        await here.until(lambda: here.app.driver.busy)
        for text in ("first", "second", "third"):
            await here.send(text)
        assert "3 queued" in here.picture()
        await here.send("/queue")
        await here.until(lambda: isinstance(here.app.screen, Picker))
        await here.press(*"second", "enter")
        await here.until(lambda: here.app.prompt.text == "second")

        assert [text for text, _ in here.backend.queue] == ["first", "third"]
        gate.set()
        await here.idle()


async def test_an_empty_queue_says_so(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.send("/queue")
        await here.until(lambda: "Nothing waits." in here.picture())
        await here.press("escape")


async def test_editor_opens_the_prompt_outside(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    async with stage(workspace) as here:
        await here.send("/editor")
        await here.until(lambda: any("Set VISUAL or EDITOR" in text for text in here.notices))


def test_every_command_has_help_and_those_with_choices_complete_them() -> None:
    commands = builtin_commands()

    for command in commands:
        assert command.summary
        assert command.summary[0].islower()
        assert not command.summary.endswith(".")
    words = [word for command in commands for word in (command.name, *command.aliases)]
    assert len(words) == len(set(words))
    with_choices = {command.name for command in commands if command.complete is not None}
    assert {
        "model",
        "mode",
        "theme",
        "keymap",
        "statusline",
        "permissions",
        "login",
        "memory",
    } <= with_choices


SURFACE = """help ? clear new reset compact summarize compress context usage cost stats status model models effort
thinking mode plan permissions approvals allowed-tools policies yolo allow-all sandbox resume sessions continue history
rename title name fork branch tree rewind checkpoint undo redo diff export share copy search find add-dir directory cd
cwd init memory instructions skills agents subagents hooks tasks ps bashes task shells btw ask side goal review
code-review editor theme themes vim keymap keybindings hotkeys config settings statusline footer terminal-setup doctor
diagnose login logout auth connect debug changelog release-notes feedback bug exit quit tools version trust loop"""


@pytest.mark.parametrize("word", SURFACE.split())
def test_a_word_that_people_know_from_elsewhere_is_a_command(word: str) -> None:
    commands = builtin_commands()
    assert any(word in (command.name, *command.aliases) for command in commands)
