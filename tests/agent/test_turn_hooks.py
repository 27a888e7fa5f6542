import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from agent_tui.agent.compaction import CompactionSettings
from agent_tui.agent.queue import MessageQueue
from agent_tui.agent.turn_hooks import CompactionSaid, PromptSaid
from agent_tui.protocol.errors import ContextTooLong
from agent_tui.protocol.events import Compacted, Notice, TurnFailed, TurnStarted
from agent_tui.protocol.messages import TextBlock, UserMessage
from agent_tui.protocol.tools import ToolCall
from agent_tui.providers.scripted import Reply, calls, text, use
from tests.support.agent_world import problems_of, world


@dataclass
class Hooks:
    """Blocks prompts that say "secret", compactions when told to, and halts behind a call when told to."""

    stop_compaction: str = ""
    halt: str = ""
    left: str = ""
    compactions: list[bool] = field(default_factory=list)

    async def ready(self) -> None:
        pass

    async def prompt(self, text: str) -> PromptSaid:
        return PromptSaid(block="no secrets" if "secret" in text else "", context=f"seen {text}")

    async def stopping(self, reply: str, *, times: int) -> str:
        return self.left if times == 0 else ""

    async def compacting(self, *, by_hand: bool) -> CompactionSaid:
        self.compactions.append(by_hand)
        return CompactionSaid(block=self.stop_compaction, focus="mind the petals")

    def halted(self) -> str:
        why, self.halt = self.halt, ""
        return why

    def halting(self, _call: ToolCall) -> str:
        """Answer a call, and halt behind it."""
        self.halt = "enough"
        return "did it"


def said(message: object) -> list[str]:
    assert isinstance(message, UserMessage)
    return [block.text for block in message.content if isinstance(block, TextBlock)]


async def test_x13_a_blocked_prompt_leaves_nothing_in_the_conversation() -> None:
    w = world(text("fine"))
    agent = w.agent(hooks=Hooks())

    refused = await agent.run("my secret")
    await agent.run("hello")

    assert (refused.stop_reason, refused.messages) == ("failed", ())
    assert len(w.sink.of(TurnFailed)) == 1
    assert "secret" not in str(w.provider.requests)
    assert [event.prompt for event in w.sink.of(TurnStarted)] == ["hello"]


async def test_x13_what_is_said_during_a_turn_passes_the_hooks_too() -> None:
    w = world(calls(use("read", {"n": 1})), text("more"), text("done"))
    agent = w.agent(hooks=Hooks())
    agent.queue.steer("my secret")
    agent.queue.steer("be quick")

    await agent.run("go")

    words = said(w.provider.requests[1].messages[-1])
    assert words == ["<system-note>seen be quick</system-note>", "be quick"]
    (told,) = [event for event in w.sink.of(Notice) if "no secrets" in event.text]
    assert told.returned == "my secret"


@pytest.mark.parametrize("reply", [text("done"), calls(use("read", {"n": 1}))])
async def test_a_stop_while_a_hook_looks_at_a_message_keeps_all_that_was_said_and_what_was_done(
    reply: Reply,
) -> None:
    class Slow(Hooks):
        async def prompt(self, text: str) -> PromptSaid:
            if text == "two":
                agent.cancel()
                await asyncio.Event().wait()
            return await super().prompt(text)

    kept: list[Sequence[str]] = []
    w = world(reply)
    agent = w.agent(hooks=Slow(), queue=MessageQueue(keep=kept.append))
    for said_meanwhile in ("one", "a secret", "two", "three"):
        agent.queue.steer(said_meanwhile)

    result = await agent.run("go")

    assert result.stop_reason == "cancelled"
    assert [item.text for item in agent.queue.waiting()] == ["one", "two", "three"]
    assert list(kept[-1][-3:]) == ["one", "two", "three"]
    assert problems_of([*agent.history]) == []


async def test_a_hook_keeps_the_turn_going_once_and_says_why() -> None:
    w = world(text("done?"), text("done"))

    result = await w.agent(hooks=Hooks(left="run the tests")).run("go")

    assert result.stop_reason == "end_turn"
    assert "run the tests" in said(w.provider.requests[1].messages[-1])[0]


async def test_x13_a_halted_turn_ends_behind_its_round_and_the_next_goes_on() -> None:
    hooks = Hooks()
    w = world(calls(use("read", {"n": 1})), text("on"))
    w.rounds.answer = hooks.halting
    agent = w.agent(hooks=hooks)

    first = await agent.run("go")
    second = await agent.run("on")

    assert (first.stop_reason, second.stop_reason) == ("end_turn", "end_turn")
    assert len(w.provider.requests) == 2


async def test_halt_of_a_round_that_was_stopped_does_not_end_the_next_turn() -> None:
    hooks = Hooks()
    w = world(calls(use("read", {"n": 1})), calls(use("write", {"n": 2})), text("all of it"))
    agent = w.agent(hooks=hooks)

    def stopped(call: ToolCall) -> str:
        if call.name == "write":
            return "wrote"
        agent.cancel()
        w.rounds.cancels = 0
        return hooks.halting(call)

    w.rounds.answer = stopped
    first = await agent.run("go")
    second = await agent.run("on")

    assert first.stop_reason == "cancelled"
    assert (second.stop_reason, len(w.provider.requests)) == ("end_turn", 3)
    assert w.sink.of(Notice) == []


async def test_an_automatic_compaction_that_a_hook_stops_is_tried_twice_and_no_more() -> None:
    w = world(*[text("x" * 4_000) for _ in range(6)])
    hooks = Hooks(stop_compaction="keep it")
    settings = CompactionSettings(reserve_tokens=0, keep_tokens=100)
    agent = w.agent(hooks=hooks, compaction=settings)
    w.provider.context_tokens = 900

    for _ in range(6):
        await agent.run("go " + "y" * 400)

    assert hooks.compactions == [False, False]
    assert w.sink.of(Compacted) == []
    told = [event.text for event in w.sink.of(Notice)]
    assert told == ["The conversation was not compacted, a hook stopped it: keep it"] * 2


async def test_a_conversation_that_the_server_refuses_is_compacted_whatever_a_hook_says() -> None:
    replies = [text("x" * 4_000) for _ in range(4)]
    w = world(*replies, ContextTooLong("too long"), text("a summary"), text("done"))
    hooks = Hooks(stop_compaction="keep it")
    agent = w.agent(hooks=hooks, compaction=CompactionSettings(keep_tokens=100))
    for _ in range(4):
        await agent.run("go " + "y" * 400)

    result = await agent.run("last")

    assert result.stop_reason == "end_turn"
    assert hooks.compactions == [False]
    assert len(w.sink.of(Compacted)) == 1
