from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from rich.cells import cell_len
from textual import events
from textual.app import App, ComposeResult

from agent_tui.ui.keymap import Keymap
from agent_tui.ui.themes import BUILT_IN, textual_theme
from agent_tui.ui.typed_run import BURST_S, TypedRun
from agent_tui.ui.widgets.editor import Editor
from agent_tui.ui.widgets.prompt import Prompt
from tests.support.patience import until


class Clerk(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.prompt = Prompt(Keymap())
        self.sent: list[str] = []
        self.acts: list[str] = []
        self.at = 100.0

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return textual_theme(BUILT_IN["dark"]).variables

    def compose(self) -> ComposeResult:
        yield self.prompt

    def on_mount(self) -> None:
        self.prompt.focus()

    def on_prompt_sent(self, event: Prompt.Sent) -> None:
        self.sent.append(f"{event.text}{' (after)' if event.after_turn else ''}")

    def on_editor_act(self, event: Editor.Act) -> None:
        self.acts.append(event.action)

    async def keys(self, *names: str, gap_s: float = 0.1) -> None:
        for name in names:
            key = events.Key(_KEYS.get(name, name), name if len(name) == 1 else None)
            self.at += gap_s
            key.time = self.at
            await self.prompt._on_key(key)


_KEYS = {" ": "space", "?": "question_mark", "\\": "backslash", "/": "slash", "[": "left_square_bracket"}


@asynccontextmanager
async def clerk(size: tuple[int, int] = (60, 20)) -> AsyncIterator[Clerk]:
    app = Clerk()
    async with app.run_test(size=size) as pilot:
        app.pilot = pilot
        await pilot.pause()
        yield app


async def settled(app: Clerk) -> None:
    await until(lambda: app.prompt._held is None)
    await app.pilot.pause()


async def test_enter_sends_and_newline_keys_do_not() -> None:
    async with clerk() as app:
        await app.keys("a", "ctrl+j", "b", "shift+enter", "c", "\\", "enter", "d", "alt+enter", "e", "enter")
        await settled(app)

        assert app.sent == ["a\nb\nc\nd\ne"]
        assert app.prompt.text == ""


async def test_while_busy_tab_and_alt_enter_send_after_the_turn() -> None:
    async with clerk() as app:
        app.prompt.busy = True
        await app.keys("a", "tab", "b", "alt+enter", "c", "enter")
        await settled(app)

        assert app.sent == ["a (after)", "b (after)", "c"]


async def test_up_and_down_walk_the_history_and_the_draft_waits() -> None:
    async with clerk() as app:
        app.prompt.past.load(["first", "second"])
        app.prompt.put("draft")

        await app.keys("up")
        assert app.prompt.text == "second"
        await app.keys("up", "up")
        assert app.prompt.text == "first"
        await app.keys("ctrl+n", "down")
        assert app.prompt.text == "draft"


async def test_up_inside_a_text_moves_the_cursor_first() -> None:
    async with clerk() as app:
        app.prompt.past.load(["old"])
        app.prompt.put("one\ntwo")

        await app.keys("up")
        assert app.prompt.text == "one\ntwo"
        assert app.prompt.cursor_location[0] == 0
        await app.keys("up")
        assert app.prompt.text == "old"


async def test_readline_keys_edit_and_yank_brings_back() -> None:
    async with clerk() as app:
        app.prompt.put("alpha beta gamma")

        await app.keys("ctrl+w")
        assert app.prompt.text == "alpha beta "
        await app.keys("ctrl+y")
        assert app.prompt.text == "alpha beta gamma"
        await app.keys("ctrl+a", "alt+d")
        assert app.prompt.text == " beta gamma"
        await app.keys("ctrl+e", "alt+b", "ctrl+u")
        assert app.prompt.text == "gamma"
        await app.keys("ctrl+k")
        assert app.prompt.text == ""
        await app.keys("ctrl+underscore")
        assert app.prompt.text == "gamma"


async def test_a_cursor_key_and_a_letter_of_one_read_keep_their_order() -> None:
    async with clerk() as app:
        await app.keys("a", "b", "left", "X", gap_s=0.0001)
        assert app.prompt.text == "aXb"


async def test_stash_puts_the_draft_aside_and_back() -> None:
    async with clerk() as app:
        app.prompt.put("later")

        await app.keys("ctrl+s")
        assert app.prompt.text == ""
        await app.keys("ctrl+s")
        assert app.prompt.text == "later"


async def test_a_question_mark_shows_the_keys_only_on_an_empty_prompt() -> None:
    async with clerk() as app:
        await app.keys("?")
        await settled(app)
        assert app.acts == ["sheet"]
        await app.keys("a", "?")
        assert app.prompt.text == "a?"


async def test_a_chord_is_one_key_and_a_wrong_one_types_nothing() -> None:
    async with clerk() as app:
        await app.keys("ctrl+x", "m", "ctrl+x", "z", "a")
        await settled(app)

        assert app.acts == ["models"]
        assert app.prompt.text == "a"


async def test_tu_08_pasted_lines_without_markers_are_one_draft() -> None:
    async with clerk() as app:
        await app.keys(*"line1", "enter", *"line2", "enter", *"line3", "enter", gap_s=BURST_S / 10)
        await settled(app)

        assert app.sent == []
        assert app.prompt.text == "line1\nline2\nline3\n"


async def test_tu_08_one_line_and_enter_in_one_write_is_sent() -> None:
    async with clerk() as app:
        await app.keys(*"run it", "enter", gap_s=BURST_S / 10)
        await settled(app)

        assert app.sent == ["run it"]


async def test_tu_08_markers_inside_a_paste_are_taken_out() -> None:
    async with clerk() as app:
        app.prompt.paste("a\x1b[201~b\r\nc")
        assert app.prompt.text == "ab\nc"


async def test_tu_17_a_folded_paste_is_sent_whole_in_its_place() -> None:
    async with clerk() as app:
        long, other = "x" * 900, "one\ntwo\nthree\nfour"
        await app.keys("a", " ")
        app.prompt.paste(long)
        await app.keys(" ", "b", " ")
        app.prompt.paste(other)
        assert "xxxx" not in app.prompt.text
        await app.keys("enter")
        await settled(app)

        assert app.sent == [f"a {long} b {other}"]
        await app.keys("up")
        assert app.prompt.expanded == f"a {long} b {other}"


@pytest.mark.parametrize(
    "keys", [["backspace"], ["left", "delete"], ["ctrl+w"], ["left", "right", "backspace"]]
)
async def test_tu_17_a_half_deleted_chip_goes_whole(keys: list[str]) -> None:
    async with clerk() as app:
        await app.keys("a")
        app.prompt.paste("y" * 900)

        await app.keys(*keys)

        assert app.prompt.text == "a"


async def test_tu_17_a_look_alike_typed_by_hand_is_text() -> None:
    async with clerk() as app:
        app.prompt.paste("z" * 900)
        label = app.prompt.text.replace("\u00a0", " ")
        app.prompt.put("")
        await app.keys(*label, "enter")
        await settled(app)

        assert app.sent == [label]


@pytest.mark.parametrize("size", [900, 9000])
async def test_a_sent_prompt_comes_back_with_the_words_beside_its_chip(size: int) -> None:
    async with clerk() as app:
        await app.keys(*"see")
        app.prompt.paste("z" * size)
        await app.keys(*"now")
        written = app.prompt.text
        await app.keys("enter")
        app.prompt.paste("y" * size)
        draft = app.prompt.text

        await app.keys("up")
        assert app.prompt.text == written
        await app.keys("down")
        assert app.prompt.text == draft
        await app.keys("ctrl+u", "up", "enter")
        await settled(app)

        assert app.sent == [f"see{'z' * size}now"] * 2


async def test_a_prompt_with_a_chip_that_comes_back_is_no_draft_of_its_own() -> None:
    async with clerk() as app:
        app.prompt.paste("z" * 900)
        await app.keys("enter")

        app.prompt.give_back("z" * 900)
        said = app.prompt.give_back("and more")

        assert app.prompt.expanded == f"{'z' * 900}\nand more"
        assert "is back" in said


async def test_tu_17_the_break_behind_the_last_pasted_line_is_no_line() -> None:
    async with clerk() as app:
        app.prompt.paste("one\ntwo\nthree\n")

        assert app.prompt.text.replace("\u00a0", " ") == "[pasted 3 lines #1]"
        assert app.prompt.expanded == "one\ntwo\nthree\n"


async def test_tu_17_a_pasted_copy_of_a_label_is_text() -> None:
    async with clerk() as app:
        app.prompt.paste("z" * 900)
        label = app.prompt.text
        app.prompt.put("")
        app.prompt.paste(label)

        assert "zzz" not in app.prompt.expanded


async def test_tu_09_a_huge_paste_is_one_chip_and_is_sent_byte_for_byte() -> None:
    async with clerk() as app:
        text = "\n".join(f"\tline {n}   " for n in range(5000))
        app.prompt.paste(text.replace("\n", "\r\n"))

        assert app.prompt.document.line_count == 1
        await app.keys("enter")
        await settled(app)
        assert app.sent == [text]


@pytest.mark.parametrize("cluster", ["あ", "e\u0301", "👨\u200d👩\u200d👧", "🇩🇪", "⏺\ufe0f", "ก็"])
async def test_tu_10_one_backspace_removes_one_visible_character(cluster: str) -> None:
    async with clerk() as app:
        app.prompt.put(f"x{cluster}")

        await app.keys("left")
        assert app.prompt.cursor_location == (0, 1)
        await app.keys("right", "backspace")
        assert app.prompt.text == "x"


async def test_tu_10_the_cursor_stands_behind_the_cells_of_the_text_before_it() -> None:
    async with clerk() as app:
        app.prompt.put("あいう")
        assert app.prompt._cursor_offset[0] == cell_len("あいう")


async def test_nothing_is_sent_from_an_empty_prompt() -> None:
    async with clerk() as app:
        await app.keys("enter", " ", "enter")
        await settled(app)

        assert app.sent == []
        assert app.acts == ["submit_empty", "submit_empty"]


async def test_tu_21_the_cursor_does_not_blink() -> None:
    async with clerk() as app:
        assert not app.prompt.cursor_blink


async def test_an_enter_after_a_burst_sends_before_the_key_that_follows() -> None:
    async with clerk() as app:
        await app.keys(*"q1", "enter", gap_s=BURST_S / 10)
        await app.keys("y", gap_s=0.004)
        await settled(app)
        assert (app.sent, app.prompt.text) == (["q1"], "y")


async def test_a_stream_of_short_bursts_after_an_enter_stays_out_of_what_was_sent() -> None:
    async with clerk() as app:
        await app.keys(*"multi", "enter", gap_s=BURST_S / 10)
        for _ in range(3):
            await app.keys("y", gap_s=0.004)
            await app.keys(" ", gap_s=BURST_S / 10)
        await settled(app)
        assert (app.sent, app.prompt.text) == (["multi"], "y y y ")


async def test_a_bracketed_paste_after_an_enter_goes_into_the_next_text_unsent() -> None:
    async with clerk() as app:
        await app.keys(*"q1", "enter", gap_s=BURST_S / 10)
        await app.prompt._on_paste(events.Paste("one\n"))
        await settled(app)
        assert (app.sent, app.prompt.text) == (["q1"], "one\n")


async def come(app: Clerk, text: str, *, gap_s: float, lasts_s: float) -> None:
    began_at = app.at + gap_s
    app.at = began_at + lasts_s
    await app.prompt._on_paste(TypedRun("", began_at=began_at, ended_at=began_at))
    await app.prompt._on_paste(TypedRun(text, began_at=began_at, ended_at=app.at))


async def test_lines_that_come_as_keys_are_one_paste_with_those_before_and_behind_them() -> None:
    async with clerk() as app:
        lines = "".join(f"line {number} of it\r" for number in range(9))
        await app.keys(*"line", "enter", gap_s=BURST_S / 10)
        await come(app, lines, gap_s=BURST_S / 10, lasts_s=1.0)
        await app.keys(*"end", "enter", gap_s=BURST_S / 10)
        await settled(app)

        assert app.sent == []
        assert app.prompt.text.replace("\u00a0", " ") == "line\n[pasted 9 lines #1]end\n"
        await app.keys("enter")
        await settled(app)
        assert app.sent == ["line\n" + lines.replace("\r", "\n") + "end\n"]


async def test_one_long_line_and_enter_in_one_write_is_sent() -> None:
    async with clerk() as app:
        await come(app, "run it " * 20, gap_s=1.0, lasts_s=0.0)
        await app.keys("enter", gap_s=BURST_S / 10)
        await settled(app)

        assert app.sent == ["run it " * 20]
