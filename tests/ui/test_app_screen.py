import asyncio
from pathlib import Path

import pytest
from textual import events

from agent_tui.protocol.events import RoundStarted, TurnStarted
from agent_tui.protocol.replay import ReplayBlock
from agent_tui.protocol.tools import ToolCall
from agent_tui.ui.backend import StatusView
from agent_tui.ui.render.lexing import find_lexer
from agent_tui.ui.settings import AppSettings
from tests.support.app_world import THEMES
from tests.support.fake_backend import FakeBackend, emit, say, wait_for
from tests.support.screens import Clock, stage


async def test_a_whole_result_can_be_opened(workspace: Path) -> None:
    backend = FakeBackend(workspace)
    backend.full["c1"] = ReplayBlock(
        kind="tool",
        text="\n".join(f"line {n}" for n in range(500)),
        call_id="c1",
        display_name="Read",
        full_lines=500,
    )
    async with stage(workspace, backend=backend) as here:
        here.app.actions.open_full("c1")
        await here.until(lambda: here.app.in_dialog and "500 lines" in here.picture())
        await here.press("end")
        await here.until(lambda: "line 499" in here.picture())
        await here.press("escape")
        here.app.actions.open_full("c2")
        await here.until(lambda: here.notices)
        assert here.notices == ["! The whole output was not kept."]


async def test_keys_pressed_while_nothing_has_focus_go_to_the_prompt(workspace: Path) -> None:
    async with stage(workspace) as here:
        here.app.screen.set_focus(None)
        await here.press("a", "b")

        assert here.app.prompt.text == "ab"


@pytest.mark.parametrize("blurred", [False, True])
async def test_keys_that_come_at_once_while_nothing_has_focus_all_count(
    workspace: Path, *, blurred: bool
) -> None:
    async with stage(workspace) as here:
        here.app.screen.set_focus(None)
        if blurred:  # as Textual's driver for pages does shortly after the start
            here.app.post_message(events.AppBlur())
        for key in ("h", "i", "left", "!", "enter"):
            await here.key(key)

        await here.until(lambda: here.backend.prompts == ["h!i"])


async def test_typing_warms_the_core_up(workspace: Path) -> None:
    async with stage(workspace) as here:
        assert here.backend.warmed == 0
        await here.type("a")
        await here.until(lambda: here.backend.warmed)


async def test_typing_loads_the_parsers_of_an_answer(workspace: Path) -> None:
    find_lexer.cache_clear()
    async with stage(workspace) as here:
        await here.type("a")
        await here.until(lambda: find_lexer.cache_info().currsize)


async def test_x23_files_are_offered_after_an_at_sign(workspace: Path) -> None:
    (workspace / "src").mkdir()
    (workspace / "src" / "parser.py").write_text("")
    (workspace / "notes with space.md").write_text("")
    (workspace / ".gitignore").write_text("*.log\n")
    (workspace / "x.log").write_text("")
    async with stage(workspace) as here:
        await here.type("look at @par")
        await here.until(lambda: "src/parser.py" in here.app.completion.texts)
        await here.press("tab")
        assert here.app.prompt.text == "look at @src/parser.py "
        await here.type("@")
        await here.until(lambda: here.app.completion.is_open)
        assert "x.log" not in here.app.completion.texts
        await here.type("space")
        await here.until(lambda: here.app.completion.texts == ["notes with space.md"])
        await here.press("enter")
        assert here.app.prompt.text == 'look at @src/parser.py @"notes with space.md" '


async def test_enter_sends_once_the_mentioned_folder_stands_there(workspace: Path) -> None:
    (workspace / "calc").mkdir()
    (workspace / "calc" / "core.py").write_text("")
    async with stage(workspace) as here:
        await here.type("read @ca")
        await here.until(lambda: "calc/" in here.app.completion.texts)
        await here.press("tab")
        assert here.app.prompt.text == "read @calc/"
        await here.until(lambda: here.app.completion.is_open)
        await here.press("enter")
        await here.until(lambda: here.backend.prompts == ["read @calc/"])
        await here.idle()
        assert not here.app.completion.is_open


