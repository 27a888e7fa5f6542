import gc

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.transcript.paint import RowStrip
from tests.support.transcript_host import Host, settle

SIZE = (50, 16)


def kept() -> int:
    return sum(isinstance(thing, RowStrip) for thing in gc.get_objects())


async def test_rows_that_were_painted_are_freed_without_a_collection() -> None:
    gc.collect()
    of_others = kept()  # what an earlier test's program left where something still holds it
    app = Host([ReplayBlock("assistant", "\n\n".join(f"row {number}" for number in range(60)))])
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        gc.collect()
        gc.disable()
        try:
            for step in (-5, -5, 10):
                app.transcript.scroll_rows(step)
                await settle(pilot)
            painted = kept() - of_others
            app.transcript.clear()
            app.transcript.add(ReplayBlock("notice", "all that is left"))
            await settle(pilot)
            left = kept() - of_others
        finally:
            gc.enable()

    assert painted > SIZE[1]
    assert left <= SIZE[1]


async def test_a_row_is_cut_where_something_stands_over_it() -> None:
    app = Host([ReplayBlock("assistant", "some words")])
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        row = app.strips()[0]

        assert [piece.text for piece in row.divide([6, SIZE[0]])] == [row.text[:6], row.text[6:]]
        assert row.divide([SIZE[0]]) == [row]
