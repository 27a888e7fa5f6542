from itertools import pairwise

import pytest

from agent_tui.protocol.replay import ReplayBlock, ToolState
from agent_tui.ui.linear.speaker import block_text
from agent_tui.ui.palette import Palette
from agent_tui.ui.transcript.panel import SUFFIX
from tests.support.transcript_host import Host, lines, panel, settle

SIZE = (60, 20)


async def test_x25_the_head_says_state_name_title_and_time() -> None:
    blocks = [
        panel("1", "out", elapsed_s=0.31, summary="1 line"),
        panel("2", "boom", state="error", elapsed_s=75.0),
        panel("3", state="cancelled"),
        panel("4", state="denied"),
        panel("5", state="waiting"),
    ]
    app = Host(blocks)
    async with app.run_test(size=SIZE):
        rows = [row.split() for row in app.rows() if row.strip()]

    assert rows[0] == ["✓", "Bash:", "run", "1", "1", "line", "0.3s", "▸"]
    assert rows[1] == ["✗", "Bash:", "run", "2", "1m", "15s", "▾"]
    assert rows[2] == ["│", "boom"]
    assert rows[3] == ["⊘", "Bash:", "run", "3", "(cancelled)", "▸"]
    assert rows[4] == ["⊘", "Bash:", "run", "4", "(denied)", "▸"]
    assert rows[5] == ["○", "Bash:", "run", "5", "▸"]


@pytest.mark.parametrize(("width", "state"), [(80, "done"), (80, "interrupted"), (100, "done")])
async def test_a_long_command_is_cut_before_what_came_of_it(width: int, state: ToolState) -> None:
    command = "cd src && " * 20
    end = "  exit code: 0, 345 lines"
    app = Host([panel("1", "out", title=command, state=state, summary=end.strip(), elapsed_s=61.5)])
    async with app.run_test(size=(width, 10)):
        [row] = [row for row in app.rows() if row.strip()]

    suffix = " (interrupted)" if state == "interrupted" else ""
    assert row.strip().endswith(f"…{suffix}{end} 1m 01s ▸")
    assert command[:16] in row


async def test_a_title_stays_whole_when_cutting_it_would_not_show_all_that_follows() -> None:
    app = Host([panel("1", "out", title="a/long/path/of/a/file.py", summary="much " * 40)])
    async with app.run_test(size=SIZE):
        assert "a/long/path/of/a/file.py  much" in app.shown()


async def test_item_56_the_title_is_there_before_the_end_and_the_same_panel_changes() -> None:
    app = Host()
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.add(panel("1", state="waiting"))
        app.transcript.add(panel("2", state="waiting"))
        app.transcript.update_tool("1", state="running")
        await settle(pilot)
        running = app.rows()[0]
        app.transcript.update_tool("1", state="done", text="out", elapsed_s=1.25)
        await settle(pilot)

        assert "Bash: run 1" in running
        assert running.strip()[0] not in "✓✗○"
        assert app.rows()[0].split() == ["✓", "Bash:", "run", "1", "1.2s", "▸"]
        assert app.rows()[1].split()[0] == "○"


async def test_item_57_errors_start_open_and_a_persons_choice_outlives_updates() -> None:
    app = Host()
    async with app.run_test(size=SIZE) as pilot:
        first = app.transcript.add(panel("1", state="running"))
        second = app.transcript.add(panel("2", state="running"))
        app.transcript.toggle(first)
        app.transcript.toggle(second)
        app.transcript.toggle(second)
        app.transcript.update_tool("1", state="done", text="kept open")
        app.transcript.update_tool("2", state="error", text="kept shut")
        app.transcript.add(panel("3", "seen at once", state="error"))
        await settle(pilot)

        assert "kept open" in app.shown()
        assert "kept shut" not in app.shown()
        assert "seen at once" in app.shown()


