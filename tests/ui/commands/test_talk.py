import asyncio
from pathlib import Path

import pytest

from agent_tui.protocol.tools import TurnResult
from agent_tui.ui.screens.confirm import Confirm
from agent_tui.ui.screens.picker import Picker
from agent_tui.ui.screens.viewer import Viewer
from agent_tui.ui.series import GOAL_ROUNDS, Goal, Repeat
from tests.support.fake_backend import FakeBackend, wait_for
from tests.support.screens import Stage, stage


async def choose(here: Stage, typed: str) -> None:
    await here.until(lambda: isinstance(here.app.screen, Picker))
    await here.press(*typed, "enter")


async def test_a_summary_is_shown_before_it_takes_the_place_of_anything(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.send("/compact the tests")
        await choose(here, "read")
        await here.until(lambda: isinstance(here.app.screen, Viewer))
        assert "Goal: petals." in here.picture()
        await here.press("escape")
        assert here.backend.calls == ["draft the tests"]
        await choose(here, "use")
        await here.until(lambda: len(here.backend.calls) > 1)

        assert here.backend.calls[-1] == "compact Goal: petals."


async def test_a_summary_that_is_not_wanted_changes_nothing(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.send("/compact")
        await here.until(lambda: isinstance(here.app.screen, Picker))
        await here.press("escape")
        await here.until(lambda: here.notices)

        assert here.backend.calls == ["draft"]
        assert "stays as it is" in here.notices[-1]


async def test_without_a_summary_the_reason_is_said(workspace: Path) -> None:
    backend = FakeBackend(workspace)
    backend.talk.summary = ""
    async with stage(workspace, backend=backend) as here:
        await here.send("/compact")
        await here.until(lambda: here.notices)

        assert "too little" in here.notices[-1]


async def test_an_aside_runs_while_a_turn_runs(workspace: Path) -> None:
    gate = asyncio.Event()
    backend = FakeBackend(workspace, script=[[wait_for(gate)]])
    async with stage(workspace, backend=backend) as here:
        await here.send("one")
        await here.send("/btw what is a petal?")
        await here.until(lambda: any("Forty-two" in text for text in here.notices))
        assert backend.calls == ["aside what is a petal?"]
        gate.set()
        await here.idle()

        assert backend.prompts == ["one"]


async def test_a_loop_sends_its_prompt_so_many_times(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.send("/loop 3 water the plants")
        await here.until(lambda: any("has run 3 times" in text for text in here.notices))

        assert here.backend.prompts == ["water the plants"] * 3
        assert here.app.driver.series is None


async def test_a_goal_goes_on_until_the_model_says_that_it_is_met(workspace: Path) -> None:
    backend = FakeBackend(workspace)

    async def third(_backend: FakeBackend) -> None:
        backend.talk.reply = "Done.\n\n**GOAL MET**"

    backend.script.extend([[], [], [third]])
    async with stage(workspace, backend=backend) as here:
        await here.send("/goal count all petals")
        await here.until(lambda: any("is met, after 3 rounds" in text for text in here.notices))

        assert len(backend.prompts) == 3
        assert "count all petals" in backend.prompts[0]
        assert "not met yet" in backend.prompts[2]


async def test_esc_ends_a_loop(workspace: Path) -> None:
    gate = asyncio.Event()
    backend = FakeBackend(workspace, script=[[], [wait_for(gate)]])
    async with stage(workspace, backend=backend) as here:
        await here.send("/loop 5 go")
        await here.until(lambda: len(backend.prompts) == 2)
        await here.press("escape")
        await here.idle()

        assert len(backend.prompts) == 2
        assert any("ends at 2 of 5" in text for text in here.notices)


async def test_a_goal_asks_after_ten_rounds(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.send("/goal never")
        await here.until(lambda: isinstance(here.app.screen, Confirm))
        assert len(here.backend.prompts) == GOAL_ROUNDS
        await here.press("n")
        await here.idle()

        assert len(here.backend.prompts) == GOAL_ROUNDS
        assert any("put down" in text for text in here.notices)


async def test_a_goal_is_ended_by_hand_and_a_failed_turn_ends_it_too() -> None:
    said: list[str] = []

    async def never(_question: str) -> bool:
        return False

    goal = Goal("g", last_reply=lambda: "", tell=said.append, ask=never)

    assert await goal.following(TurnResult(stop_reason="failed")) is None
    assert await Repeat("p", 2, tell=said.append).following(TurnResult(stop_reason="cancelled")) is None
    assert len(said) == 2


async def test_commands_wait_for_nothing_and_the_loop_goes_on_behind_them(workspace: Path) -> None:
    gate = asyncio.Event()
    backend = FakeBackend(workspace, script=[[wait_for(gate)]])
    async with stage(workspace, backend=backend) as here:
        await here.send("/loop 2 go")
        await here.until(lambda: backend.prompts)
        await here.send("/compact undo")
        gate.set()
        await here.until(lambda: len(backend.prompts) == 2)

        assert backend.calls == ["undo_compaction"]


async def test_what_is_sent_while_a_summary_is_written_waits_in_its_order(workspace: Path) -> None:
    backend = FakeBackend(workspace)
    backend.talk.gate = asyncio.Event()
    async with stage(workspace, backend=backend) as here:
        await here.send("/compact")
        await here.until(lambda: backend.calls == ["draft"])
        await here.send("one")
        await here.send("/clear")
        await here.send("//two")
        await here.send("/plan three")
        waiting = [text for text, _ in here.app.driver.queued()]
        assert waiting == ["one", "/clear", "/two", "/plan three"]
        assert backend.kept_commands == ["one", "/clear", "//two", "/plan three"]
        assert backend.prompts == []
        assert here.app.driver.take_back(2) == "//two"

        backend.talk.gate.set()
        await choose(here, "use")
        await here.until(lambda: backend.prompts == ["one", "three"])
        await here.idle()
        assert backend.calls == ["draft", "compact Goal: petals.", "new_session"]
        assert not here.app.driver.is_taken


async def test_escape_stops_a_summary_that_is_being_written(workspace: Path) -> None:
    backend = FakeBackend(workspace)
    backend.talk.gate = asyncio.Event()
    backend.talk.summary = ""
    async with stage(workspace, backend=backend) as here:
        await here.send("/compact")
        await here.until(lambda: backend.calls == ["draft"])
        await here.press("escape")
        await here.until(lambda: here.notices)

        assert backend.calls == ["draft", "cancel_turn"]
        assert not here.app.driver.is_taken


@pytest.mark.parametrize("number", ["²", "9" * 5000])
@pytest.mark.parametrize("command", ["/loop {} go", "/copy {}"])
async def test_no_number_that_is_typed_is_a_fault_of_the_program(
    workspace: Path, command: str, number: str
) -> None:
    async with stage(workspace) as here:
        await here.send(command.format(number))
        await here.until(lambda: any("Write /" in text for text in here.notices))
