"""Stopping a turn before its prompt was sent, or while it goes on without a prompt of its own."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent_tui.protocol.errors import AuthError, BadResponse
from agent_tui.protocol.events import Notice, TurnCancelled, TurnFailed
from agent_tui.protocol.journal import NullJournal
from agent_tui.protocol.messages import ToolResultBlock, UserMessage
from agent_tui.protocol.permissions import PermissionRequest
from agent_tui.providers.scripted import calls, text, use
from agent_tui.sessions.session import Session
from agent_tui.sessions.store import SessionStore
from tests.support.agent_world import World, world

WAITING = PermissionRequest(
    request_id="r", call_id="c", tool="bash", title="", permissions=(), arguments_json="{}", args_sha256="0"
)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return SessionStore(tmp_path / "sessions").create(tmp_path)


async def stop_while_attaching(w: World, session: Session, prompt: str) -> None:
    """Run a turn that succeeds, then stop a second one while what its prompt points at is read."""
    begun, never = asyncio.Event(), asyncio.Event()

    async def attach(words: str) -> Any:
        if words == prompt:
            begun.set()
            await never.wait()
        return ()

    agent = w.agent(journal=session, attach=attach)
    await agent.run("first")
    async with asyncio.TaskGroup() as group:
        turn = group.create_task(agent.run(prompt))
        await begun.wait()
        agent.cancel()
    assert turn.result().stop_reason == "cancelled"
    assert agent.history == tuple(session.messages())
    session.close()


async def test_a_stop_before_the_prompt_was_written_down_leaves_earlier_turns_in_the_session(
    session: Session,
) -> None:
    await stop_while_attaching(world(text("one")), session, "second")

    assert [m.role for m in session.messages()] == ["user", "assistant"]
    assert [r["type"] for r in session.records()] == ["header", "user", "assistant", "turn_end"]


async def test_a_stop_before_the_prompt_was_written_down_gives_this_prompt_back(session: Session) -> None:
    w = world(text("one"))

    await stop_while_attaching(w, session, "second")

    assert [e.returned for e in w.sink.of(Notice)] == ["second"]
    assert w.sink.of(TurnCancelled)[0].prompt_returned is False  # a front end knows of no prompt of this turn


async def test_stopping_a_round_that_goes_on_keeps_what_its_calls_came_to(session: Session) -> None:
    w = world(calls(use("bash", call_id="c")))
    w.rounds.journal, w.rounds.pending = session, (WAITING,)
    agent = w.agent(journal=session)
    await agent.run("first")
    w.rounds.pending, w.rounds.hold = (), asyncio.Event()
    w.rounds.started.clear()

    async with asyncio.TaskGroup() as group:
        group.create_task(agent.redrive())
        await w.rounds.started.wait()
        agent.cancel()

    assert isinstance(agent.history[-1].content[0], ToolResultBlock)
    assert agent.history == tuple(session.messages())
    session.close()


async def test_a_refused_request_of_a_turn_without_a_prompt_takes_nothing_back(session: Session) -> None:
    w = world(text("one"), BadResponse("no such parameter"))
    agent = w.agent(journal=session)
    await agent.run("first")

    result = await agent.redrive()

    assert result.stop_reason == "failed"
    assert [m.role for m in agent.history] == ["user", "assistant"]
    assert agent.history == tuple(session.messages())
    session.close()


class FullDisk(NullJournal):
    """Cannot write its first prompt."""

    def __init__(self) -> None:
        self.fails = True

    async def user_message(self, message: UserMessage, *, turn_id: str, text: str) -> None:
        if self.fails:
            self.fails = False
            raise OSError("no space left")


@pytest.mark.parametrize("lost_by", ["a stop while it is attached to", "a failed write", "a refused request"])
async def test_reminders_have_arrived_only_with_a_prompt_that_stays(lost_by: str) -> None:
    reading, never = asyncio.Event(), asyncio.Event()
    arrived: list[str] = []

    async def attach(words: str) -> Any:
        if words == "first" and lost_by.startswith("a stop"):
            reading.set()
            await never.wait()
        return ()

    refused = [BadResponse("no")] if lost_by == "a refused request" else []
    w = world(*refused, text("two"))
    agent = w.agent(
        attach=attach,
        journal=FullDisk() if lost_by == "a failed write" else NullJournal(),
        reminders=lambda: ["It is Friday."],
        reminded=lambda: arrived.append("arrived"),
    )
    async with asyncio.TaskGroup() as group:
        turn = group.create_task(agent.run("first"))
        if lost_by.startswith("a stop"):
            await reading.wait()
            agent.cancel()
    lost = list(arrived)
    await agent.run("second")

    assert turn.result().stop_reason in ("cancelled", "failed")
    assert lost == []
    assert arrived == ["arrived"]


async def test_a_refused_prompt_that_gave_up_open_calls_goes_back() -> None:
    w = world(calls(use("bash", call_id="c")), BadResponse("too odd", status=400))
    w.rounds.pending = (WAITING,)
    agent = w.agent()
    await agent.run("first")

    result = await agent.run("odd words")

    assert [(message.role, len(message.content)) for message in result.messages] == [("user", 1)]
    assert result.prompt_returned is True
    assert w.sink.of(TurnFailed)[0].prompt_returned is True


@pytest.mark.parametrize(
    ("typed", "shown", "returned"),
    [("/clear this flag", None, "//clear this flag"), ("the text of it", "/review x", "/review x")],
)
async def test_what_comes_back_is_what_was_typed(typed: str, shown: str | None, returned: str) -> None:
    w = world(BadResponse("too odd", status=400))

    await w.agent().run(typed, shown=shown)

    assert w.sink.of(TurnFailed)[0].returned == returned


@pytest.mark.parametrize("fault", [OSError("unreadable"), KeyError("a bug")])
async def test_a_prompt_that_a_fault_kept_from_being_written_down_goes_back(fault: Exception) -> None:
    async def attach(words: str) -> Any:
        raise fault

    w = world(text("never"))
    agent = w.agent(attach=attach)

    if isinstance(fault, OSError):
        result = await agent.run("odd words")
        assert result.prompt_returned is True
        assert w.sink.of(TurnFailed)[0].prompt_returned is True
    else:
        with pytest.raises(KeyError):
            await agent.run("odd words")
        assert [notice.returned for notice in w.sink.of(Notice)] == ["odd words"]
    assert agent.history == ()


async def test_a_failed_turn_whose_prompt_stays_does_not_give_it_back() -> None:
    w = world(AuthError("no key"))
    agent = w.agent()

    result = await agent.run("go")

    assert result.prompt_returned is False
    assert w.sink.of(TurnFailed)[0].prompt_returned is False
    assert len(agent.history) == 1