@pytest.mark.parametrize("live", [False, True])
async def test_what_follows_an_open_panel_stands_one_blank_row_below_it(live: bool) -> None:
    blocks = [
        panel("1", "first", state="error"),
        panel("2", "second", state="error", images=("PNG 1×1",)),
        ReplayBlock("assistant", "Words."),
        panel("3", "third", state="error", is_truncated=True),
        ReplayBlock("user", "Mine."),
    ]
    app = Host([] if live else blocks)
    async with app.run_test(size=(60, 30)) as pilot:
        for block in blocks if live else ():
            app.transcript.add(block)
        await settle(pilot)
        rows = [row.strip(" ▐") for row in app.rows()]
        document = app.transcript.document
        last = document.body(3).height - 1

        said = [row for row in rows if row][-1]
        shown = rows[: rows.index(said) + 1]
        assert "Mine." in said
        assert not any(not above and not below for above, below in pairwise(shown))
        assert shown.count("") == 4
        assert document.is_open_all(3, last)
        assert document.is_picture(1, document.body(1).height - 1)
        assert document.heights.total == sum(
            document.body(at).height + document.gap(at) for at in range(len(blocks))
        )


async def test_an_unknown_call_changes_nothing() -> None:
    app = Host([panel("1")])
    async with app.run_test(size=SIZE):
        app.transcript.update_tool("nope", state="error")
        app.transcript.append_output("nope", "x")

        assert app.rows()[0].split()[0] == "✓"


async def test_tu_24_ids_from_outside_may_be_anything_and_come_twice() -> None:
    app = Host()
    async with app.run_test(size=SIZE) as pilot:
        for call_id in ("1abc", "call.0", "é", "", "same", "same"):
            app.transcript.add(panel(call_id, state="running"))
        app.transcript.update_tool("same", state="done")
        app.transcript.update_tool("", state="error")
        await settle(pilot)

        states = [block.data.state for block in app.transcript.document.blocks]
        assert states == ["running", "running", "running", "error", "running", "done"]


async def test_a33_a_cut_result_offers_the_whole_and_says_how_much_it_is() -> None:
    app = Host([panel("1", "start", is_truncated=True, full_length=34_120)])
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.toggle(0)
        await settle(pilot)
        row = next(y for y, text in enumerate(app.rows()) if "open all" in text)

        assert "open all (34,120 characters)" in app.rows()[row]
        await pilot.click(offset=(8, row))

    assert app.opened == ["1"]


async def test_item_54_the_whole_can_be_asked_for_by_key_too() -> None:
    app = Host([panel("1", "start", is_truncated=True, full_length=34_120), panel("2", "short")])
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.open_full(0)
        app.transcript.open_full(1)
        await settle(pilot)

    assert app.opened == ["1"]


async def test_a_click_on_the_head_toggles_and_one_on_the_body_does_not() -> None:
    app = Host([panel("1", "the body")])
    async with app.run_test(size=SIZE) as pilot:
        await pilot.click(offset=(5, 0))
        opened = app.shown()
        await pilot.click(offset=(5, 1))
        still = app.shown()
        await pilot.click(offset=(5, 0))

        assert "the body" in opened
        assert still == opened
        assert "the body" not in app.shown()


async def test_all_panels_toggle_at_once() -> None:
    app = Host([panel("1", "one"), ReplayBlock("thinking", "why\nhow"), panel("2", "two", state="error")])
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.toggle_all()
        await settle(pilot)
        opened = app.shown()
        app.transcript.toggle_all()
        await settle(pilot)

        assert all(word in opened for word in ("one", "two", "how"))
        assert not any(word in app.shown() for word in ("one", "two"))


async def test_thinking_is_one_dim_line_that_opens() -> None:
    app = Host([ReplayBlock("thinking", "First this.\nThen that.")])
    async with app.run_test(size=SIZE) as pilot:
        closed = app.rows()[0]
        app.transcript.toggle(0)
        await settle(pilot)

        assert closed.split()[:4] == ["∴", "Thought", "First", "this."]
        assert "Then that." in app.shown()


async def test_live_output_shows_its_last_rows_and_closes_when_the_tool_is_done() -> None:
    app = Host()
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.add(panel("1", state="running"))
        for number in range(40):
            app.transcript.append_output("1", f"step {number}\n")
        app.transcript.flush()
        await settle(pilot)
        live = app.shown()
        app.transcript.update_tool("1", state="done", text="all of it")
        await settle(pilot)

        assert "step 39" in live
        assert "step 30" not in live
        assert "step" not in app.shown()


