import random
import sys
from collections.abc import AsyncIterator

import pytest
from textual import events
from textual.app import App, ComposeResult

from agent_tui.ui.keymap import Keymap
from agent_tui.ui.widgets.editor import Editor


class OneField(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def on_text_area_changed(self, event: Editor.Changed) -> None:
        self.heard.append(event.text_area.text)

    def compose(self) -> ComposeResult:
        yield Editor(Keymap(), ["edit"])


@pytest.fixture
async def editor() -> AsyncIterator[Editor]:
    async with OneField().run_test(size=(30, 6)) as pilot:
        yield pilot.app.query_one(Editor)


async def test_undo_that_takes_the_scrollbar_away_is_no_fault(editor: Editor) -> None:
    for text in ("\n\na", "a\n", "a", "\n\n\n", "a\n\n", "\na\n"):
        editor.insert_text(text)

    editor.action_undo()

    assert editor.cursor_location <= editor.document.end


async def test_yank_of_a_text_that_was_replaced_is_not_turned(editor: Editor) -> None:
    editor.put("one two")
    editor._edits["kill_word_left"]()
    editor._edits["yank"]()
    editor.put("")

    editor._edits["yank_pop"]()

    assert editor.text == ""


async def test_alt_with_a_letter_that_nothing_is_bound_to_types_nothing(editor: Editor) -> None:
    await editor._on_key(events.Key("alt+z", "z"))
    await editor._on_key(events.Key("z", "z"))

    assert editor.text == "z"


@pytest.mark.parametrize("text", ["a👩‍💻", "a🇩🇪", "ae\u0301", "a👍🏽"])
async def test_backspace_takes_a_visible_character_as_a_whole(editor: Editor, text: str) -> None:
    editor.put(text)
    editor._edits["delete_left"]()

    assert editor.text == "a"


@pytest.mark.parametrize("characters", ["ab \n", "a\r\n", "a\n\x0b\x0c\x1c\x85\u2028"])
async def test_no_edits_in_any_order_leave_the_cursor_behind_the_text(
    editor: Editor, characters: str
) -> None:
    chance = random.Random(7)
    for number in range(1_200):
        if number % 30 == 0:
            editor.load_text("")
        if chance.random() < 0.5:
            editor.insert_text("".join(chance.choices(characters, k=3)))
        else:
            editor._edits[chance.choice(list(editor._edits))]()

        assert editor.cursor_location <= editor.document.end


def calls_of_a_key(editor: Editor) -> int:
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        editor.insert_text("x")
    finally:
        sys.setprofile(None)
    return calls


async def test_a_key_in_a_long_text_costs_what_it_costs_in_a_short_one(editor: Editor) -> None:
    editor.put("word\n" * 20)
    editor.insert_text("x")
    short = calls_of_a_key(editor)
    editor.put("word\n" * 2_000)
    editor.insert_text("x")

    assert calls_of_a_key(editor) <= short + 20
    assert editor.wrapped_document.height == 2_001


async def test_many_keys_at_once_are_one_change_and_the_last_one_is_told() -> None:
    app = OneField()
    async with app.run_test(size=(30, 6)) as pilot:
        editor = app.query_one(Editor)
        for _ in range(50):
            editor.post_message(events.Key("x", "x"))
        await pilot.pause()
        together = len(app.heard)
        await pilot.press("y")
        await pilot.pause()

        assert together < 10
        assert app.heard[-1] == "x" * 50 + "y"


async def test_the_height_is_that_of_the_wrapped_lines_after_any_edit(editor: Editor) -> None:
    chance = random.Random(3)
    for _ in range(300):
        if chance.random() < 0.6:
            editor.insert_text("".join(chance.choices("ab \n", k=chance.randrange(1, 60))))
        else:
            editor._edits[chance.choice(["kill_line", "kill_to_start", "undo", "line_start", "left"])]()

        offsets = editor.wrapped_document._wrap_offsets
        assert editor.wrapped_document.height == sum(len(one) + 1 for one in offsets)


@pytest.mark.parametrize("columns", [1, 2, 3])
async def test_a_placeholder_stands_any_width(columns: int) -> None:
    async with OneField().run_test(size=(30, 6)) as pilot:
        editor = pilot.app.query_one(Editor)
        editor.placeholder = "type to search"
        editor.styles.padding = (0, 1)
        editor.styles.border = ("none", "white")
        editor.styles.width = columns
        await pilot.pause()

        assert editor.content_size.width == max(0, columns - 2)
