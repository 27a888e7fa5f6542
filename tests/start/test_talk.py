from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_tui.agent.loop import Agent
from agent_tui.conversation.talk import SessionTalk
from agent_tui.protocol.messages import UserMessage
from agent_tui.providers.scripted import text
from agent_tui.sessions.store import Session, SessionStore
from tests.support.agent_world import World, world


@dataclass
class Open:
    world: World
    agent: Agent
    record: Session
    talk: SessionTalk


@pytest.fixture
async def opened(tmp_path: Path):
    store = SessionStore(tmp_path / "sessions")
    record = store.create(tmp_path)
    w = world(*[text(f"reply {n} " * 300) for n in range(4)])
    agent = w.agent(journal=record)

    async def reload(_note: str) -> None:
        agent.history = record.messages()

    yield Open(w, agent, record, SessionTalk(agent=lambda: agent, record=lambda: record, reload=reload))
    await record.aclose()


async def test_a_compaction_is_taken_back_with_every_message(opened: Open) -> None:
    await opened.agent.run("one " * 300)
    await opened.agent.run("two " * 300)
    before = opened.agent.history

    said = await opened.talk.compact("Goal: petals.")
    compacted = opened.agent.history
    undone = await opened.talk.undo_compaction()

    assert "/compact undo" in said
    assert compacted != before
    assert opened.agent.history == before
    assert "taken back" in undone
    assert opened.record.messages() == list(before)


async def test_a_compaction_that_the_conversation_went_on_from_stays(opened: Open) -> None:
    await opened.agent.run("one " * 300)
    await opened.talk.compact("Goal: petals.")
    await opened.agent.run("two")
    before = opened.agent.history

    said = await opened.talk.undo_compaction()

    assert "no compaction to take back" in said
    assert "/rewind" in said
    assert opened.agent.history == before


async def test_pins_are_listed_and_come_back_with_the_session(opened: Open) -> None:
    await opened.agent.run("one " * 300)
    await opened.talk.pin("use tabs")
    await opened.agent.run("two " * 300)
    await opened.talk.compact("Goal: petals.")

    restored = [m for m in opened.record.messages() if isinstance(m, UserMessage) and m.pinned]

    assert opened.talk.pins() == ["use tabs"]
    assert len(restored) == 1
    assert "use tabs" in str(opened.world.provider.requests[-1].messages)


async def test_the_shares_of_the_context_name_what_fills_it(opened: Open) -> None:
    await opened.agent.run("one " * 300)

    shares = {share.category: share.tokens for share in opened.talk.shares()}

    assert shares["messages"] > 300
    assert shares["system prompt"] > 0
    assert shares["tools"] > 0


async def test_effort_reaches_the_next_request_and_nonsense_does_not(opened: Open) -> None:
    assert "no effort 'huge'" in opened.talk.set_effort("huge")
    opened.talk.set_effort("high")

    await opened.agent.run("one")

    assert opened.world.provider.requests[0].effort == "high"


async def test_an_effort_gives_no_spent_budget_back(opened: Open) -> None:
    opened.agent.spending.budget_tokens = 5
    opened.talk.set_effort("low")

    assert opened.agent.spending.budget_tokens == 5
