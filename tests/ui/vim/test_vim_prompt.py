from pathlib import Path

from agent_tui.ui.screens.help import Help
from agent_tui.ui.settings import AppSettings
from tests.support.fake_backend import FakeBackend
from tests.support.screens import stage

VIM = AppSettings(grace_s=0.0, typing_s=0.0, keys="vim")


async def test_the_mode_stands_in_the_status_line_with_what_was_begun(workspace: Path) -> None:
    async with stage(workspace, settings=VIM) as here:
        await here.until(lambda: here.app.status.render().plain.startswith("INSERT"))
        await here.type("one two")
        await here.press("escape")
        assert here.app.status.render().plain.startswith("NORMAL · ask")
        await here.press("2", "d")
        assert here.app.status.render().plain.startswith("NORMAL 2d")
        await here.press("b")
        assert here.app.prompt.text == "o"
        await here.press("v")
        assert here.app.status.render().plain.startswith("VISUAL")
        await here.press("escape")
        assert here.app.status.render().plain.startswith("NORMAL")


async def test_enter_sends_from_both_modes_and_the_next_prompt_begins_in_insert_mode(
    workspace: Path,
) -> None:
    async with stage(workspace, settings=VIM) as here:
        await here.type("first")
        await here.press("enter")
        await here.idle()
        await here.type("second")
        await here.press("escape", "enter")
        await here.idle()
        await here.type("x")

        assert here.backend.prompts == ["first", "second"]
        assert here.app.prompt.text == "x"


async def test_j_and_k_leave_the_text_for_the_history_and_stay_in_normal_mode(workspace: Path) -> None:
    backend = FakeBackend(workspace)
    backend.history = ["old\nlines"]
    async with stage(workspace, backend=backend, settings=VIM) as here:
        await here.type("new")
        await here.press("escape", "k")
        assert here.app.prompt.text == "old\nlines"
        await here.press("k", "x")
        assert here.app.prompt.text == "ol\nlines"
        await here.press("j", "j")
        assert here.app.prompt.text == "new"
        assert here.app.status.render().plain.startswith("NORMAL")


async def test_dot_and_undo_work_on_the_prompt(workspace: Path) -> None:
    async with stage(workspace, settings=VIM) as here:
        await here.type("one two three")
        await here.press("escape", "0", "c", "w", "X", "escape", "w", ".")
        assert here.app.prompt.text == "X X three"
        await here.press("u", "u")
        assert here.app.prompt.text == "one two three"
        await here.press("ctrl+r")
        assert here.app.prompt.text == "X two three"


async def test_a_slash_in_normal_mode_begins_a_command(workspace: Path) -> None:
    async with stage(workspace, settings=VIM) as here:
        await here.press("escape", "/")
        await here.type("vers")
        await here.until(lambda: here.app.completion.is_open)
        await here.press("enter")
        await here.until(lambda: any("agent-tui" in text for text in here.notices))


async def test_escape_closes_the_list_first_then_leaves_insert_mode(workspace: Path) -> None:
    async with stage(workspace, settings=VIM) as here:
        await here.type("/st")
        await here.until(lambda: here.app.completion.is_open)
        await here.press("escape")
        assert here.app.status.render().plain.startswith("INSERT")
        await here.press("escape")
        assert here.app.status.render().plain.startswith("NORMAL")


async def test_a_chip_is_one_character_for_vim(workspace: Path) -> None:
    async with stage(workspace, settings=VIM) as here:
        await here.type("a")
        here.app.prompt.paste("y" * 900)
        await here.type("b")
        await here.press("escape", "0", "l", "x")

        assert here.app.prompt.expanded == "ab"


async def test_the_sheet_lists_vims_keys_only_with_vim(workspace: Path) -> None:
    async with stage(workspace, settings=VIM) as here:
        await here.press("f1")
        await here.until(lambda: isinstance(here.app.screen, Help))
        await here.type("bracket that belongs")
        assert "%" in here.picture()
        await here.press("escape")
    async with stage(workspace) as here:
        await here.press("f1")
        await here.until(lambda: isinstance(here.app.screen, Help))
        await here.type("bracket that belongs")
        assert "Nothing found." in here.picture()
        await here.press("escape")
