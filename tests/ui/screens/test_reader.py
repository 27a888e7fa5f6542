from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.plain_text import conversation_text
from agent_tui.ui.screens.reader.screen import Reader
from agent_tui.ui.screens.viewer import Viewer
from tests.support.fake_backend import FakeBackend
from tests.support.screens import Stage, stage

TALK = [
    block
    for number in range(12)
    for block in (
        ReplayBlock(kind="user", text=f"Question {number}?"),
        ReplayBlock(kind="thinking", text=f"Thought {number}."),
        ReplayBlock(
            kind="tool",
            text="\n".join(f"row {number}.{row}" for row in range(6)),
            tool="bash",
            display_name="Bash",
            title=f"run {number}",
            call_id=f"c{number}",
            is_truncated=number == 11,
            full_length=90,
            full_lines=9,
        ),
        ReplayBlock(kind="assistant", text=f"Answer **{number}** with `code`."),
    )
]


@asynccontextmanager
async def reading(tmp_path: Path, blocks: list[ReplayBlock] = TALK) -> AsyncIterator[tuple[Stage, Reader]]:
    async with stage(tmp_path, backend=FakeBackend(tmp_path, blocks=blocks), size=(100, 24)) as here:
        await here.press("ctrl+o")
        await here.until(lambda: isinstance(here.app.screen, Reader) and "lines" in here.picture())
        reader = here.app.screen
        assert isinstance(reader, Reader)
        yield here, reader


async def test_everything_is_open_and_it_begins_at_the_end(tmp_path: Path) -> None:
    async with reading(tmp_path) as (here, _):
        assert "Answer 11 with code." in here.picture()
        assert "row 11.5" in here.picture()
        assert "100 % of" in here.picture()


async def test_it_begins_where_the_person_was_reading(tmp_path: Path) -> None:
    async with stage(tmp_path, backend=FakeBackend(tmp_path, blocks=TALK), size=(100, 24)) as here:
        await here.press("ctrl+home", "ctrl+o")
        await here.until(lambda: isinstance(here.app.screen, Reader) and "0 % of" in here.picture())

        assert "Question 0?" in here.picture()


async def test_the_keys_of_less_move(tmp_path: Path) -> None:
    async with reading(tmp_path) as (here, reader):
        await here.press("g")
        assert reader.view.scroll_y == 0
        await here.press("j", "j", "k")
        assert reader.view.scroll_y == 1
        await here.press("space")
        assert reader.view.scroll_y > 15
        await here.press("b", "b", "d", "u")
        assert reader.view.scroll_y == 0
        await here.press("G")
        assert reader.view.scroll_y == reader.view.max_scroll_y
        await here.press("q")
        assert not here.app.in_dialog


async def test_a_search_goes_on_with_n_and_back_with_capital_n(tmp_path: Path) -> None:
    async with reading(tmp_path) as (here, reader):
        await here.press("g", "/")
        await here.type("answer")
        await here.press("enter")
        await here.until(lambda: "'answer': 1 of 12" in here.picture())
        await here.press("n", "n")
        await here.until(lambda: "'answer': 3 of 12" in here.picture())
        assert "Answer 2 with" in here.picture()
        await here.press("N")
        await here.until(lambda: "'answer': 2 of 12" in here.picture())
        await here.press("G", "?")
        await here.type("row 3")
        await here.press("enter")
        await here.until(lambda: "'row 3': 6 of 6" in here.picture())
        await here.press("n")
        await here.until(lambda: "'row 3': 5 of 6" in here.picture())
        await here.press("/")
        await here.type("nowhere")
        await here.press("enter")
        await here.until(lambda: "'nowhere': not found" in here.picture())
        assert reader is here.app.screen


async def test_escape_leaves_the_search_line_first(tmp_path: Path) -> None:
    async with reading(tmp_path) as (here, reader):
        await here.press("/")
        await here.type("q")
        await here.press("escape")
        assert here.app.screen is reader
        await here.press("escape")
        assert not here.app.in_dialog