async def test_a_waiting_call_shows_what_it_is_about(workspace: Path) -> None:
    gate = asyncio.Event()
    calls = (ToolCall(call_id="c1", name="write", arguments_json='{"file_path": "a.py", "content": "x"}'),)
    steps = [emit(RoundStarted(turn_id="t", round_index=0, calls=calls)), wait_for(gate)]
    async with stage(workspace, backend=FakeBackend(workspace, script=[steps])) as here:
        await here.send("go")
        await here.until(lambda: len(here.app.transcript.document.blocks) == 2)
        panel = here.app.transcript.document.blocks[1].data
        assert (panel.display_name, panel.title, panel.state) == ("Write", "a.py", "waiting")
        gate.set()
        await here.idle()


async def test_the_queue_says_that_up_takes_back_only_while_it_does(workspace: Path) -> None:
    gate = asyncio.Event()
    async with stage(workspace, backend=FakeBackend(workspace, script=[[wait_for(gate)]])) as here:
        await here.send("go")
        await here.send("later")
        await here.until(lambda: here.app.queue_view.display)
        assert "↑ takes back" in here.app.queue_view.render().plain
        await here.type("draft")
        assert "takes back" not in here.app.queue_view.render().plain
        await here.press("up")
        assert here.app.driver.queued()
        gate.set()
        await here.idle()


async def test_tu_20_an_at_sign_in_a_folder_that_cannot_be_read_leaves_keys_working(workspace: Path) -> None:
    backend = FakeBackend(workspace / "gone")
    async with stage(workspace, backend=backend) as here:
        await here.type("@a")
        await here.press("backspace", "escape")
        await here.type("b")

        assert here.app.prompt.text == "@b"


async def test_a_bad_keymap_or_theme_is_a_sentence_and_the_default_stays(
    workspace: Path, tmp_path: Path
) -> None:
    keymap = tmp_path / "keymap.toml"
    keymap.write_text('[prompt]\n"enter" = "nope"\n')
    settings = AppSettings(theme="nope", theme_folders=(THEMES,), keymap_file=keymap)
    async with stage(workspace, settings=settings) as here:
        assert any(
            "keymap.toml:2: prompt.enter: " in text and ". The default keys are used." in text
            for text in here.notices
        )
        assert any("no theme 'nope'" in text and ". The dark theme is used." in text for text in here.notices)
        assert here.app.palette.is_dark


async def test_a_keymap_file_changes_what_keys_do(workspace: Path, tmp_path: Path) -> None:
    keymap = tmp_path / "keymap.toml"
    keymap.write_text('[prompt]\n"ctrl+t" = "stash"\n')
    async with stage(workspace, settings=AppSettings(keymap_file=keymap, typing_s=0.0)) as here:
        await here.type("draft")
        await here.press("ctrl+t")

        assert here.app.prompt.text == ""


async def test_tu_02_markup_in_anything_the_status_line_shows_is_text(workspace: Path) -> None:
    status = StatusView(model="z [b +", branch="[/", session_name="a\\")
    async with stage(workspace, backend=FakeBackend(workspace, status=status), size=(120, 20)) as here:
        last = here.picture().rstrip("\n").split("\n")[-1]

        assert "z [b +" in last
        assert "git [/" in last
        assert "a\\" in last


@pytest.mark.parametrize("size", [(20, 5), (10, 3), (1, 1), (300, 90)])
async def test_tu_15_every_size_takes_a_prompt(workspace: Path, size: tuple[int, int]) -> None:
    async with stage(workspace, size=size) as here:
        await here.send("hi")
        await here.idle()

        assert here.backend.prompts == ["hi"]


async def test_tu_15_a_storm_of_resizes_while_streaming_breaks_nothing(workspace: Path) -> None:
    text = "word " * 400
    async with stage(workspace, backend=FakeBackend(workspace, script=[[say(text)]])) as here:
        await here.send("go")
        for width in range(100):
            await here.app._on_resize(
                events.Resize(*[here.app.size.__class__(20 + width, 5 + width % 40)] * 2)
            )
        await here.idle()

        assert here.shown[-1] == ("assistant", text)


