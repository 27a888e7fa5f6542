import pytest
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.selection import SELECT_ALL, Selection

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.palette import Palette
from tests.support.transcript_host import Host, panel, settle

SIZE = (40, 16)


async def drag(pilot: Pilot[None], start: tuple[int, int], end: tuple[int, int]) -> None:
    await pilot.mouse_down(offset=start)
    await pilot.hover(offset=end)
    await pilot.mouse_up(offset=end)
    await settle(pilot)


async def test_a_drag_over_wrapped_rows_copies_the_one_line_of_the_source() -> None:
    text = "the quick brown fox jumps over the lazy dog and runs on"
    app = Host([ReplayBlock("assistant", text)])
    async with app.run_test(size=SIZE) as pilot:
        await drag(pilot, (2, 0), (39, 1))

        assert app.screen.get_selected_text() == text


async def test_a_drag_copies_neither_bars_nor_numbers_nor_padding() -> None:
    app = Host(
        [
            ReplayBlock("user", "hello"),
            panel("1", "a = 1\nb = 2\n", content_type="code", first_line=7, state="error"),
        ]
    )
    async with app.run_test(size=SIZE) as pilot:
        await drag(pilot, (0, 0), (38, 4))

        assert app.screen.get_selected_text() == "hello\n\nBash: run 1\na = 1\nb = 2"


async def test_tabs_are_copied_as_tabs() -> None:
    app = Host([ReplayBlock("assistant", "```make\nall:\n\techo hi\n```")])
    async with app.run_test(size=SIZE) as pilot:
        await drag(pilot, (2, 0), (39, 1))

        assert app.screen.get_selected_text() == "all:\n\techo hi"


async def test_part_of_a_line_is_copied_by_cells() -> None:
    app = Host([ReplayBlock("assistant", "日本語 text")])
    async with app.run_test(size=SIZE) as pilot:
        await drag(pilot, (4, 0), (11, 0))

        assert app.screen.get_selected_text() == "本語 tex"


async def test_a_drag_downwards_and_upwards_is_the_same() -> None:
    app = Host([ReplayBlock("assistant", "one\n\ntwo\n\nthree")])
    async with app.run_test(size=SIZE) as pilot:
        await drag(pilot, (2, 0), (4, 4))
        down = app.screen.get_selected_text()
        await drag(pilot, (4, 4), (2, 0))

        assert down == app.screen.get_selected_text() == "one\n\ntwo\n\nthr"


async def test_the_selection_stays_with_its_text_when_blocks_above_grow() -> None:
    app = Host([panel("1", "body\n" * 3), ReplayBlock("assistant", "keep this")])
    async with app.run_test(size=SIZE) as pilot:
        await drag(pilot, (2, 2), (10, 2))
        app.transcript.toggle(0)
        await settle(pilot)

        assert app.screen.get_selected_text() == "keep this"


async def test_the_selected_cells_are_marked() -> None:
    app = Host([ReplayBlock("assistant", "hello world")])
    async with app.run_test(size=SIZE) as pilot:
        await drag(pilot, (2, 0), (6, 0))
        strip = app.transcript.render_lines(app.transcript.size.region)[0]

        marked = [
            s.text
            for s in strip
            if s.style and s.style.bgcolor and s.style.bgcolor.name == Palette.DARK.selection
        ]
        assert "".join(marked) == "hello"


async def test_a_double_click_selects_a_word_and_a_triple_click_the_line() -> None:
    app = Host([ReplayBlock("assistant", "see the_file now please, it is wrapped over rows")])
    async with app.run_test(size=SIZE) as pilot:
        await pilot.click(offset=(8, 0), times=2)
        word = app.screen.get_selected_text()
        await pilot.click(offset=(8, 0), times=3)

        assert word == "the_file"
        assert app.screen.get_selected_text() == "see the_file now please, it is wrapped over rows"


async def test_tu_30_a_plain_click_selects_nothing() -> None:
    app = Host([ReplayBlock("assistant", "hello world")])
    async with app.run_test(size=SIZE) as pilot:
        await pilot.click(offset=(5, 0))

        assert app.screen.get_selected_text() is None


async def test_a_drag_over_a_head_does_not_toggle_it() -> None:
    app = Host([panel("1", "body")])
    async with app.run_test(size=SIZE) as pilot:
        await drag(pilot, (4, 0), (14, 0))

        assert not app.transcript.document.blocks[0].open


async def test_everything_can_be_selected_without_laying_everything_out() -> None:
    app = Host([ReplayBlock("user", f"prompt {number}") for number in range(2_000)])
    async with app.run_test(size=SIZE):
        selected = app.transcript.get_selection(SELECT_ALL)

        assert selected is not None
        assert selected[0].split("\n\n") == [f"prompt {number}" for number in range(2_000)]
        assert sum(block.exact for block in app.transcript.document.blocks) < 60


async def test_a_selection_in_an_empty_transcript_is_nothing() -> None:
    app = Host()
    async with app.run_test(size=SIZE) as pilot:
        await drag(pilot, (2, 2), (9, 9))

        assert app.transcript.get_selection(Selection(Offset(0, 0), Offset(5, 5))) is None


@pytest.mark.parametrize("y", [3, 12])
async def test_a_click_on_a_link_reports_its_address(y: int) -> None:
    app = Host(
        [
            ReplayBlock(
                "assistant",
                "\n\n".join(["go"] * (y // 2)) + ("\n\n" if y > 1 else "") + "[x](https://example.com/a)",
            )
        ]
    )
    async with app.run_test(size=SIZE) as pilot:
        row = next(n for n, text in enumerate(app.rows()) if "example" in text)
        await pilot.click(offset=(2, row))

    assert app.links == ["https://example.com/a"]
