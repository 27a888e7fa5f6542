import asyncio
from pathlib import Path

import pytest

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.bindings import ACTIONS, DEFAULTS
from agent_tui.ui.keymap import Keymap
from agent_tui.ui.presets import PRESET_NAMES, PRESETS
from agent_tui.ui.screens.help import Help
from agent_tui.ui.screens.picker import Picker
from agent_tui.ui.settings import AppSettings
from tests.support.approval_requests import bash_request
from tests.support.fake_backend import FakeBackend, approve, wait_for
from tests.support.screens import Clock, Stage, stage

REMAPPED = """
[global]
"f9" = "help"
"f6" = "bottom"
"f1" = ""

[prompt]
"escape" = ""
"f2" = "escape"
"?" = ""
"f4" = "sheet"
"up" = ""
"f3" = "up"
"enter" = ""
"ctrl+t" = "submit"

[list]
"enter" = ""
"f7" = "choose"
"escape" = ""
"f8" = "cancel"

[field]
"enter" = ""
"f7" = "accept"
"""


def settings(file: Path, clock: Clock | None = None) -> AppSettings:
    return AppSettings(grace_s=0.0, typing_s=0.0, keymap_file=file, clock=clock or Clock())


async def sent(here: Stage, text: str) -> None:
    here.app.prompt.put(text)
    here.app.completion.close()
    await here.press("ctrl+t")


async def test_a_remapped_key_is_shown_everywhere_and_the_old_one_nowhere(
    workspace: Path, tmp_path: Path
) -> None:
    file = tmp_path / "keymap.toml"
    file.write_text(REMAPPED)
    gate = asyncio.Event()
    script = [[wait_for(gate), approve(bash_request("c1"))]]
    async with stage(
        workspace, backend=FakeBackend(workspace, script=script), settings=settings(file)
    ) as here:
        await here.until(lambda: "F4 keys" in here.picture())
        assert "? keys" not in here.picture()

        await here.press("f9")
        await here.until(lambda: isinstance(here.app.screen, Help))
        assert "F8 closes" in here.picture()
        await here.type("show this sheet")
        assert "F9" in here.picture()
        assert "F1 " not in here.picture()
        await here.press("f8")

        await sent(here, "go")
        await here.until(lambda: here.app.driver.busy)
        await sent(here, "and more")
        await here.until(lambda: "F3 takes back" in here.picture())
        assert "F2 stops" in here.picture()
        assert "Esc" not in here.picture()

        gate.set()
        await here.approval()
        await here.press("c")
        await here.until(lambda: "F7 keeps it" in here.picture())
        await here.press("escape", "escape")
        await here.until(lambda: "Ctrl+T opens" in here.picture())
        assert "F2 stops the turn" in here.picture()
        await here.press("f2")
        await here.idle()

        await sent(here, "/theme")
        await here.until(lambda: isinstance(here.app.screen, Picker))
        assert "F7 chooses · F8 closes" in here.picture()
        await here.press("f8")


async def test_a_changed_keymap_file_counts_with_the_next_key(workspace: Path, tmp_path: Path) -> None:
    file, clock = tmp_path / "keymap.toml", Clock()
    file.write_text('[prompt]\n"f5" = "stash"\n')
    async with stage(workspace, settings=settings(file, clock)) as here:
        here.app.prompt.put("draft")
        file.write_text('[prompt]\n"f5" = "newline"\n\n[edit]\n"f6" = "kill_to_start"\n')
        clock.now += 2
        await here.press("f5")
        assert here.app.prompt.text == "draft\n"
        assert "read again" in here.app.status.hint

        file.write_text('[prompt]\n"f5" = "nonsense"\n')
        clock.now += 2
        await here.press("f5")
        await here.until(
            lambda: any("keymap.toml:2: prompt.f5: no action 'nonsense'" in text for text in here.notices)
        )
        assert here.app.prompt.text == "draft\n\n"

        file.unlink()
        clock.now += 2
        await here.press("f5")
        assert here.app.prompt.text == "draft\n\n"
        assert here.app.keys.keys_of("prompt", "newline") == ["Ctrl+J", "Shift+Enter"]