async def test_tu_25_dialogs_opened_and_closed_while_streaming_break_nothing(workspace: Path) -> None:
    gate = asyncio.Event()
    async with stage(
        workspace, backend=FakeBackend(workspace, script=[[say("x" * 700), wait_for(gate), say("end")]])
    ) as here:
        await here.send("go")
        for _ in range(5):
            await here.press("f1", "escape")
        gate.set()
        await here.idle()

        assert here.shown[-1] == ("assistant", "end")


async def test_context_is_shown_by_how_full_it_is(workspace: Path) -> None:
    status = StatusView(model="m", context_tokens=195_000, context_limit_tokens=200_000)
    async with stage(workspace, backend=FakeBackend(workspace, status=status)) as here:
        assert "context 98 % !!! /compact" in here.picture()


async def test_a_repeated_quit_key_is_forgotten_after_two_seconds(workspace: Path) -> None:
    async with stage(workspace, settings=AppSettings(clock=Clock())) as here:
        await here.press("ctrl+d")
        here.app.presses.disarm()
        await here.press("ctrl+d")

        assert here.app.return_value is None


async def test_every_bundled_theme_can_be_put_on(workspace: Path) -> None:
    async with stage(workspace, settings=AppSettings(theme_folders=(THEMES,), typing_s=0.0)) as here:
        for name in here.app.shelf.names():
            await here.app.actions.switch_theme(name)
            await here.settle()
            assert here.app.chosen_theme.name == name

        assert here.notices == []


async def test_history_search_goes_through_its_scopes(workspace: Path) -> None:
    backend = FakeBackend(workspace)
    backend.history, backend.history_here = ["far away", "near by"], ["near by"]
    async with stage(workspace, backend=backend) as here:
        await here.send("just now")
        await here.idle()
        await here.press("ctrl+r")
        await here.until(lambda: "Earlier prompts · everywhere" in here.picture())
        assert "far away" in here.picture()
        await here.press("ctrl+s")
        assert "· this project" in here.picture()
        assert "far away" not in here.picture()
        assert "near by" in here.picture()
        await here.press("ctrl+s")
        assert "near by" not in here.picture().split("Earlier prompts")[1]
        await here.press("ctrl+s", *"away", "enter")
        await here.until(lambda: here.app.prompt.text == "far away")


async def test_a_message_that_is_being_run_is_not_shown_as_waiting(workspace: Path) -> None:
    gate, taken = asyncio.Event(), asyncio.Event()

    async def take_steering(backend: FakeBackend) -> None:
        text, _ = backend.queue.pop(0)
        await backend.emit(TurnStarted(turn_id="t", prompt=text))
        taken.set()

    script = [[wait_for(gate), take_steering, wait_for(asyncio.Event())]]
    backend = FakeBackend(workspace, script=script)
    async with stage(workspace, backend=backend, initial_prompt="start with this") as here:
        await here.until(lambda: here.backend.prompts)
        await here.settle()
        assert (here.app.queue_view.display, here.app.prompt.has_queue) == (False, False)

        await here.send("and this")
        assert (here.app.queue_view.display, here.app.prompt.has_queue) == (True, True)
        gate.set()
        await taken.wait()
        await here.settle()
        assert (here.app.queue_view.display, here.app.prompt.has_queue) == (False, False)


async def test_a_text_that_is_sent_is_brought_into_sight_and_followed(workspace: Path) -> None:
    blocks = [ReplayBlock("assistant", f"answer {number}\n\nmore") for number in range(40)]
    backend = FakeBackend(workspace, script=[[say("Hello.")]])
    async with stage(workspace, backend=backend) as here:
        here.app.transcript.load(blocks)
        await here.press("pageup")
        assert not here.app.transcript.follow

        await here.send("hi")
        await here.idle()

        assert here.app.transcript.follow
        assert "Hello." in here.picture()
