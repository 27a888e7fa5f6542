import json
import typing

from pydantic import TypeAdapter

from agent_tui.agent.compaction import CompactionSettings
from agent_tui.agent.limits import Limits
from agent_tui.protocol.errors import Overloaded
from agent_tui.protocol.events import Event
from agent_tui.protocol.messages import AssistantMessage, TextBlock, TokenUsage, ToolResultBlock, UserMessage
from agent_tui.providers.base import ModelInfo
from agent_tui.providers.retry import RetryingProvider
from agent_tui.providers.scripted import calls, text, use
from tests.support.agent_world import problems_of, world

KINDS = {
    "turn_started",
    "text_delta",
    "thinking_delta",
    "assistant_finished",
    "round_started",
    "approval_requested",
    "approval_decided",
    "tool_started",
    "tool_output",
    "tool_finished",
    "tool_denied",
    "retrying",
    "compacted",
    "notice",
    "usage",
    "turn_finished",
    "turn_failed",
    "turn_cancelled",
}


def words(message: UserMessage | AssistantMessage) -> str:
    return " ".join(block.text for block in message.content if isinstance(block, TextBlock))


async def test_h74_old_talk_becomes_a_summary_in_the_first_message_and_pairs_stay() -> None:
    long = "reply " * 3_000
    full = text(long).costing(TokenUsage(input_tokens=9_500))
    script = [calls(use("read")), text(long), full, text("Goal: petals."), text("on"), text("end")]
    w = world(*script, context_tokens=12_000)
    agent = w.agent(
        environment="<environment>\nhere\n</environment>", compaction=CompactionSettings(keep_tokens=5_000)
    )
    for prompt in ("first", "second", "third"):
        result = await agent.run(prompt)
        assert result.stop_reason == "end_turn", result.error

    last = w.provider.requests[-1].messages
    assert "Goal: petals." in words(last[0])
    assert "here" in words(last[0])
    assert "third" in words(last[-1])
    assert problems_of(last) == []


async def test_h74_a_summary_cut_by_its_limit_is_thrown_away() -> None:
    w = world(text("reply " * 400), text("half a sum").ending("max_tokens"))
    agent = w.agent()
    await agent.run("word " * 400)
    before = agent.history

    report = await agent.compact()

    assert agent.history == before
    assert "did not fit its limit" in report.problem


def test_h80_events_are_tagged_objects_and_every_tag_is_known() -> None:
    members = typing.get_args(typing.get_args(Event)[0])

    assert {member.model_fields["type"].default for member in members} == KINDS


async def test_h80_a_turn_told_as_json_reads_back_as_the_same_events() -> None:
    async def no_wait(_seconds: float) -> None:
        return None

    w = world(Overloaded("busy"), calls(use("read")), text("done"))
    await w.agent(provider=RetryingProvider(w.provider, sleep=no_wait)).run("go")

    lines = [event.model_dump_json() for event in w.sink.events]

    assert [TypeAdapter(Event).validate_json(line) for line in lines] == w.sink.events
    assert {"turn_started", "retrying", "usage", "turn_finished"} <= {
        json.loads(line)["type"] for line in lines
    }


async def test_h81_the_turn_tells_what_it_cost() -> None:
    info = ModelInfo(name="m", input_usd_per_mtok=1.0, output_usd_per_mtok=2.0)
    w = world(calls(use("read")), text("done"), info=info)

    result = await w.agent().run("go")

    assert result.cost_usd == (20 * 1.0 + 10 * 2.0) / 1_000_000


async def test_h11_a_limit_of_rounds_ends_the_turn_with_its_usage() -> None:
    w = world(calls(use("read", {"n": 1})), calls(use("read", {"n": 2})), text("never"))

    result = await w.agent(limits=Limits(max_rounds=2)).run("go")

    assert result.stop_reason == "round_limit"
    assert result.usage.input_tokens == 20
    assert problems_of(result.messages) == []


async def test_m27_item_65_the_oldest_rounds_go_first_and_never_half_of_one() -> None:
    script = [reply for n in range(6) for reply in (calls(use("read", {"n": n})), text(f"answer {n}"))]
    w = world(*script)
    w.rounds.answer = lambda call: f"{call.arguments_json} " * 300
    agent = w.agent()
    for n in range(6):
        await agent.run(f"prompt {n}")

    await agent.compact(summary="Rounds one to some.")

    uses = {
        b.id
        for m in agent.history
        if isinstance(m, AssistantMessage)
        for b in m.content
        if b.type == "tool_use"
    }
    results = {b.tool_use_id for m in agent.history for b in m.content if isinstance(b, ToolResultBlock)}
    assert uses == results
    assert len(uses) < 6
    assert "prompt 5" in " ".join(words(m) for m in agent.history)