@pytest.mark.parametrize("preset", PRESET_NAMES)
def test_a91_every_preset_binds_actions_that_exist_and_leaves_ways_out(preset: str) -> None:
    for context, keys in PRESETS[preset].items():
        assert set(keys.values()) - {""} <= set(ACTIONS[context])
    bound = Keymap(preset=preset)
    assert bound.keys_of("global", "quit")
    assert bound.keys_of("global", "interrupt") == ["Ctrl+C"]
    assert bound.keys_of("prompt", "submit") == ["Enter"]
    assert bound.keys_of("prompt", "exit") == ["Ctrl+D"]
    for context, actions in DEFAULTS.items():
        lost = {action for action in actions.values() if not bound.keys_of(context, action)}
        assert lost <= {"background", "search", "undo_turn", "redo_turn", "thinking", "editor"}, context


def test_a91_the_default_preset_sends_with_enter_and_breaks_lines_with_ctrl_j() -> None:
    keys = Keymap()

    assert keys.press(("prompt",), "enter", "\r").action == "submit"
    assert keys.press(("prompt",), "ctrl+j", None).action == "newline"
    assert keys.press(("global",), "ctrl+q", None).action == "quit"


async def test_a91_escape_on_an_empty_prompt_quits_nothing(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.press("escape")
        assert here.app.is_running
        assert not here.backend.closed


async def test_a92_the_emacs_preset_quits_by_ctrl_d_twice_and_stops_by_escape(workspace: Path) -> None:
    gate = asyncio.Event()
    backend = FakeBackend(workspace, script=[[wait_for(gate)]])
    emacs = AppSettings(grace_s=0.0, typing_s=0.0, keys="emacs")
    async with stage(workspace, backend=backend, settings=emacs) as here:
        await here.send("go")
        await here.until(lambda: here.app.driver.busy)
        await here.press("escape")
        await here.idle()
        assert "cancel_turn" in backend.calls

        await here.press("ctrl+d")
        assert here.app.status.hint == "Press Ctrl+D again to quit"
        await here.press("ctrl+f")
        assert here.app.status.hint == ""
        await here.press("ctrl+d", "ctrl+d")
        await here.until(lambda: here.backend.closed)


async def test_emacs_keys_move_and_edit(workspace: Path) -> None:
    emacs = AppSettings(grace_s=0.0, typing_s=0.0, keys="emacs")
    async with stage(workspace, settings=emacs) as here:
        here.app.prompt.put("one two")
        await here.press("ctrl+a", "ctrl+f", "ctrl+f", "ctrl+d")
        assert here.app.prompt.text == "on two"
        await here.press("ctrl+e", "alt+t")
        assert here.app.prompt.text == "two on"
        await here.press("ctrl+x", "u")
        assert here.app.prompt.text == "on two"
        await here.press("ctrl+x", "ctrl+s")
        assert here.app.prompt.text == ""


async def test_chords_of_the_leader_run_commands_without_losing_the_draft(workspace: Path) -> None:
    async with stage(workspace) as here:
        here.app.prompt.put("draft")
        await here.press("ctrl+x", "/")
        await here.until(lambda: isinstance(here.app.screen, Picker))
        await here.press(*"status", "enter")
        await here.until(lambda: any("Model" in text for text in here.notices))
        assert here.app.prompt.text == "draft"
        await here.press("ctrl+x", "u")
        await here.until(lambda: "There is nothing to undo." in here.notices)
        await here.press("ctrl+x", "r")
        await here.until(lambda: "There is nothing to redo." in here.notices)
        await here.press("ctrl+x", "y")
        await here.until(lambda: any("There are 0 replies" in text for text in here.notices))
        assert here.app.prompt.text == "draft"


@pytest.mark.parametrize("key", ["ctrl+p", "ctrl+k"])
async def test_x23_the_palette_opens_on_an_empty_prompt_only(workspace: Path, key: str) -> None:
    async with stage(workspace) as here:
        await here.press(key)
        await here.until(lambda: isinstance(here.app.screen, Picker))
        assert "/help" in here.picture()
        await here.press("escape")
        here.app.prompt.put("text")
        await here.press("home", key)
        assert not here.app.in_dialog


async def test_escape_twice_on_an_empty_prompt_goes_back(workspace: Path) -> None:
    clock = Clock()
    async with stage(workspace, settings=AppSettings(grace_s=0.0, typing_s=0.0, clock=clock)) as here:
        await here.press("escape")
        clock.now += 5
        await here.press("escape")
        assert not here.app.in_dialog
        await here.press("escape")
        await here.until(lambda: isinstance(here.app.screen, Picker))
        assert "Rewind to before" in here.picture()
        await here.press("escape")


async def test_ctrl_t_shows_the_task_list_then_the_thinking_then_neither(workspace: Path) -> None:
    blocks = [ReplayBlock(kind="thinking", text="first\nsecond thought")]
    backend = FakeBackend(workspace, blocks=blocks)
    backend.house.tasks = "☑ read the code\n▶ write the test\n☐ run it"
    async with stage(workspace, backend=backend) as here:
        await here.press("ctrl+t")
        await here.until(lambda: "Tasks 1 of 3 done" in here.picture())
        assert "▶ write the test" in here.picture()
        await here.press("ctrl+t")
        assert here.app.transcript.document.blocks[0].open
        assert "Tasks" in here.picture()
        await here.press("ctrl+t")
        assert not here.app.transcript.document.blocks[0].open
        await here.until(lambda: "Tasks" not in here.picture())


async def test_alt_t_goes_to_the_next_effort(workspace: Path) -> None:
    async with stage(workspace) as here:
        before = here.backend.talk.effort
        await here.press("alt+t")

        assert here.backend.talk.effort != before


async def test_an_image_of_the_clipboard_becomes_a_chip_that_goes_as_its_name(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.type("see")
        await here.press("ctrl+v")
        await here.until(lambda: "[image\u00a01]" in here.app.prompt.text)
        await here.press("enter")
        await here.idle()

        assert here.backend.prompts == ["see @img:1.png"]
        assert "keep_image " in here.backend.calls


async def test_a_clipboard_without_an_image_is_a_hint(workspace: Path) -> None:
    backend = FakeBackend(workspace)
    backend.image_problem = "The clipboard holds no image."
    async with stage(workspace, backend=backend) as here:
        await here.press("alt+v")
        await here.until(lambda: here.app.status.hint == "The clipboard holds no image.")
        assert here.app.prompt.text == ""


@pytest.mark.parametrize(
    ("pasted", "path"),
    [
        ("/tmp/a b.png", "/tmp/a b.png"),
        ("'/tmp/a b.PNG' ", "/tmp/a b.PNG"),
        ("/tmp/a\\ b.jpg", "/tmp/a b.jpg"),
        ("file:///tmp/a%20b.webp", "/tmp/a b.webp"),
    ],
)
async def test_the_pasted_path_of_an_image_becomes_a_chip(workspace: Path, pasted: str, path: str) -> None:
    async with stage(workspace) as here:
        here.app.prompt.paste(pasted)
        await here.until(lambda: here.app.prompt.text == "[image\u00a01]")

        assert here.backend.calls == [f"keep_image {path}"]


@pytest.mark.parametrize("pasted", ["file://[shot].png", "file://[a.png"])
async def test_half_an_address_of_an_image_is_the_text_that_was_pasted(workspace: Path, pasted: str) -> None:
    async with stage(workspace) as here:
        here.app.prompt.paste(pasted)
        await here.until(lambda: here.app.prompt.text == pasted)


async def test_a_path_that_is_no_image_is_the_text_that_was_pasted(workspace: Path) -> None:
    backend = FakeBackend(workspace)
    backend.image_problem = "/tmp/x.png cannot be read: No such file"
    async with stage(workspace, backend=backend) as here:
        here.app.prompt.paste("/tmp/x.png")
        await here.until(lambda: here.app.prompt.text == "/tmp/x.png")
        assert "cannot be read" in here.app.status.hint


@pytest.mark.parametrize("pasted", ["see /tmp/a.png", "a.png", "/tmp/a.txt", "/tmp/a.png\n/tmp/b.png"])
async def test_other_pastes_stay_text(workspace: Path, pasted: str) -> None:
    async with stage(workspace) as here:
        here.app.prompt.paste(pasted)
        await here.settle()

        assert here.app.prompt.text == pasted
        assert here.backend.calls == []
