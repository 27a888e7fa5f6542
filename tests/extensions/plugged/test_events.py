import asyncio
from pathlib import Path

from agent_tui.extensions.plugged.feed import MAX_WAITING
from agent_tui.extensions.plugged.offers import event_names
from agent_tui.extensions.plugged.plug import Pace
from agent_tui.protocol.events import Notice, TextDelta, TurnStarted
from tests.support.patience import until
from tests.support.plug_world import plug_world, write_extension

LISTENER = """
    def extend(agent):
        for kind in ("session_start", "session_end", "turn_started"):
            agent.on(kind, lambda event, ctx: ctx.notify("info", f"{event['type']} {event.get('prompt', '')}"))
"""


async def test_events_come_in_order_as_plain_data_and_only_those_that_were_asked_for(
    workspace: Path, tmp_path: Path
) -> None:
    write_extension(tmp_path / "e", "ear", LISTENER)

    async with plug_world(workspace, tmp_path / "e") as world:
        world.host.session_started("s1")
        world.host.hear(TurnStarted(turn_id="t", prompt="one"))
        world.host.hear(TextDelta(turn_id="t", text="not heard"))
        world.host.hear(TurnStarted(turn_id="t", prompt="two"))
        await until(lambda: len(world.person.notices) == 3)

    said = [text for _, text in world.person.notices]
    assert said == [
        "ear: session_start ",
        "ear: turn_started one",
        "ear: turn_started two",
        "ear: session_end ",
    ]


async def test_another_session_ends_the_one_before(workspace: Path, tmp_path: Path) -> None:
    write_extension(tmp_path / "e", "ear", LISTENER)

    async with plug_world(workspace, tmp_path / "e") as world:
        world.host.session_started("s1")
        world.host.session_started("s2")
        await until(lambda: len(world.person.notices) == 3)

    assert [text.split()[1] for _, text in world.person.notices] == [
        "session_start",
        "session_end",
        "session_start",
        "session_end",
    ]


async def test_a_listener_that_fails_is_told_of_once_and_costs_its_neighbours_nothing(
    workspace: Path, tmp_path: Path
) -> None:
    code = """
        def fail(event, ctx):
            raise RuntimeError("broke")

        def extend(agent):
            agent.on("notice", fail)
            agent.on("notice", lambda event, ctx: ctx.notify("info", event["text"]))
    """
    write_extension(tmp_path / "e", "ear", code)

    async with plug_world(workspace, tmp_path / "e") as world:
        for text in ("one", "two"):
            world.host.hear(Notice(turn_id="t", text=text))
        await until(lambda: len(world.person.notices) == 3)

    assert sorted(world.person.notices) == [
        ("info", "ear: one"),
        ("info", "ear: two"),
        ("warning", "ear: its listener for notice failed: RuntimeError: broke"),
    ]


async def test_a_listener_that_hangs_holds_nobody_up_and_what_comes_then_is_lost(
    workspace: Path, tmp_path: Path
) -> None:
    code = """
        import threading
        def extend(agent):
            agent.on("notice", lambda event, ctx: threading.Event().wait())
    """
    write_extension(tmp_path / "e", "ear", code)

    async with plug_world(workspace, tmp_path / "e", pace=Pace(event_s=0.1)) as world:
        async with asyncio.timeout(10):
            for number in range(MAX_WAITING + 10):
                world.host.hear(Notice(turn_id="t", text=str(number)))
        await until(lambda: len(world.person.notices) >= 2)

    said = [text for _, text in world.person.notices]
    assert said.count("ear: hears events more slowly than they come; some are lost.") == 1
    assert said.count("ear: its listener for notice failed: did not end within 0.1 s") == 1


def test_every_event_of_the_program_can_be_subscribed_to() -> None:
    names = event_names()

    assert {"session_start", "session_end", "turn_started", "tool_finished", "turn_finished"} <= set(names)
    assert len(names) == len(set(names)) == 20