async def test_prompts_are_jumped_between_and_blocks_marked_and_copied(tmp_path: Path) -> None:
    async with reading(tmp_path) as (here, reader):
        await here.press("g", "}")
        assert "Question 1?" in here.picture().split("\n")[0]
        await here.press("}", "{", "G")
        await here.press("alt+up", "y")
        assert here.app._clipboard == "Answer **11** with `code`."
        assert "Copied 26 characters" in here.picture()
        assert reader.view.cursor == len(TALK) - 1


async def test_a_key_without_a_mark_says_how_to_mark(tmp_path: Path) -> None:
    async with reading(tmp_path) as (here, _):
        await here.press("y")

        assert "Mark a block with" in here.picture()


async def test_all_blocks_close_and_open(tmp_path: Path) -> None:
    async with reading(tmp_path) as (here, reader):
        panels = [block for block in reader.view.document.blocks if block.collapsible]
        assert all(block.open for block in panels)
        await here.press("T")
        assert not any(block.open for block in panels)
        await here.press("T")
        assert all(block.open for block in panels)


async def test_the_whole_of_a_cut_result_is_opened_from_it(tmp_path: Path) -> None:
    backend = FakeBackend(tmp_path, blocks=TALK)
    backend.full["c11"] = ReplayBlock(kind="tool", text="all of it", display_name="Bash", title="run 11")
    async with stage(tmp_path, backend=backend, size=(100, 24)) as here:
        await here.press("ctrl+o")
        await here.until(lambda: isinstance(here.app.screen, Reader))
        await here.press("alt+up", "alt+up", "o")
        await here.until(lambda: isinstance(here.app.screen, Viewer))
        await here.until(lambda: "all of it" in here.picture())


async def test_the_main_screen_opens_the_whole_of_the_last_cut_result(tmp_path: Path) -> None:
    backend = FakeBackend(tmp_path, blocks=TALK)
    backend.full["c11"] = ReplayBlock(kind="tool", text="all of it", display_name="Bash", title="run 11")
    async with stage(tmp_path, backend=backend) as here:
        await here.press("ctrl+x", "f")
        await here.until(lambda: "all of it" in here.picture())


async def test_the_main_screen_jumps_between_prompts_and_copies_the_marked_block(tmp_path: Path) -> None:
    async with stage(tmp_path, backend=FakeBackend(tmp_path, blocks=TALK), size=(100, 24)) as here:
        await here.press("ctrl+home", "alt+pagedown")
        assert "Question 1?" in here.picture().split("\n")[0]
        await here.press("alt+pagedown", "alt+pageup", "ctrl+x", "k")
        assert here.app._clipboard == "Question 1?"
        await here.press("alt+down", "alt+down", "alt+down", "ctrl+x", "k")
        assert here.app._clipboard == "Answer **1** with `code`."
        await here.press("ctrl+end", "alt+up", "ctrl+x", "k")
        assert here.app._clipboard == "Answer **11** with `code`."


@pytest.mark.parametrize("size", [(40, 12), (20, 5), (1, 1)])
async def test_it_fits_any_terminal(tmp_path: Path, size: tuple[int, int]) -> None:
    async with stage(tmp_path, backend=FakeBackend(tmp_path, blocks=TALK), size=size) as here:
        await here.press("ctrl+o", "g", "/", "r", "enter", "n", "alt+down", "T", "q")

        assert not here.app.in_dialog


def test_the_text_for_outside_is_plain_labelled_and_safe() -> None:
    blocks = [
        ReplayBlock(kind="user", text="Do\nit"),
        ReplayBlock(kind="thinking", text="Hm."),
        ReplayBlock(
            kind="tool",
            text="\x1b[31mred\n",
            display_name="Bash",
            title="ls",
            state="error",
            is_truncated=True,
            full_length=12_000,
        ),
        ReplayBlock(kind="decision", text="allowed once Bash: ls"),
        ReplayBlock(kind="assistant", text="Done."),
    ]

    assert conversation_text(blocks) == (
        "> Do\n> it\n\nThought:\n    Hm.\n\n* Bash: ls (error)\n    ␛[31mred\n    ... cut; 12,000 characters in all\n\n"
        "- allowed once Bash: ls\n\nDone.\n"
    )
