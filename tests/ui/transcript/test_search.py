from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.palette import Palette
from tests.support.transcript_host import Host, lines, panel, settle

SIZE = (50, 12)


def highlighted(app: Host) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for strip in app.transcript.render_lines(app.transcript.size.region):
        for text, style, _ in strip:
            if (
                style
                and style.bgcolor
                and style.bgcolor.name in (Palette.DARK.search, Palette.DARK.search_current)
            ):
                found.append((text, "now" if style.bgcolor.name == Palette.DARK.search_current else "other"))
    return found


async def test_tu_29_the_word_of_an_early_turn_is_found_and_shown() -> None:
    blocks = [ReplayBlock("assistant", f"reply {number}\n\n{lines(5)}") for number in range(300)]
    blocks[3] = ReplayBlock("assistant", "here is the Needle you want")
    app = Host(blocks)
    async with app.run_test(size=SIZE) as pilot:
        count = await app.transcript.search("needle")
        await settle(pilot)

        assert count == 1
        assert highlighted(app) == [("Needle", "now")]


async def test_matches_are_walked_round_the_ends_and_the_present_one_stands_out() -> None:
    app = Host([ReplayBlock("user", f"alpha beta {number}") for number in range(3)])
    async with app.run_test(size=SIZE) as pilot:
        count = await app.transcript.search("beta")
        order = [app.transcript.next_match() for _ in range(3)]
        await settle(pilot)

        assert count == 3
        assert order == [1, 2, 3]
        assert highlighted(app) == [("beta", "other"), ("beta", "other"), ("beta", "now")]


async def test_a_capital_makes_case_count() -> None:
    app = Host([ReplayBlock("user", "Alpha alpha ALPHA")])
    async with app.run_test(size=SIZE):
        assert await app.transcript.search("alpha") == 3
        assert await app.transcript.search("Alpha") == 1
        assert await app.transcript.search("nothing") == 0
        assert app.transcript.next_match() == 0


async def test_a_match_in_a_closed_panel_opens_it_and_one_in_its_head_does_not() -> None:
    app = Host([panel("find-me", lines(40, "row") + "\nsecret word")])
    async with app.run_test(size=SIZE) as pilot:
        await app.transcript.search("find-me")
        closed = app.transcript.document.blocks[0].open
        await app.transcript.search("secret")
        await settle(pilot)

        assert not closed
        assert app.transcript.document.blocks[0].open
        assert highlighted(app) == [("secret", "now")]


async def test_ending_a_search_takes_the_marks_away() -> None:
    app = Host([ReplayBlock("user", "alpha")])
    async with app.run_test(size=SIZE) as pilot:
        await app.transcript.search("alpha")
        app.transcript.end_search()
        await settle(pilot)

        assert highlighted(app) == []


async def test_a_match_that_a_wrap_divides_is_still_gone_to() -> None:
    text = "word " * 60 + "the end of it"
    app = Host([ReplayBlock("assistant", text), *[ReplayBlock("user", "x")] * 30])
    async with app.run_test(size=(30, 8)) as pilot:
        await app.transcript.search("word word word word word word the end")
        await settle(pilot)

        assert "the end" in app.shown()