async def test_live_output_is_bounded() -> None:
    app = Host()
    async with app.run_test(size=SIZE):
        app.transcript.add(panel("1", state="running"))
        for _ in range(50):
            app.transcript.append_output("1", lines(1_000))

        assert len(app.transcript.document.blocks[0].live) <= 64_000


@pytest.mark.parametrize("state", ["done", "error", "cancelled", "denied", "waiting"])
async def test_a_timer_runs_only_while_a_tool_runs(state: ToolState) -> None:
    app = Host()
    async with app.run_test(size=SIZE) as pilot:
        timers = len(app.transcript._timers)
        app.transcript.add(panel("1", state="running"))
        await settle(pilot)
        running = len(app.transcript._timers)
        app.transcript.update_tool("1", state=state)
        await settle(pilot)

        assert running == timers + 1
        assert app.transcript._spin_timer is None


async def test_a_running_head_counts_seconds() -> None:
    app = Host()
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.add(panel("1", state="running"))
        app.now_s += 7.4
        app.transcript._turn()
        await settle(pilot)

        assert app.rows()[0].split()[-2:] == ["7s", "▸"]


async def test_item_63_a_theme_change_repaints_open_panels_and_keeps_them_open() -> None:
    app = Host([panel("1", "text", state="error"), ReplayBlock("assistant", "**bold**")])
    async with app.run_test(size=SIZE) as pilot:
        before = app.transcript.render_lines(app.transcript.size.region)
        app.transcript.set_palette(Palette.LIGHT)
        await settle(pilot)
        after = app.transcript.render_lines(app.transcript.size.region)

        assert [strip.text for strip in before] == [strip.text for strip in after]
        grounds = {segment.style.bgcolor.name for strip in after for segment in strip if segment.style}
        assert grounds == {Palette.LIGHT.background}


async def test_h_t3_titles_and_outputs_are_never_markup() -> None:
    attack = "[link=https://evil]x[/link] [@click=app.quit]x[/] [/ \x1b]0;pwn\x07"
    app = Host([panel(attack, attack, state="error", title=attack, display_name=attack, summary=attack)])
    async with app.run_test(size=(160, 10)):
        shown = app.shown()

        assert "[link=https://evil]x[/link] [@click=app.quit]x[/] [/ ␛]0;pwn␇" in shown
        assert "\x1b" not in shown


async def test_a_panel_without_output_says_so() -> None:
    app = Host([panel("1"), panel("2", state="waiting")])
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.toggle_all()
        await settle(pilot)

        assert "(no output)" in app.shown()
        assert "(waiting)" in app.shown()


@pytest.mark.parametrize("width", [1, 2, 5, 9, 20])
async def test_tu_15_tiny_widths_draw_without_a_fault(width: int) -> None:
    blocks = [
        ReplayBlock("user", "Hello there"),
        ReplayBlock("assistant", "# T\n\n| a | b |\n|---|---|\n| 日本 | c |\n\n```py\nx = 1\n```\n- [ ] t"),
        panel("1", "日本語\n" * 3, state="error", is_truncated=True, full_length=9_999_999),
        panel("2", "@@ -1 +1 @@\n-a\n+b", state="error", content_type="diff"),
        ReplayBlock("thinking", "hm " * 30),
        ReplayBlock("notice", "✗ failed"),
        ReplayBlock("decision", "Allowed"),
    ]
    app = Host(blocks)
    async with app.run_test(size=(width, 5)) as pilot:
        app.transcript.go_home()
        for _ in range(30):
            app.transcript.scroll_rows(3)
            strips = app.transcript.render_lines(app.transcript.size.region)
            assert {strip.cell_length for strip in strips} == {width}
        await pilot.resize_terminal(80, 24)
        await settle(pilot)

        assert "failed" in app.shown()


@pytest.mark.parametrize("state", ["cancelled", "denied", "interrupted"])
def test_a_state_has_one_word_in_panels_and_in_plain_lines(state: ToolState) -> None:
    block = ReplayBlock(kind="tool", text="", display_name="Bash", title="ls", state=state)

    assert block_text(block) == f"Tool, Bash: ls{SUFFIX[state]}"
