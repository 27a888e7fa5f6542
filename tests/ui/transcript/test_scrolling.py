import pytest
from textual.events import MouseScrollUp

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.transcript.heights import Heights
from tests.support.patience import until
from tests.support.transcript_host import Host, lines, panel, settle

SIZE = (50, 16)


def talk(turns: int) -> list[ReplayBlock]:
    blocks: list[ReplayBlock] = []
    for turn in range(turns):
        blocks.append(ReplayBlock("user", f"question {turn}"))
        blocks.append(panel(f"c{turn}", lines(5), state="error" if turn % 7 == 0 else "done"))
        blocks.append(
            ReplayBlock(
                "assistant", f"answer {turn}\n\n" + f"- word {turn} and more words to wrap\n" * (turn % 9)
            )
        )
    return blocks


async def test_item_60_x27_it_follows_only_from_the_bottom() -> None:
    app = Host(talk(20))
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.add(ReplayBlock("notice", "first news"))
        await settle(pilot)
        followed = app.rows()[-1]
        app.transcript.scroll_rows(-1)
        app.transcript.add(ReplayBlock("notice", "second news"))
        await settle(pilot)
        stayed = app.shown()
        app.transcript.scroll_rows(9)
        app.transcript.add(ReplayBlock("notice", "third news"))
        await settle(pilot)

        assert followed.strip() == "first news"
        assert "second news" not in stayed
        assert app.rows()[-1].strip() == "third news"


async def test_new_messages_are_counted_until_they_are_on_screen() -> None:
    app = Host(talk(20))
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.go_home()
        app.transcript.add(ReplayBlock("notice", "one"))
        app.transcript.add(ReplayBlock("notice", "two"))
        await settle(pilot)

        assert app.transcript.new_messages == 2
        app.transcript.go_end()
        await settle(pilot)
        assert app.transcript.new_messages == 0
        assert app.transcript.follow
        assert app.rows()[-1].strip() == "two"


async def test_what_is_read_stands_still_while_text_streams_below() -> None:
    app = Host(talk(20))
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.scroll_rows(-30)
        before = app.rows()[:-1]
        index = app.transcript.stream_start("assistant")
        for number in range(200):
            app.transcript.stream_append(index, f"word {number}\n")
        app.transcript.flush()
        app.transcript.stream_end(index)
        await settle(pilot)

        assert app.rows()[:-1] == before


async def test_what_is_read_stands_still_while_a_panel_above_changes() -> None:
    app = Host([panel("top", state="running"), *talk(20)])
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.scroll_rows(-20)
        before = app.rows()
        app.transcript.update_tool("top", state="error", text=lines(30))
        await settle(pilot)

        assert app.rows() == before


async def test_tu_29_scrolling_up_through_unseen_blocks_never_jumps() -> None:
    app = Host(talk(200))
    async with app.run_test(size=SIZE) as pilot:
        seen = app.rows()
        for _ in range(400):
            app.transcript.scroll_rows(-3)
            rows = app.rows()
            assert rows[3:] == seen[:-3] or rows == seen
            seen = rows
        await settle(pilot)


async def test_tu_29_every_turn_is_reachable_in_order_from_the_top() -> None:
    app = Host(talk(60))
    async with app.run_test(size=SIZE):
        app.transcript.go_home()
        found: list[str] = []
        while True:
            for row in app.rows():
                text = row.strip().removeprefix("▌").strip()
                if text.startswith("question ") and text not in found:
                    found.append(text)
            if app.transcript.follow:
                break
            app.transcript.scroll_page(1)

        assert found == [f"question {turn}" for turn in range(60)]


async def test_the_wheel_scrolls_three_rows() -> None:
    app = Host(talk(20))
    async with app.run_test(size=SIZE) as pilot:
        before = app.rows()
        await pilot._post_mouse_events([MouseScrollUp], offset=(5, 5))
        await settle(pilot)

        assert app.rows()[3:] == before[:-3]


async def test_textuals_own_scroll_methods_work_too() -> None:
    app = Host(talk(20))
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.scroll_to(y=0, animate=False)
        await settle(pilot)
        top = app.rows()[0]
        app.transcript.scroll_end(animate=False)
        await until(lambda: app.transcript.follow)

        assert "question 0" in top
        assert app.transcript.follow


async def test_dragging_the_bar_goes_anywhere() -> None:
    app = Host(talk(50))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.mouse_down(offset=(49, 14))
        await pilot.hover(offset=(49, 0))
        await pilot.mouse_up(offset=(49, 0))
        await settle(pilot)

        assert "question 0" in app.rows()[0]
        assert app.screen.selections == {}


async def test_a_resize_keeps_the_place_and_the_end() -> None:
    app = Host(talk(40))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.resize_terminal(30, 12)
        await settle(pilot)
        at_end = app.rows()[-1]
        app.transcript.jump_prompt(-1)
        app.transcript.jump_prompt(-1)
        prompt = app.rows()[0]
        await pilot.resize_terminal(70, 20)
        await settle(pilot)

        assert "to wrap" in at_end
        assert app.rows()[0].strip() == prompt.strip()


