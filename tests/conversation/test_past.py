from pathlib import Path

from agent_tui.providers.scripted import text
from tests.support.core_world import open_core


async def test_undo_and_redo_say_which_way_the_conversation_went(workspace: Path) -> None:
    async with open_core(workspace, text("done")) as world:
        await world.core.run_turn("begin")
        past = world.core.past
        [point] = await past.points()

        back = await past.rewind(point.entry_id)
        again = await past.redo()

        assert "The conversation went back." in back.said
        assert again is not None
        assert "What was undone is back." in again.said
