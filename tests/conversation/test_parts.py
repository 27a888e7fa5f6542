from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_tui.agent.history import repair
from agent_tui.agent.loop import Agent
from agent_tui.conversation.talk import SessionTalk
from agent_tui.protocol.errors import AgentTuiError, AuthError, NothingThereError
from agent_tui.protocol.messages import TextBlock
from agent_tui.providers.scripted import text
from agent_tui.providers.unconnected import UnconnectedProvider
from agent_tui.sessions.session import Session
from agent_tui.sessions.store import SessionStore
from agent_tui.sessions.tree import points
from agent_tui.ui.backend import ModelsView
from tests.support.agent_world import World, problems_of, world
from tests.support.core_world import open_core


@dataclass
class Open:
    world: World
    agent: Agent
    record: Session
    talk: SessionTalk

    async def say(self, *prompts: str) -> None:
        for prompt in prompts:
            await self.agent.run(prompt)

    def entry(self, title: str) -> str:
        return next(p.entry_id for p in points(self.record.records()) if p.title == title)

    def texts(self) -> list[str]:
        return [
            block.text
            for message in self.agent.history
            for block in message.content
            if isinstance(block, TextBlock)
        ]


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Open]:
    record = SessionStore(tmp_path / "sessions").create(tmp_path)
    w = world(*[text(f"reply {n}") for n in range(9)])
    agent = w.agent(journal=record, environment="<environment>\nhere\n</environment>")

    async def reload(_note: str) -> None:
        agent.history = record.messages()

    yield Open(w, agent, record, SessionTalk(agent=lambda: agent, record=lambda: record, reload=reload))
    await record.aclose()


async def test_from_a_prompt_on_a_summary_takes_the_place_and_what_was_before_stays(opened: Open) -> None:
    await opened.say("one", "two", "three")
    entry = opened.entry("two")
    whole = opened.agent.history

    draft = await opened.talk.draft_part(entry, "from")
    asked = str(opened.world.provider.requests[-1].messages)
    said = await opened.talk.compact_part(entry, "from", "We did two and three.")

    assert draft.text == "reply 3"
    assert ("User: two" in asked, "User: one" in asked) == (True, False)
    assert "what followed" in said
    assert opened.agent.history[:2] == whole[:2]
    assert len(opened.agent.history) == 3
    assert "We did two and three." in opened.texts()[-1]


async def test_up_to_a_prompt_a_summary_takes_the_place_and_what_follows_stays(opened: Open) -> None:
    await opened.say("one", "two", "three")
    entry = opened.entry("three")
    whole = opened.agent.history

    await opened.talk.compact_part(entry, "before", "We did one and two.")

    texts = opened.texts()
    assert texts[0].startswith("<environment>")
    assert "We did one and two." in texts[1]
    assert opened.agent.history[1:] == whole[4:]


@pytest.mark.parametrize(
    ("title", "side"), [("one", "from"), ("two", "from"), ("two", "before"), ("three", "before")]
)
async def test_the_conversation_goes_on_is_accepted_and_comes_back_the_same(
    opened: Open, title: str, side: str
) -> None:
    await opened.say("one", "two", "three")

    await opened.talk.compact_part(opened.entry(title), side, "A summary.")
    await opened.say("four")

    sent = opened.world.provider.requests[-1].messages
    assert problems_of(sent) == []
    assert str(sent).count("A summary.") == 1
    assert repair(opened.record.messages(), "p", "m") == repair(opened.agent.history, "p", "m")


async def test_it_is_taken_back_whole(opened: Open) -> None:
    await opened.say("one", "two")
    whole = opened.agent.history

    await opened.talk.compact_part(opened.entry("two"), "from", "A summary.")
    await opened.talk.undo_compaction()

    assert opened.agent.history == whole


async def test_lists_of_files_of_a_summary_in_the_middle_survive_the_next(opened: Open) -> None:
    from agent_tui.agent.digest import carried_over
    from agent_tui.agent.notes import note
    from tests.support.session_world import user

    kept = carried_over([user(note("Files read:\na.py")), user("hm"), user(note("Files read:\nb.py"))])

    assert kept == ("Files read:\na.py\nb.py",)


async def test_what_cannot_be_summarised_is_said_and_nothing_changes(opened: Open) -> None:
    await opened.say("one", "two")
    first, second = opened.entry("one"), opened.entry("two")
    with pytest.raises(NothingThereError, match="Nothing was said before"):
        await opened.talk.compact_part(first, "before", "A summary.")
    with pytest.raises(AgentTuiError, match="another branch"):
        await opened.talk.compact_part("nowhere", "from", "A summary.")
    await opened.talk.compact_part(second, "from", "A summary.")
    with pytest.raises(AgentTuiError, match="choose a later one"):
        await opened.talk.draft_part(second, "from")


async def test_without_a_list_of_models_the_one_in_use_comes_with_the_reason(tmp_path: Path) -> None:
    async with open_core(tmp_path) as world:
        told = await world.core.models()
        world.core.agent.provider = UnconnectedProvider(AuthError("There is no key."), name="p", model="m")
        untold = await world.core.models()

    assert told == ModelsView(["script"])
    assert untold == ModelsView(["m"], "The server's other models are not known: There is no key.")