async def test_tu_15_a_storm_of_resizes_while_streaming_leaves_a_whole_screen() -> None:
    app = Host(talk(10))
    async with app.run_test(size=SIZE) as pilot:
        index = app.transcript.stream_start("assistant")
        for number in range(40):
            app.transcript.stream_append(index, f"- item {number}\n")
            await pilot.resize_terminal(1 + (number * 7) % 90, 1 + (number * 3) % 30)
        await pilot.resize_terminal(50, 16)
        app.transcript.stream_end(index)
        app.transcript.flush()
        await settle(pilot)

        assert app.rows()[-1].strip() == "• item 39"


async def test_the_bar_shows_where_the_window_is() -> None:
    app = Host(talk(50))
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.go_home()
        await settle(pilot)
        first = [strip.text.endswith("▐") for strip in app.strips()]
        app.transcript.go_end()
        await settle(pilot)

        assert first[0]
        assert not first[-1]
        assert app.strips()[-1].text.endswith("▐")


async def test_unchanged_rows_are_the_same_strips_in_the_next_frame() -> None:
    app = Host(talk(50))
    async with app.run_test(size=SIZE) as pilot:
        region = app.transcript.size.region
        first = app.transcript.render_lines(region)
        app.transcript.scroll_rows(-3)
        await settle(pilot)
        second = app.transcript.render_lines(region)

        same = [one is two for one, two in zip(first[:-3], second[3:], strict=True)]
        assert same.count(False) <= 4


async def test_10_000_blocks_load_without_being_laid_out() -> None:
    app = Host(talk(3_400))
    async with app.run_test(size=SIZE):
        app.rows()
        laid_out = sum(block.exact for block in app.transcript.document.blocks)

        assert len(app.transcript.document) == 10_200
        assert laid_out < 40


async def test_a_loaded_session_shows_its_end() -> None:
    app = Host(talk(40))
    async with app.run_test(size=SIZE):
        assert app.transcript.follow
        assert "answer 39" in app.shown() or "word 39" in app.shown()


async def test_clear_leaves_nothing() -> None:
    app = Host(talk(4))
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.set_cursor(3)
        app.transcript.clear()
        await settle(pilot)
        app.transcript.add(ReplayBlock("user", "again"))
        await settle(pilot)

        assert [row.strip() for row in app.rows() if row.strip()] == ["▌ again"]


async def test_jumping_from_prompt_to_prompt() -> None:
    app = Host(talk(10))
    async with app.run_test(size=SIZE):
        app.transcript.go_home()
        app.transcript.set_cursor(0)
        assert app.transcript.jump_prompt(1) == 3
        assert "question 1" in app.rows()[0]
        assert app.transcript.jump_prompt(-1) == 0
        assert app.transcript.jump_prompt(-1) is None


async def test_the_block_cursor_moves_shows_itself_and_stops_at_the_ends() -> None:
    app = Host(talk(10))
    async with app.run_test(size=SIZE):
        moves = [app.transcript.move_cursor(-1) for _ in range(3)]
        marked = [row for row in app.rows() if row.startswith("▌")]
        for _ in range(40):
            app.transcript.move_cursor(-1)

        assert moves == [29, 28, 27]
        assert any("question 9" in row for row in marked)
        assert app.transcript.cursor == 0
        assert "question 0" in app.shown()


async def test_the_cursor_has_nowhere_to_go_without_blocks() -> None:
    app = Host()
    async with app.run_test(size=SIZE):
        assert app.transcript.move_cursor(1) is None
        assert app.transcript.jump_prompt(-1) is None


@pytest.mark.parametrize("count", [0, 1, 7])
def test_heights_of_few_blocks(count: int) -> None:
    assert Heights([1] * count).total == count


@pytest.mark.parametrize("rows", [3, 100])
async def test_a_panel_that_the_program_opens_at_the_end_is_followed(rows: int) -> None:
    app = Host([*talk(5), panel("p", lines(rows), state="done")])
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.unfold(len(app.transcript.document) - 1)
        app.transcript.add(ReplayBlock("notice", "news"))
        await settle(pilot)

        assert app.transcript.follow
        assert f"line {rows - 1}" in app.shown()
        assert app.rows()[-1].strip() == "news"


async def test_a_panel_that_a_person_opens_at_the_end_is_followed_while_its_head_stays_in_sight() -> None:
    app = Host([*talk(5), panel("short", lines(3), state="done"), panel("long", lines(100), state="done")])
    async with app.run_test(size=SIZE) as pilot:
        last = len(app.transcript.document) - 1
        app.transcript.toggle(last - 1)
        await settle(pilot)
        short = app.transcript.follow, app.shown()
        app.transcript.toggle(last)
        await settle(pilot)

        assert short[0]
        assert "line 2" in short[1]
        assert not app.transcript.follow
        assert "run long" in app.rows()[0]


async def test_what_the_person_closed_is_not_opened_by_the_program() -> None:
    app = Host([panel("p", lines(3), state="done")])
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.toggle(0)
        app.transcript.toggle(0)
        app.transcript.unfold(0)
        await settle(pilot)

        assert "line 1" not in app.shown()
