import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.run.early_session import stored_blocks
from agent_tui.run.options import PICK, RunOptions
from agent_tui.sessions.store import SessionStore
from agent_tui.ui.app import AgentApp
from agent_tui.ui.own_commands import OwnCommand
from agent_tui.ui.settings import AppSettings
from tests.support.fake_backend import FakeBackend, wait_for
from tests.support.screens import Stage
from tests.support.session_world import one_turn

STORED = [
    ReplayBlock("user", "make petals", record_id="e1"),
    ReplayBlock("assistant", "Made.", record_id="e2"),
]


@pytest.mark.parametrize("then", [STORED, [*STORED, ReplayBlock("notice", "Stopped.")], []])
async def test_a_stored_session_stands_there_before_the_core_and_once_after_it(
    workspace: Path, then: list[ReplayBlock]
) -> None:
    gate, core = asyncio.Event(), FakeBackend(workspace, blocks=then)

    async def load() -> FakeBackend:
        app.early.opening()
        app.early.show(STORED)
        await gate.wait()
        return core

    app = AgentApp(load, settings=AppSettings(grace_s=0.0, typing_s=0.0))
    async with app.run_test(size=(100, 30)) as pilot:
        here = Stage(app, pilot, core)
        await here.until(lambda: "Made." in here.picture())
        early = here.picture()
        gate.set()
        await here.until(lambda: app.link is not None)
        await here.until(lambda: "Opening the session" not in here.picture())

        assert "Opening the session ..." in early
        assert [text for _, text in here.shown] == [block.text for block in then]


@pytest.fixture
def store() -> SessionStore:
    from agent_tui.config.paths import user_paths

    return SessionStore(user_paths().sessions)


@pytest.mark.parametrize(
    ("options", "stored"),
    [
        (RunOptions(), False),
        (RunOptions(resume=PICK), False),
        (RunOptions(continue_last=True, ephemeral=True), False),
        (RunOptions(continue_last=True), True),
        (RunOptions(resume="petals"), True),
    ],
)
def test_only_a_session_that_is_named_can_be_shown_early(options: RunOptions, stored: bool) -> None:
    assert options.opens_stored is stored


async def test_the_last_or_the_named_session_is_read_and_what_cannot_be_is_left_to_the_core(
    store: SessionStore, workspace: Path
) -> None:
    nothing = stored_blocks(RunOptions(continue_last=True), workspace)
    session = store.create(workspace, name="petals")
    await one_turn(session, "make petals")
    await session.aclose()

    for options in (RunOptions(continue_last=True), RunOptions(resume="petals")):
        assert [block.kind for block in stored_blocks(options, workspace)] == [
            "user",
            "thinking",
            "tool",
            "assistant",
        ]
    assert stored_blocks(RunOptions(resume="roots"), workspace) == ()
    assert nothing == ()


async def test_what_stands_there_is_not_read_again_unless_something_came_between(
    store: SessionStore, workspace: Path
) -> None:
    session = store.create(workspace)
    await one_turn(session, "make petals")
    await session.aclose()
    known = stored_blocks(RunOptions(continue_last=True), workspace)
    opened = store.open(session.id)

    assert opened.paged_replay(known=known) is known
    assert opened.paged_replay(known=[*known]) == known

    await opened.rename("roots")
    assert opened.paged_replay(known=known) == known
    await opened.move_to(known[0].record_id)
    assert opened.paged_replay(known=known) == known[:1]
    await one_turn(opened, "make roots")
    assert opened.paged_replay(known=known)[1].text == "make roots"
    await opened.aclose()


async def test_the_prompt_of_the_command_line_goes_before_what_is_typed_while_the_core_loads(
    workspace: Path,
) -> None:
    gate, turn = asyncio.Event(), asyncio.Event()
    core = FakeBackend(workspace, script=[[wait_for(turn)]])

    async def load() -> FakeBackend:
        await gate.wait()
        return core

    app = AgentApp(load, settings=AppSettings(grace_s=0.0, typing_s=0.0), initial_prompt="first")
    async with app.run_test(size=(100, 30)) as pilot:
        here = Stage(app, pilot, core)
        await here.send("second")
        gate.set()
        await here.until(lambda: core.prompts)

        assert core.prompts == ["first"]
        assert core.queue == [("second", False)]
        turn.set()
        await here.idle()


@asynccontextmanager
async def loading(workspace: Path, core: FakeBackend) -> AsyncIterator[tuple[Stage, asyncio.Event]]:
    """Give the program while its core loads, and the event that lets the core be there."""
    gate = asyncio.Event()

    async def load() -> FakeBackend:
        await gate.wait()
        return core

    app = AgentApp(load, settings=AppSettings(grace_s=0.0, typing_s=0.0))
    async with app.run_test(size=(100, 30)) as pilot:
        yield Stage(app, pilot, core), gate


async def test_what_is_sent_while_the_core_loads_is_done_in_its_order_and_remembered(workspace: Path) -> None:
    connected = asyncio.Event()

    class Connecting(FakeBackend):
        async def set_model(self, name: str) -> str:
            await connected.wait()
            self.prompts.append(f"answered by {name}")
            return await super().set_model(name)

    core = Connecting(workspace)
    typed = ["/model scripted-2", "make petals", "//not a command", "!ls"]
    async with loading(workspace, core) as (here, gate):
        for text in typed:
            await here.send(text)
        assert here.notices == []
        gate.set()
        await here.until(lambda: core.remembered == typed)
        await here.until(lambda: ("run_shell", "ls", False) in core.house.calls)
        connected.set()
        await here.until(lambda: len(core.prompts) == 3)

        assert core.prompts == ["answered by scripted-2", "make petals", "/not a command"]
        assert here.notices == ["The model is now scripted-2."]


async def test_a_command_of_a_file_that_is_sent_while_the_core_loads_runs(workspace: Path) -> None:
    core = FakeBackend(workspace)
    core.own.commands = [OwnCommand("petals", "user:petals", "look at them", "", "yours")]
    async with loading(workspace, core) as (here, gate):
        await here.send("/petals this")
        await here.send("/nothing")
        gate.set()
        await here.until(lambda: core.prompts)

        assert "no command /nothing" in "\n".join(here.notices)
        assert core.prompts == ["user:petals: this"]


async def test_what_waits_for_the_core_is_taken_back_as_it_was_typed(workspace: Path) -> None:
    async with loading(workspace, FakeBackend(workspace)) as (here, gate):
        await here.send("//not a command")
        await here.press("up")
        assert here.app.prompt.text == "//not a command"
        await here.send("/rename")
        assert here.app.prompt.text == "/rename "
        await here.send("/quit")
        await here.until(lambda: not here.app.is_running)
        gate.set()


async def test_an_argument_is_typed_while_the_core_loads_without_an_offer(workspace: Path) -> None:
    async with loading(workspace, FakeBackend(workspace)) as (here, gate):
        await here.type("/model scr")
        gate.set()
        await here.until(lambda: here.app.link is not None)
        await here.type("i")
        await here.until(lambda: here.app.completion.is_open)

        assert here.app.prompt.text == "/model scri"
