"""What the person says while calls run may fail to be sent; what the calls came to is told whatever happens."""

import asyncio
from typing import Any

import pytest

from agent_tui.agent.answers import NOT_WAITED
from agent_tui.agent.queue import MessageQueue
from agent_tui.protocol.errors import AgentTuiError
from agent_tui.protocol.events import Notice
from agent_tui.protocol.messages import AssistantMessage, TextBlock, UserMessage
from agent_tui.protocol.tools import ToolCall
from agent_tui.providers.scripted import calls, text, use
from tests.support.agent_world import FakeTools, World, problems_of, result_texts, world

SAID = "look at @a.txt"


def speaking(*replies: Any) -> tuple[World, MessageQueue]:
    """Give a world in which the person says something while the first round runs."""
    w, queue = world(*replies), MessageQueue()

    def answer(call: ToolCall) -> str:
        queue.steer(SAID)
        return "done"

    w.rounds.answer = answer
    return w, queue


@pytest.mark.parametrize("fault", [KeyError("no such thing"), AgentTuiError("gone"), OSError("disk")])
async def test_a_fault_in_what_goes_along_costs_neither_results_nor_words(fault: Exception) -> None:
    w, queue = speaking(calls(use("bash", call_id="c1")), text("ok"))

    async def attach(words: str) -> Any:
        if words == SAID:
            raise fault
        return ()

    result = await w.agent(queue=queue, attach=attach).run("go")

    assert result.stop_reason == "end_turn"
    assert result_texts(w.provider.requests[1].messages[-1]) == ["done"]
    assert [notice.returned for notice in w.sink.of(Notice)] == [SAID]
    assert problems_of(result.messages) == []


async def test_a_turn_cancelled_from_outside_after_its_calls_ran_keeps_what_they_came_to() -> None:
    w, queue = speaking(calls(use("bash", call_id="c1")), text("ok"))
    reading = asyncio.Event()

    async def attach(words: str) -> Any:
        if words == SAID:
            reading.set()
            await asyncio.Event().wait()
        return ()

    agent = w.agent(queue=queue, attach=attach)
    turn = asyncio.create_task(agent.run("go"))
    await reading.wait()
    turn.cancel()
    await asyncio.wait({turn})

    assert [item.text for item in queue.waiting()] == [SAID]
    queue.remove(0)
    await agent.run("next")

    assert result_texts(w.provider.requests[1].messages[2]) == ["done"]


async def test_a_tool_that_fails_at_its_title_leaves_no_call_unanswered() -> None:
    class Faulty(FakeTools):
        def validate(self, name: str, args_json: str) -> str | None:
            raise KeyError(name)

    asked = UserMessage(content=(TextBlock(text="go"),))
    open_reply = AssistantMessage(content=(use("bash", call_id="c1"),))
    w = world(text("ok"))
    w.tools = Faulty()

    result = await w.agent(history=(asked, open_reply)).run("something else")

    assert result.stop_reason == "end_turn"
    assert result_texts(w.provider.requests[0].messages[2]) == [NOT_WAITED]
